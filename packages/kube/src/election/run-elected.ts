import { errorText } from '../base/error-text.ts';
import { type Clock, pause, type Timer } from '../clock/clock.ts';
import { isForbidden, KubeError } from '../contract/errors.ts';
import { Candidate } from './candidate.ts';
import type { Fence } from './fence.ts';
import type { ElectionOptions, ElectionTimings } from './settings.ts';

/**
 * The end of an election. `stopped`: the signal aborted or `lead` ended, and the process released the Lease. `lost`:
 * another process is or may be the leader.
 */
export type ElectionEnd = 'stopped' | 'lost';

/** The wait between two attempts is `retryMs` multiplied by 1 to 2.2, as with the JitterFactor of client-go. */
const ACQUIRE_JITTER = 1.2;
/** The longest time for which the release of the Lease may delay the end of the process. */
const RELEASE_LIMIT_MS = 2000;

function checkTimings({ leaseMs, renewDeadlineMs, retryMs }: ElectionTimings, renewMs = retryMs): void {
  if (!(renewDeadlineMs > renewMs * ACQUIRE_JITTER)) {
    throw new RangeError(
      `leader election: the renew deadline (${renewDeadlineMs} ms) must be longer than ${ACQUIRE_JITTER} times the renew period (${renewMs} ms)`,
    );
  }
  if (!(leaseMs > renewDeadlineMs)) {
    throw new RangeError(
      `leader election: the lease duration (${leaseMs} ms) must be longer than the renew deadline (${renewDeadlineMs} ms)`,
    );
  }
  if (!(renewDeadlineMs > retryMs * ACQUIRE_JITTER)) {
    throw new RangeError(
      `leader election: the renew deadline (${renewDeadlineMs} ms) must be longer than ${ACQUIRE_JITTER} times the retry period (${retryMs} ms)`,
    );
  }
}

const isBeaten = (error: unknown): boolean => error instanceof KubeError && error.code === 409;

/** Tries to acquire the Lease. */
async function acquire(candidate: Candidate, options: ElectionOptions): Promise<boolean> {
  const { signal, clock, random } = options;
  while (!signal.aborted) {
    try {
      const answer = await candidate.tryOnce(signal);
      candidate.outage.worked();
      if (answer === 'mine') return true;
      if (await candidate.follow(signal)) continue;
    } catch (error) {
      if (isForbidden(error)) options.onForbidden?.(error);
      if (!signal.aborted && !isBeaten(error)) candidate.outage.failed(error);
    }
    await pause(clock, candidate.timings.retryMs * (1 + ACQUIRE_JITTER * random.next()), signal);
  }
  return false;
}

/** Renews the Lease until the signal aborts (`stopped`) or the Lease is lost. */
async function keep(candidate: Candidate, options: ElectionOptions, signal: AbortSignal): Promise<ElectionEnd> {
  const { clock, log, onLost, quiet } = options;
  const { leaseMs, renewDeadlineMs, retryMs } = candidate.timings;
  const usual = { leaseMs, renewDeadlineMs, renewMs: options.renewMs ?? retryMs };
  let pace = usual;
  let waitMs = usual.renewMs;
  let failed = 'the API server did not answer';
  const deadline = new Deadline(clock, clock.monotonic() + renewDeadlineMs);
  const both = AbortSignal.any([signal, deadline.signal]);
  try {
    for (;;) {
      await pause(clock, waitMs, both);
      waitMs = retryMs;
      if (signal.aborted) return 'stopped';
      if (deadline.signal.aborted) {
        log.error('Lease not renewed in time', { renewDeadlineMs: pace.renewDeadlineMs });
        onLost?.(`the process could not renew the Lease for ${pace.renewDeadlineMs / 1000} s (${failed})`);
        return 'lost';
      }
      const next = quiet?.now() ? quiet : usual;
      // The leader measures the lease duration from the start of its request. Other candidates measure it from the
      // execution of the write, which is later.
      const sentAt = clock.monotonic();
      if (next.renewDeadlineMs < pace.renewDeadlineMs) {
        pace = next;
        deadline.set(Math.min(deadline.atMs, sentAt + pace.renewDeadlineMs));
      }
      try {
        if ((await candidate.renew(both, next)) === 'other') {
          onLost?.('another process is the leader');
          return 'lost';
        }
        candidate.outage.worked();
        pace = next;
        waitMs = next.renewMs;
        failed = 'the API server did not answer';
        deadline.set(sentAt + next.renewDeadlineMs);
      } catch (error) {
        if (both.aborted) continue;
        candidate.outage.failed(error);
        failed = errorText(error);
      }
    }
  } finally {
    deadline.cancel();
  }
}

class Deadline {
  readonly #clock: Clock;
  readonly #over = new AbortController();
  #timer: Timer;
  #atMs: number;

  constructor(clock: Clock, atMs: number) {
    this.#clock = clock;
    this.#atMs = atMs;
    this.#timer = this.#start();
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  get atMs(): number {
    return this.#atMs;
  }

  set(atMs: number): void {
    this.#timer.cancel();
    this.#atMs = atMs;
    this.#timer = this.#start();
  }

  cancel(): void {
    this.#timer.cancel();
  }

  #start(): Timer {
    return this.#clock.setTimeout(() => this.#over.abort(), this.#atMs - this.#clock.monotonic());
  }
}

async function release(candidate: Candidate, { clock, log }: ElectionOptions): Promise<void> {
  const limit = new AbortController();
  const late = pause(clock, RELEASE_LIMIT_MS, limit.signal);
  try {
    await Promise.race([candidate.release(), late]);
  } catch (error) {
    log.warn('Cannot release the Lease; other replicas wait until the Lease expires', { error: errorText(error) });
  }
  limit.abort();
}

/**
 * Runs `lead` while this process holds the Lease. The Lease has the format of client-go, so candidates that use
 * client-go can take part in the election.
 * - The signal of `lead` aborts with the outer signal, or when the process loses the Lease.
 */
export async function runElected(
  options: ElectionOptions,
  lead: (signal: AbortSignal, fence: Fence) => Promise<void>,
): Promise<ElectionEnd> {
  const candidate = new Candidate(options);
  checkTimings(candidate.timings, options.renewMs);
  const { quiet } = options;
  if (quiet !== undefined) checkTimings({ ...candidate.timings, ...quiet }, quiet.renewMs);
  const who = { lease: `${options.lease.namespace}/${options.lease.name}`, identity: options.identity };
  options.log.info('waiting for the Lease', who);
  if (!(await acquire(candidate, options))) return 'stopped';
  options.log.info('leading', who);
  const term = new AbortController();
  const over = new AbortController();
  const lost = new AbortController();
  const follow = (): void => term.abort(options.signal.reason);
  options.signal.addEventListener('abort', follow);
  if (options.signal.aborted) follow();
  const kept = keep(candidate, options, over.signal).then((end) => {
    if (end === 'lost') {
      const reason = new Error('the lease was lost');
      lost.abort(reason);
      term.abort(reason);
    }
    return end;
  });
  try {
    // The candidate renews the Lease until its last step has ended, so no other process becomes the leader earlier.
    await lead(term.signal, {
      confirm: () => candidate.confirm(term.signal),
      held: () => candidate.confirm(lost.signal),
    });
  } finally {
    options.signal.removeEventListener('abort', follow);
    over.abort();
    if ((await kept) === 'stopped') await release(candidate, options);
  }
  return kept;
}
