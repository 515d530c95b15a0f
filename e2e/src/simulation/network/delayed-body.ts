import { type Clock, pause } from '@mcm/kube';

export interface LateBodyOptions {
  readonly clock: Clock;
  /** Aborts when the connection breaks. The body then ends without its pending chunks. */
  readonly connection: AbortSignal;
  /** Aborts when the delivery stops. The body then delivers no more data, but the connection stays open. */
  readonly silent: AbortSignal;
  /** Whether a chunk is lost. After a lost chunk, no more data is delivered. */
  readonly isLost: () => boolean;
  /** The latency of a chunk. Chunks keep their order. */
  readonly delayMs: () => number;
  /** `onSent` is called when a chunk has left the server. */
  readonly onSent: () => void;
  /**
   * `onDelivered` is called when a chunk is delivered.
   * @param nextSentAt The time at which the next chunk left the server, or undefined if no chunk is pending.
   */
  readonly onDelivered: (bytes: Uint8Array, nextSentAt: number | undefined) => void;
  readonly onClose: () => void;
}

interface Piece {
  readonly bytes: Uint8Array;
  readonly sentAt: number;
  readonly dueAt: number;
}

/** Resolves when the signal aborts, or when `promise` settles. */
const orAborted = (promise: Promise<void>, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      signal.removeEventListener('abort', end);
      resolve();
    };
    signal.addEventListener('abort', end, { once: true });
    void promise.then(end);
  });

/** Reads a body and keeps its pending chunks. */
class Pipe {
  readonly pieces: Piece[] = [];
  ended: { readonly error?: unknown } | undefined;
  #changed = Promise.withResolvers<void>();
  readonly #options: LateBodyOptions;

  constructor(body: AsyncIterable<Uint8Array>, options: LateBodyOptions) {
    this.#options = options;
    void this.#read(body).then(
      () => this.#end({}),
      (error: unknown) => this.#end({ error }),
    );
  }

  /** Resolves after the next change of the pipe. */
  get changed(): Promise<void> {
    return this.#changed.promise;
  }

  async #read(body: AsyncIterable<Uint8Array>): Promise<void> {
    const { clock, delayMs, onSent } = this.#options;
    for await (const bytes of body) {
      onSent();
      const sentAt = clock.monotonic();
      const dueAt = Math.max(sentAt + delayMs(), this.pieces.at(-1)?.dueAt ?? 0);
      this.pieces.push({ bytes, sentAt, dueAt });
      this.#wake();
    }
  }

  #end(how: { readonly error?: unknown }): void {
    this.ended = how;
    this.#wake();
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}

/** A body whose chunks have separate latencies. The body ends with an error when its connection breaks. */
export async function* delayedBody(
  body: AsyncIterable<Uint8Array>,
  options: LateBodyOptions,
): AsyncGenerator<Uint8Array, void, void> {
  const { clock, connection, silent, isLost, onDelivered, onClose } = options;
  let lost = false;
  const pipe = new Pipe(body, options);
  try {
    for (;;) {
      if (connection.aborted) throw connection.reason;
      const [piece] = pipe.pieces;
      const leftMs = piece ? piece.dueAt - clock.monotonic() : 0;
      lost ||= piece !== undefined && leftMs <= 0 && isLost();
      if (silent.aborted || lost) await orAborted(new Promise(() => undefined), connection);
      else if (piece && leftMs > 0) await pause(clock, leftMs, connection);
      else if (piece) {
        pipe.pieces.shift();
        onDelivered(piece.bytes, pipe.pieces[0]?.sentAt);
        yield piece.bytes;
      } else if (pipe.ended) {
        if ('error' in pipe.ended) throw pipe.ended.error;
        return;
      } else await orAborted(pipe.changed, connection);
    }
  } finally {
    onClose();
  }
}
