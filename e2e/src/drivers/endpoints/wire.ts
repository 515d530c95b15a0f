import type { Transport, TransportRequest, TransportResponse, VirtualClock } from '@mcm/kube';

export interface Sent extends TransportRequest {
  readonly origin: string;
  readonly at: number;
}

/** Returns a response that replaces the response of the cloud. If the script returns undefined, the cloud responds. */
export type Script = (request: Sent, count: number) => TransportResponse | Promise<TransportResponse> | undefined;

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

  get origins(): readonly string[] {
    return [...new Set(this.sent.map(({ origin }) => origin))];
  }

  get lines(): readonly string[] {
    return this.sent.map(({ method, path }) => `${method} ${path.replace(/\?.*/, '')}`);
  }
}

/** @param headers The headers, with names in lower case. */
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

export const broken = (code: string): Promise<never> =>
  Promise.reject(Object.assign(new Error(`connection broke: ${code}`), { code }));

export const silence = ({ signal }: Sent): Promise<never> =>
  new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

export function abortAfter(clock: VirtualClock, ms: number): AbortSignal {
  const controller = new AbortController();
  clock.setTimeout(() => controller.abort(new Error('the client canceled the call')), ms);
  return controller.signal;
}

/** Returns a script with fixed responses to the first requests whose `METHOD path` matches. */
export const failing =
  (line: string, answer: (request: Sent) => TransportResponse | Promise<never>, most = Number.POSITIVE_INFINITY) =>
  (request: Sent): TransportResponse | Promise<never> | undefined =>
    new RegExp(line).test(`${request.method} ${request.path}`) && most-- > 0 ? answer(request) : undefined;

/** Returns the virtual times in milliseconds of the requests whose `METHOD path` matches. */
export const timesOf = ({ sent }: Wire, line: string): readonly number[] =>
  sent.filter(({ method, path }) => new RegExp(line).test(`${method} ${path}`)).map(({ at }) => at);
