import type { Reporter } from '@mcm/conformance/fleet';
import type { Clock } from '@mcm/kube';

/** The controllers may write an object at most this often in one minute of virtual time. */
const WRITES_A_MINUTE = 200;
const REQUESTS = 300_000;
/** At one virtual instant, the clock may be called at most this often. */
export const MAX_CALLS = 1_000_000;
/** In a fleet, the start of one cluster takes about 1700 calls. */
const CALLS_A_CLUSTER = 5_000;
const MINUTE = 60_000;

export const maxCallsOf = (clusters: number): number => MAX_CALLS + CALLS_A_CLUSTER * clusters;

/** Ends a history in which the controllers never become idle, and reports the object that they write repeatedly. */
export class StepLimit {
  readonly #clock: Clock;
  readonly #reporter: Reporter;
  readonly #writes = new Map<string, number>();
  #minute = 0;
  #requests = 0;
  #isOver = false;

  constructor(clock: Clock, reporter: Reporter) {
    this.#clock = clock;
    this.#reporter = reporter;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  answered(object: string | undefined): void {
    this.#requests += 1;
    if (this.#requests === REQUESTS)
      this.#end(`the controllers sent ${REQUESTS} requests, most of these requests for ${this.#most()}`);
    const minute = Math.floor(this.#clock.now().getTime() / MINUTE);
    if (minute !== this.#minute) this.#writes.clear();
    this.#minute = minute;
    if (object === undefined) return;
    const count = (this.#writes.get(object) ?? 0) + 1;
    this.#writes.set(object, count);
    if (count === WRITES_A_MINUTE) this.#end(`the controllers wrote ${object} ${count} times within a minute`);
  }

  #most(): string {
    const [most] = [...this.#writes].sort(([, a], [, b]) => b - a);
    return most?.[0] ?? 'no object';
  }

  #end(text: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reporter.violate(`the controllers do not become idle: ${text}`);
  }
}
