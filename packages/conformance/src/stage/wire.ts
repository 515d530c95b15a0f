import type { Transport, TransportRequest, TransportResponse } from '@mcm/kube';
import type { HttpAnswer } from './target.ts';

/** The outcome of a request: the request passes, or a fault affects it. */
export type RequestOutcome =
  | 'passes'
  | 'breaks'
  /** The cloud executes the request, but its response is lost. */
  | 'answer lost'
  /** The cloud gets no request and the driver gets no response, as if the process had ended. */
  | 'hangs'
  | HttpAnswer;

export interface SeenRequest {
  readonly origin: string;
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type ChooseOutcome = (request: SeenRequest, index: number) => RequestOutcome;

export class Wire {
  readonly seen: SeenRequest[] = [];
  readonly #connect: (origin: string) => Transport;
  assess: ChooseOutcome = () => 'passes';

  constructor(connect: (origin: string) => Transport) {
    this.#connect = connect;
  }

  readonly connect = (origin: string): Transport => {
    const below = this.#connect(origin);
    return async (request) => {
      const { method, path, body = '', headers = {} } = request;
      const seen = { origin, method, path, body, headers };
      const outcome = this.assess(seen, this.seen.length);
      this.seen.push(seen);
      request.signal?.throwIfAborted();
      return carry(below, request, outcome);
    };
  };
}

/** Sends a request with the given outcome. */
export async function carry(
  below: Transport,
  request: TransportRequest,
  outcome: RequestOutcome,
): Promise<TransportResponse> {
  if (outcome === 'passes') return below(request);
  if (outcome === 'breaks') throw new Error('the conformance kit reset the connection');
  if (outcome === 'hangs') return hang(request.signal);
  if (outcome === 'answer lost') {
    const { signal: _ours, ...rest } = request;
    await (await below(rest)).text();
    throw new Error('the conformance kit reset the connection');
  }
  const { status, headers = {}, body = '' } = withMessage(outcome, 'the conformance kit refused the request');
  const reported = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    status,
    headers: { get: (name) => reported.get(name.toLowerCase()) ?? null },
    text: async () => body,
    body: null,
  };
}

export function withMessage(answer: HttpAnswer, message: string): HttpAnswer {
  const { body = '' } = answer;
  const xml = message.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const text = body.trimStart().startsWith('<') ? xml : JSON.stringify(message).slice(1, -1);
  return { ...answer, body: body.replaceAll('{message}', () => text) };
}

const hang = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }));
