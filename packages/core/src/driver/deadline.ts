import type { Clock } from '@mcm/kube';
import { MachineError } from './errors.ts';

/** Grace for a driver to end its call after its signal aborted; then nobody waits for it any more. */
const ABORT_GRACE_MS = 30_000;

export interface DeadlineOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Ends the call early: the process stops. */
  readonly stop: AbortSignal;
  /** For messages: `create of machine m-1`. */
  readonly what: string;
}

/**
 * Runs a driver call with a signal that aborts at its deadline or when the process stops. Throws `MachineError` only:
 * `DeadlineExceeded` after the deadline, `Canceled` after a stop, else what the driver threw.
 */
export async function withDeadline<T>(options: DeadlineOptions, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { clock, timeoutMs, stop, what } = options;
  if (stop.aborted) throw new MachineError('Canceled', `${what} was not begun: the process stops`);
  const controller = new AbortController();
  const ended = Promise.withResolvers<never>();
  let because: MachineError | undefined;
  const end = (error: MachineError): void => {
    because ??= error;
    controller.abort(because);
    grace ??= clock.setTimeout(() => ended.reject(because), ABORT_GRACE_MS);
  };
  let grace: ReturnType<Clock['setTimeout']> | undefined;
  const onStop = (): void => end(new MachineError('Canceled', `${what} was broken off: the process stops`));
  const timer = clock.setTimeout(
    () => end(new MachineError('DeadlineExceeded', `${what} took longer than ${timeoutMs / 1000} s`)),
    timeoutMs,
  );
  stop.addEventListener('abort', onStop, { once: true });
  try {
    return await Promise.race([Promise.resolve().then(() => call(controller.signal)), ended.promise]);
  } catch (thrown) {
    // An abort surfaces as whatever the driver's HTTP library makes of it; the reason is known here.
    throw because !== undefined && !(thrown instanceof MachineError) ? because : MachineError.from(thrown);
  } finally {
    timer.cancel();
    grace?.cancel();
    stop.removeEventListener('abort', onStop);
  }
}
