import { type Clock, pause } from '../clock/clock.ts';
import type { EventRecorder } from '../contract/recorder.ts';
import type { UnitRunner } from './units.ts';

/** The time for running reconciles after a stop request. A reconcile may end early, because each step is idempotent. */
const RECONCILE_GRACE_MS = 1500;
const FLUSH_LIMIT_MS = 1000;

export const within = async (clock: Clock, limitMs: number, work: Promise<unknown>): Promise<void> => {
  const limit = new AbortController();
  await Promise.race([work, pause(clock, limitMs, limit.signal)]).finally(() => limit.abort());
};

/**
 * Runs units until `term` aborts. After a stop request, the function waits for running reconciles for a grace period,
 * and sends pending Events. After the loss of the Lease, the function returns at once.
 */
export async function workUntil(
  runner: Pick<UnitRunner, 'run'>,
  { term, stop, clock }: { readonly term: AbortSignal; readonly stop: AbortSignal; readonly clock: Clock },
  recorders: readonly Pick<EventRecorder, 'flush'>[],
): Promise<void> {
  const running = runner.run(term);
  const ended = new Promise<void>((resolve) => {
    const end = (): void => resolve(stop.aborted ? within(clock, RECONCILE_GRACE_MS, running) : undefined);
    if (term.aborted) end();
    term.addEventListener('abort', end, { once: true });
  });
  await Promise.race([running.then(() => ended), ended]);
  if (!stop.aborted) return;
  await within(clock, FLUSH_LIMIT_MS, Promise.all(recorders.map((recorder) => recorder.flush())));
}
