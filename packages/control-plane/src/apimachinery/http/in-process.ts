import type { ServerRequest, ServerResponse, Sink } from './exchange.ts';
import { splitValues } from './header-text.ts';
import { queryOf } from './query.ts';

export interface InProcessRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

const NEVER = new AbortController().signal;

/**
 * Handles a request from this process. The function does not use `fetch`, because `fetch` doubles the duration of a
 * request.
 */
export function inProcess({ method, target, headers, body = '', signal = NEVER }: InProcessRequest): ServerRequest {
  const mark = target.indexOf('?');
  const bytes = new TextEncoder().encode(body);
  return {
    method,
    path: mark < 0 ? target : target.slice(0, mark),
    query: queryOf(target),
    header: (name) => headers[name],
    headerValues: (name) => splitValues(headers[name]),
    headerNames: (prefix) => Object.keys(headers).filter((name) => name.startsWith(prefix)),
    body: () => Promise.resolve(bytes),
    signal,
    trusted: true,
  };
}

const decoder = new TextDecoder();

/** @throws TypeError if the response is a stream */
export function textOf({ body }: ServerResponse): string {
  if (typeof body === 'function') throw new TypeError('the answer is a stream');
  return typeof body === 'string' ? body : decoder.decode(body);
}

/**
 * Returns the chunks of a streamed response. A watch writes each event as one chunk.
 * @throws TypeError for a response that is not a stream. After an abort, a read throws the reason of the signal
 */
export function piecesOf({ body }: ServerResponse, signal: AbortSignal): AsyncIterableIterator<Uint8Array> {
  if (typeof body !== 'function') throw new TypeError('the answer is no stream');
  return new Pieces(body, signal);
}

const HIGH_WATER_MARK = 256 * 1024;

const DONE = { done: true, value: undefined } as const;

class Pieces implements AsyncIterableIterator<Uint8Array> {
  readonly #signal: AbortSignal;
  #ready: Uint8Array[] = [];
  #read = 0;
  #waitingBytes = 0;
  #ended = false;
  #wake: (() => void) | undefined;
  readonly #drains: (() => void)[] = [];
  readonly #closes: (() => void)[] = [];
  readonly #close = (): void => {
    if (this.#ended) return;
    this.#ended = true;
    this.#signal.removeEventListener('abort', this.#close);
    for (const listener of this.#closes) listener();
    this.#wake?.();
  };

  constructor(run: (sink: Sink) => void, signal: AbortSignal) {
    this.#signal = signal;
    if (signal.aborted) {
      this.#ended = true;
      return;
    }
    signal.addEventListener('abort', this.#close, { once: true });
    run({
      write: (piece) => {
        if (this.#ended) return true;
        this.#ready.push(piece);
        this.#waitingBytes += piece.byteLength;
        this.#wake?.();
        return this.#waitingBytes < HIGH_WATER_MARK;
      },
      onDrain: (listener) => this.#drains.push(listener),
      onClose: (listener) => this.#closes.push(listener),
      end: this.#close,
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      this.#signal.throwIfAborted();
      const piece = this.#ready[this.#read];
      if (piece !== undefined) return { done: false, value: this.#take(piece) };
      if (this.#ended) return DONE;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#close();
    return DONE;
  }

  #take(piece: Uint8Array): Uint8Array {
    this.#read++;
    if (this.#read === this.#ready.length) {
      this.#ready = [];
      this.#read = 0;
    }
    const wasFull = this.#waitingBytes >= HIGH_WATER_MARK;
    this.#waitingBytes -= piece.byteLength;
    if (wasFull && this.#waitingBytes < HIGH_WATER_MARK) for (const listener of this.#drains) listener();
    return piece;
  }
}
