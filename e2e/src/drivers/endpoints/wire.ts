import type { Transport, TransportRequest, TransportResponse, VirtualClock } from '@mcm/kube';

/** A request with the origin that it went to. */
export interface Sent extends TransportRequest {
  readonly origin: string;
  /** Virtual milliseconds from the start. */
  readonly at: number;
}

/** The answer instead of the cloud; undefined: the cloud answers. */
export type Script = (request: Sent, count: number) => TransportResponse | Promise<TransportResponse> | undefined;

/** Sees every request, and may answer instead of the cloud. */
export class Wire {
  readonly sent: Sent[] = [];
  script: Script = () => undefined;
  readonly #clock: VirtualClock;
  readonly #start: number;
  readonly #cloud: Transport;

  constructor(clock: VirtualClock, cloud: Transport) {
    this.#clock = clock;
    this.#start = clock.monotonic();
    this.#cloud = cloud;
  }

  readonly connect =
    (origin: string): Transport =>
    async (request) => {
      const sent = { ...request, origin, at: this.#clock.monotonic() - this.#start };
      this.sent.push(sent);
      return this.script(sent, this.sent.length) ?? this.#cloud(request);
    };

  /** The contacted hosts without duplicates. */
  get origins(): readonly string[] {
    return [...new Set(this.sent.map(({ origin }) => origin))];
  }

  /** `METHOD path`, without what varies. */
  get lines(): readonly string[] {
    return this.sent.map(({ method, path }) => `${method} ${path.replace(/\?.*/, '')}`);
  }
}

/** An answer of these bytes. @param headers names in lower case */
export const reply = (
  status: number,
  body: string | object = '',
  headers: Readonly<Record<string, string>> = {},
): TransportResponse => ({
  status,
  body: null,
  headers: { get: (name) => headers[name.toLowerCase()] ?? null },
  text: async () => (typeof body === 'string' ? body : JSON.stringify(body)),
});

/** A connection that breaks. */
export const broken = (code: string): Promise<never> =>
  Promise.reject(Object.assign(new Error(`connection broke: ${code}`), { code }));

/** Never answers; ends with its request's signal. */
export const silence = ({ signal }: Sent): Promise<never> =>
  new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

/** Ends a call after so long. @returns its signal, and when it ended, in virtual milliseconds */
export function abortAfter(clock: VirtualClock, ms: number): AbortSignal {
  const controller = new AbortController();
  clock.setTimeout(() => controller.abort(new Error('the client cancelled the call')), ms);
  return controller.signal;
}

/** Answers requests whose `METHOD path` matches, the first times. */
export const failing =
  (line: string, answer: (request: Sent) => TransportResponse | Promise<never>, most = Number.POSITIVE_INFINITY) =>
  (request: Sent): TransportResponse | Promise<never> | undefined =>
    new RegExp(line).test(`${request.method} ${request.path}`) && most-- > 0 ? answer(request) : undefined;

/** When requests whose `METHOD path` matches were sent, in virtual milliseconds. */
export const timesOf = ({ sent }: Wire, line: string): readonly number[] =>
  sent.filter(({ method, path }) => new RegExp(line).test(`${method} ${path}`)).map(({ at }) => at);
