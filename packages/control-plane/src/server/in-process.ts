import type { ServerRequest, ServerResponse, Sink } from './exchange.ts';
import { splitValues } from './header-text.ts';

/** A request of the process to itself. */
export interface InProcessRequest {
  readonly method: string;
  /** Escaped, with its query. */
  readonly target: string;
  /** In lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

const NEVER = new AbortController().signal;

/**
 * The request as the handler reads it. Controllers ask the plane as often as all clients do: through `fetch` and its streams each
 * question would cost as much again as its answer.
 */
export function inProcess({ method, target, headers, body = '', signal = NEVER }: InProcessRequest): ServerRequest {
  const mark = target.indexOf('?');
  const bytes = new TextEncoder().encode(body);
  return {
    method,
    path: mark < 0 ? target : target.slice(0, mark),
    query: new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1)),
    header: (name) => headers[name],
    headerValues: (name) => splitValues(headers[name]),
    headerNames: (prefix) => Object.keys(headers).filter((name) => name.startsWith(prefix)),
    body: () => Promise.resolve(bytes),
    signal,
    trusted: true,
  };
}

const decoder = new TextDecoder();

/** The text of an answer that ends. @throws TypeError for a stream */
export function textOf({ body }: ServerResponse): string {
  if (typeof body === 'function') throw new TypeError('the answer is a stream');
  return typeof body === 'string' ? body : decoder.decode(body);
}

/**
 * The pieces of a streamed answer, as they were written: a watch writes one event at a time. Ends with the stream; the end of the
 * loop, or the signal, ends the stream.
 * @throws the signal's reason when it aborts
 */
export async function* piecesOf({ body }: ServerResponse, signal: AbortSignal): AsyncGenerator<string> {
  if (typeof body !== 'function') throw new TypeError('the answer is no stream');
  signal.throwIfAborted();
  const closes: (() => void)[] = [];
  let pieces: Uint8Array[] = [];
  let ended = false;
  let wake = (): void => undefined;
  const close = (): void => {
    if (ended) return;
    ended = true;
    for (const listener of closes) listener();
    wake();
  };
  const sink: Sink = {
    write: (piece) => {
      pieces.push(piece);
      wake();
      return true;
    },
    // Nobody waits: what is written is read before the next turn of the event loop.
    onDrain: () => undefined,
    onClose: (listener) => closes.push(listener),
    end: close,
  };
  signal.addEventListener('abort', close, { once: true });
  try {
    body(sink);
    for (;;) {
      const ready = pieces;
      pieces = [];
      for (const piece of ready) {
        signal.throwIfAborted();
        yield decoder.decode(piece);
      }
      if (pieces.length > 0) continue;
      signal.throwIfAborted();
      if (ended) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    signal.removeEventListener('abort', close);
    close();
  }
}
