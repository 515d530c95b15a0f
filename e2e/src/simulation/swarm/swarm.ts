import { setInterval } from 'node:timers';
import { Worker } from 'node:worker_threads';
import type { Case } from '../suites/suites.ts';
import type { Failure } from './replay.ts';
import type { Verdict } from './work.ts';

export interface SwarmOptions {
  readonly workers: number;
  readonly cases: Iterable<Case>;
  readonly forMs: number | undefined;
  readonly caseMs: number;
  /** Whether the swarm stops at the first failure and does not shrink it. */
  readonly endsAtFailure: boolean;
  readonly worker?: URL;
  readonly workerData?: object;
  readonly idleMs?: number;
  readonly onFailure: (failure: Failure) => void;
  readonly onProgress: (tally: Tally) => void;
}

export interface Tally {
  readonly played: ReadonlyMap<string, number>;
  readonly failed: ReadonlyMap<string, number>;
  readonly minutes: number;
}

const PROGRESS_MS = 60_000;
const IDLE_MS = 10_000;
const IDLE_UTILIZATION = 0.001;
const CASES_A_WORKER = 500;

const add = (counts: Map<string, number>, { suite, profile = 'none' }: Case): void => {
  const name = `${suite} ${profile}`;
  counts.set(name, (counts.get(name) ?? 0) + 1);
};

/** Runs cases on several threads until the time is over or all cases have run. */
export class Swarm {
  readonly #options: SwarmOptions;
  readonly #cases: Iterator<Case>;
  readonly #played = new Map<string, number>();
  readonly #failed = new Map<string, number>();
  readonly #began = performance.now();

  constructor(options: SwarmOptions) {
    this.#options = options;
    this.#cases = options.cases[Symbol.iterator]();
  }

  async run(): Promise<Tally> {
    const progress = setInterval(() => this.#options.onProgress(this.#tally()), PROGRESS_MS);
    await Promise.all(Array.from({ length: this.#options.workers }, () => this.#work()));
    clearInterval(progress);
    return this.#tally();
  }

  #tally(): Tally {
    return { played: this.#played, failed: this.#failed, minutes: (performance.now() - this.#began) / 60_000 };
  }

  #next(): Case | undefined {
    const { forMs = Number.POSITIVE_INFINITY, endsAtFailure } = this.#options;
    if (endsAtFailure && this.#failed.size > 0) return undefined;
    if (performance.now() - this.#began >= forMs) return undefined;
    const { done, value } = this.#cases.next();
    return done ? undefined : value;
  }

  async #work(): Promise<void> {
    let worker: Worker | undefined;
    let left = 0;
    for (let one = this.#next(); one; one = this.#next()) {
      if (!worker || left === 0) {
        await worker?.terminate();
        const { worker: program = new URL('./worker.ts', import.meta.url), workerData } = this.#options;
        worker = new Worker(program, { workerData });
        left = CASES_A_WORKER;
      }
      left -= 1;
      const verdict = await this.#verify(worker, one);
      add(this.#played, one);
      if (verdict.failure) {
        add(this.#failed, one);
        this.#options.onFailure(verdict.failure);
      }
      if (verdict.ended) worker = undefined;
    }
    await worker?.terminate();
  }

  #verify(worker: Worker, one: Case): Promise<Verdict & { readonly ended?: true }> {
    return new Promise((resolve) => {
      const fail = (why: string): void => {
        settle();
        void worker.terminate();
        resolve({ one, failure: { one, violations: [why] }, ended: true });
      };
      const onError = (error: unknown): void => fail(`the simulation ended: ${String(error)}`);
      const onExit = (code: number): void => fail(`the thread of the simulation ended with ${code}`);
      const onMessage = (verdict: Verdict): void => {
        settle();
        resolve(verdict);
      };
      const { caseMs, idleMs = IDLE_MS } = this.#options;
      const timer = setTimeout(() => fail(`did not end within ${caseMs / 1_000} s of real time`), caseMs);
      let before = worker.performance.eventLoopUtilization();
      const idle = setInterval(() => {
        const now = worker.performance.eventLoopUtilization();
        const { idle: waitedMs, utilization } = worker.performance.eventLoopUtilization(now, before);
        // If a thread still loads its program or gets no CPU time, it is not idle.
        if (waitedMs > idleMs / 2 && utilization < IDLE_UTILIZATION) fail('the simulation waits for a missing event');
        before = now;
      }, idleMs);
      const settle = (): void => {
        clearTimeout(timer);
        clearInterval(idle);
        worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      };
      worker.on('message', onMessage).on('error', onError).on('exit', onExit);
      worker.postMessage({ one, shrinks: !this.#options.endsAtFailure });
    });
  }
}
