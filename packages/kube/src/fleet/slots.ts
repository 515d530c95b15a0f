import { isWatch } from '../client/paths.ts';
import type { Clock } from '../clock/clock.ts';
import type { Transport, TransportRequest } from '../contract/transport.ts';
import { permissionOf } from '../informer/permission.ts';

export interface SlotsOptions {
  readonly perCluster: number;
  readonly total: number;
  readonly clock: Clock;
}

/** If a request gets no response, it counts towards the total limit of a process only for this time. */
const SLOW_MS = 5_000;

/** The cost of a list request, because a page contains up to 500 objects. */
const LIST_COST = 5;

interface Turn {
  readonly cost: number;
  readonly start: () => void;
}

export interface ClusterSlots {
  /** Wraps a transport so that its requests wait for a free slot. Watches do not wait. */
  wrap(transport: Transport): Transport;
}

interface Line {
  running: number;
  readonly waiting: Turn[];
  readonly share: () => number;
  credit: number;
  inTurn: boolean;
}

const costOf = ({ method, path }: TransportRequest): number =>
  permissionOf(method, path)?.verb === 'list' ? LIST_COST : 1;

/**
 * Limits the number of requests that are in progress for all clusters. The clusters get free slots in turn, in
 * proportion to their shares, so busy clusters do not delay other clusters.
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

  /** @param share Returns the weight of the cluster, an integer of at least 1. */
  cluster(share: () => number = () => 1): ClusterSlots {
    const line: Line = { running: 0, waiting: [], share, credit: 0, inTurn: false };
    return {
      wrap: (transport) => async (request) => {
        if (isWatch(request.path)) return transport(request);
        const leave = await this.#enter(line, costOf(request), request.signal);
        try {
          return await transport(request);
        } finally {
          leave();
        }
      },
    };
  }

  async #enter(line: Line, cost: number, signal: AbortSignal | undefined): Promise<() => void> {
    if (!this.#free(line)) await this.#turn(line, cost, signal);
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

  #turn(line: Line, cost: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        line.waiting.splice(line.waiting.indexOf(turn), 1);
        if (line.waiting.length === 0) this.#leaveLines(line);
        reject(signal?.reason);
      };
      const turn: Turn = {
        cost,
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

  #next(): void {
    for (const line of this.#lines) {
      if (this.#running >= this.#o.total) return;
      if (!this.#free(line)) continue;
      if (!line.inTurn) line.credit += Math.max(1, line.share());
      line.inTurn = true;
      for (let turn = line.waiting[0]; turn !== undefined && turn.cost <= line.credit; turn = line.waiting[0]) {
        if (!this.#free(line)) break;
        line.waiting.shift();
        line.credit -= turn.cost;
        this.#take(line);
        turn.start();
      }
      const cost = line.waiting[0]?.cost;
      if (cost === undefined) this.#leaveLines(line);
      else if (cost > line.credit) this.#endTurn(line);
    }
  }

  #endTurn(line: Line): void {
    line.inTurn = false;
    // A JavaScript set visits its elements in the order in which they were added.
    this.#lines.delete(line);
    this.#lines.add(line);
  }

  #leaveLines(line: Line): void {
    line.inTurn = false;
    line.credit = 0;
    this.#lines.delete(line);
  }
}
