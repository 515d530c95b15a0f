import { isWatch } from '../client/paths.ts';
import type { Clock } from '../clock/clock.ts';
import type { Transport } from '../contract/transport.ts';

export interface SlotsOptions {
  readonly perCluster: number;
  readonly total: number;
  readonly clock: Clock;
}

/**
 * After this time without a response, a request no longer counts towards the total limit, but still counts towards the
 * limit of its cluster.
 */
const SLOW_MS = 5_000;

interface Turn {
  readonly start: () => void;
}

export interface ClusterSlots {
  /** Requests wait for a free slot. Watches need no slot. */
  wrap(transport: Transport): Transport;
}

interface Line {
  running: number;
  readonly waiting: Turn[];
}

/**
 * Limits the requests in flight of all clusters. Free slots go to the clusters in turn. A cluster with many requests
 * does not delay other clusters. A cluster without responses uses only its own slots.
 */
export class Slots {
  readonly #o: SlotsOptions;
  readonly #lines = new Set<Line>();
  #running = 0;

  constructor(options: SlotsOptions) {
    this.#o = options;
  }

  get running(): number {
    return this.#running;
  }

  cluster(): ClusterSlots {
    const line: Line = { running: 0, waiting: [] };
    return {
      wrap: (transport) => async (request) => {
        if (isWatch(request.path)) return transport(request);
        const leave = await this.#enter(line, request.signal);
        try {
          return await transport(request);
        } finally {
          leave();
        }
      },
    };
  }

  /**
   * Waits for a free slot. The promise resolves to a function that frees the slot, and rejects if the signal aborts
   * first.
   */
  async #enter(line: Line, signal: AbortSignal | undefined): Promise<() => void> {
    if (!this.#free(line)) await this.#turn(line, signal);
    else this.#take(line);
    let counted = true;
    const uncount = (): void => {
      if (!counted) return;
      counted = false;
      this.#running -= 1;
      this.#next();
    };
    const timer = this.#o.clock.setTimeout(uncount, SLOW_MS);
    return () => {
      timer.cancel();
      line.running -= 1;
      uncount();
      this.#next();
    };
  }

  #free(line: Line): boolean {
    return line.running < this.#o.perCluster && this.#running < this.#o.total;
  }

  #take(line: Line): void {
    line.running += 1;
    this.#running += 1;
  }

  #turn(line: Line, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        line.waiting.splice(line.waiting.indexOf(turn), 1);
        if (line.waiting.length === 0) this.#lines.delete(line);
        reject(signal?.reason);
      };
      const turn: Turn = {
        start: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      signal?.addEventListener('abort', onAbort, { once: true });
      line.waiting.push(turn);
      this.#lines.add(line);
    });
  }

  /** Starts one request of each cluster in turn. */
  #next(): void {
    for (const line of this.#lines) {
      if (this.#running >= this.#o.total) return;
      if (!this.#free(line)) continue;
      const turn = line.waiting.shift();
      this.#lines.delete(line);
      if (line.waiting.length > 0) this.#lines.add(line);
      if (turn === undefined) continue;
      this.#take(line);
      turn.start();
    }
  }
}
