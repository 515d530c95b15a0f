import type { Dialect } from '@mcm/conformance';
import { carry, type RequestOutcome } from '@mcm/conformance/fleet';
import { type Clock, isWatch, type Random, type Transport } from '@mcm/kube';

const CLOUD_PERCENT = 10;
const API_PERCENT = 5;
const LAG_MS = 30_000;
const QUIET_LAG_MS = 1_000;

const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const CAN_CONFLICT: ReadonlySet<string> = new Set(['PUT', 'PATCH']);

const JSON_TYPE = 'application/json';

const status = (code: number, reason: string) => ({
  status: code,
  headers: code === 429 ? { 'content-type': JSON_TYPE, 'retry-after': '2' } : { 'content-type': JSON_TYPE },
  body: JSON.stringify({
    apiVersion: 'v1',
    kind: 'Status',
    status: 'Failure',
    message: `{message}: ${reason}`,
    reason,
    code,
  }),
});

const CONFLICT = status(409, 'Conflict');
const API_FAULTS: readonly RequestOutcome[] = [
  'breaks',
  'answer lost',
  status(429, 'TooManyRequests'),
  status(500, 'InternalError'),
];

/** Randomly selects faults for requests to the API server and to the cloud. */
export class Faults {
  readonly #dice: Random;
  readonly #clock: Clock;
  readonly #note: (text: string) => void;
  #on = false;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(dice: Random, clock: Clock, note: (text: string) => void) {
    this.#dice = dice;
    this.#clock = clock;
    this.#note = note;
  }

  start(): void {
    this.#on = true;
  }

  stop(): void {
    this.#on = false;
  }

  get on(): boolean {
    return this.#on;
  }

  get lagMs(): number {
    return this.#clock.monotonic() - this.#lastMs < 2 * LAG_MS ? LAG_MS : QUIET_LAG_MS;
  }

  delays(): void {
    this.#lastMs = this.#clock.monotonic();
  }

  #drawn(percent: number, faults: readonly RequestOutcome[], what: string): RequestOutcome {
    if (!this.#on || this.#dice.next() * 100 >= percent) return 'passes';
    const outcome = faults[Math.floor(this.#dice.next() * faults.length)] ?? 'passes';
    this.delays();
    this.#note(`${what}: ${typeof outcome === 'string' ? outcome : `status ${outcome.status}`}`);
    return outcome;
  }

  /** Returns a connection of a controller to the API server. The faults of the API server affect only writes. */
  api(below: Transport): Transport {
    return (request) => {
      const { method, path } = request;
      if (!WRITES.has(method) || isWatch(path) || path.includes('/leases')) return below(request);
      const faults = CAN_CONFLICT.has(method) ? [...API_FAULTS, CONFLICT] : API_FAULTS;
      return carry(below, request, this.#drawn(API_PERCENT, faults, `API server ${method} ${path.split('?')[0]}`));
    };
  }

  /** Returns a connection of the driver to the cloud. */
  cloud(below: Transport, { throttled, exhausted, writes }: Dialect): Transport {
    const isWrite = new RegExp(writes ?? '^(POST|PUT|PATCH|DELETE) ');
    return (request) => {
      const { method, path, body = '' } = request;
      const creates = method !== 'DELETE' && isWrite.test(`${method} ${path}\n${body}`);
      const faults: readonly RequestOutcome[] = ['breaks', 'answer lost', throttled, ...(creates ? [exhausted] : [])];
      return carry(below, request, this.#drawn(CLOUD_PERCENT, faults, `cloud ${method} ${path.split('?')[0]}`));
    };
  }
}
