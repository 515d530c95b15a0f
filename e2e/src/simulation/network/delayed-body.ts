import { type Clock, pause } from '@mcm/kube';

export interface LateBodyOptions {
  readonly clock: Clock;
  readonly connection: AbortSignal;
  readonly silent: AbortSignal;
  /** Returns true if the next chunk is lost. */
  readonly isLost: () => boolean;
  readonly delayMs: () => number;
  readonly onSent: () => void;
  readonly onDelivered: (bytes: Uint8Array, nextSentAt: number | undefined) => void;
  readonly onClose: () => void;
}

interface Piece {
  readonly bytes: Uint8Array;
  readonly sentAt: number;
  readonly dueAt: number;
}

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

/** Reads a body, and stores the chunks that are still pending. */
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

/** Yields the chunks of a body. */
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
