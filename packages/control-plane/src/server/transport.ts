import type { ServerRequest, ServerResponse } from '../apimachinery/http/exchange.ts';
import { type InProcessRequest, inProcess, piecesOf, textOf } from '../apimachinery/http/in-process.ts';
import { warningHeader } from '../apimachinery/http/warnings.ts';

/** A request from a client in the same process, such as `createClient` of `@mcm/kube`. */
export interface PlaneRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The parts of a `Response` that clients use. */
export interface PlaneResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
  readonly body: AsyncIterable<Uint8Array> | null;
}

const NEVER = new AbortController().signal;
const encoder = new TextEncoder();

const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

export function unlessAborted<R>(work: Promise<R>, signal: AbortSignal | undefined): Promise<R> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function headersOf({ headers, warnings = [] }: ServerResponse): PlaneResponse['headers'] {
  const warning = warnings.map(warningHeader).join(', ');
  return {
    get(name) {
      const key = name.toLowerCase();
      if (key === 'warning') return warning === '' ? null : warning;
      return headers[key] ?? null;
    },
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  yield bytes;
}

async function collected(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString('utf8');
}

function answerOf(response: ServerResponse, method: string, signal: AbortSignal): PlaneResponse {
  const { status, body } = response;
  const headers = headersOf(response);
  if (method === 'HEAD' || status === 204 || status === 304)
    return { status, headers, text: () => Promise.resolve(''), body: null };
  if (typeof body === 'function') {
    const pieces = piecesOf(response, signal);
    return { status, headers, text: () => collected(pieces), body: pieces };
  }
  return {
    status,
    headers,
    text: () => Promise.resolve(textOf(response)),
    get body() {
      return once(typeof body === 'string' ? encoder.encode(body) : body);
    },
  };
}

/** Returns a function that sends requests like `fetch`, but without Request, Response and streams. */
export function transportTo(
  handle: (request: ServerRequest) => Promise<ServerResponse>,
): (request: PlaneRequest) => Promise<PlaneResponse> {
  return async ({ method, path: target, headers, body, signal }) => {
    signal?.throwIfAborted();
    const request: InProcessRequest = { method, target, headers: lowerCased(headers), body, signal };
    return answerOf(await unlessAborted(handle(inProcess(request)), signal), method, signal ?? NEVER);
  };
}
