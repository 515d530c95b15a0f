import type { Transport, TransportRequest, TransportResponse } from '../contract/transport.ts';

export type Answer =
  | {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly json?: unknown;
      readonly text?: string;
    }
  | { readonly stream: ScriptedStream }
  | { readonly fail: Error }
  | 'never';

export class ScriptedStream {
  readonly #chunks: Uint8Array[] = [];
  #wake: (() => void) | undefined;
  #ended = false;
  #failure: Error | undefined;
  closed = false;

  send(text: string): void {
    this.#chunks.push(Buffer.from(text));
    this.#wake?.();
  }

  event(type: string, object: unknown): void {
    this.send(`${JSON.stringify({ type, object })}\n`);
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  fail(error: Error): void {
    this.#failure = error;
    this.#wake?.();
  }

  async *read(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    const wake = (): void => this.#wake?.();
    signal?.addEventListener('abort', wake);
    try {
      for (;;) {
        if (signal?.aborted) throw signal.reason;
        const chunk = this.#chunks.shift();
        if (chunk !== undefined) yield chunk;
        else if (this.#failure !== undefined) throw this.#failure;
        else if (this.#ended) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.closed = true;
      signal?.removeEventListener('abort', wake);
    }
  }
}

const never = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }));

async function respond(answer: Answer, signal: AbortSignal | undefined): Promise<TransportResponse> {
  if (answer === 'never') return never(signal);
  if ('fail' in answer) throw answer.fail;
  if ('stream' in answer) {
    const { stream } = answer;
    return { status: 200, headers: new Headers(), text: () => never(signal), body: stream.read(signal) };
  }
  const text = answer.text ?? JSON.stringify(answer.json ?? {});
  const headers = new Headers({ 'content-type': 'application/json', ...answer.headers });
  return { status: answer.status ?? 200, headers, text: async () => text, body: null };
}

/** Creates a transport with scripted responses, for behavior that real servers do not show. */
export function scriptedTransport(
  script: (request: TransportRequest, index: number) => Answer | undefined,
): Transport & { readonly requests: TransportRequest[] } {
  const requests: TransportRequest[] = [];
  const transport = async (request: TransportRequest): Promise<TransportResponse> => {
    const answer = script(request, requests.length);
    requests.push(request);
    if (answer === undefined) throw new Error(`the script has no answer to ${request.method} ${request.path}`);
    return respond(answer, request.signal);
  };
  return Object.assign(transport, { requests });
}

export const status = (code: number, reason: string, message: string, more: object = {}): Answer => ({
  status: code,
  json: { apiVersion: 'v1', kind: 'Status', status: 'Failure', code, reason, message, ...more },
});
