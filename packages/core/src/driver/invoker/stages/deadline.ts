import type { Clock } from '@mcm/kube';
import { MachineError } from '../../contract/errors.ts';
import type { DriverTimeouts } from '../api/invoker-api.ts';
import type { Stage, TimedCall, TracedCall } from './call.ts';

/** A driver call must end within this time after the abort of its signal. */
const ABORT_GRACE_MS = 30_000;

export interface DeadlineOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly stop: AbortSignal;
  readonly callName: string;
  /**
   * Called when a driver call still runs after its deadline and the grace period. With `onOverdue`, mcm waits for the
   * end of a late driver call, because the call can still change the VM.
   */
  readonly onOverdue?: ((error: MachineError) => void) | undefined;
}

/**
 * Runs a driver call with a signal that aborts at the deadline, or when the process stops.
 * @throws MachineError `DeadlineExceeded` after the deadline, `Canceled` if the process stops, or the error of the
 * driver
 */
export async function withDeadline<T>(options: DeadlineOptions, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { clock, timeoutMs, stop, callName, onOverdue } = options;
  if (stop.aborted) throw new MachineError('Canceled', `${callName} was not started, because the process stops`);
  const controller = new AbortController();
  const ended = Promise.withResolvers<never>();
  let because: MachineError | undefined;
  const end = (error: MachineError): void => {
    because ??= error;
    controller.abort(because);
    grace ??= clock.setTimeout(overstay, ABORT_GRACE_MS);
  };
  const overstay = (): void => {
    if (!onOverdue || stop.aborted) {
      ended.reject(because);
      return;
    }
    onOverdue(
      new MachineError('DeadlineExceeded', `${because?.message ?? callName}, and the call ignores its abort signal`),
    );
    grace = undefined;
  };
  let grace: ReturnType<Clock['setTimeout']> | undefined;
  const onStop = (): void => end(new MachineError('Canceled', `${callName} was canceled, because the process stops`));
  const timer = clock.setTimeout(
    () => end(new MachineError('DeadlineExceeded', `${callName} took longer than ${timeoutMs / 1000} s`)),
    timeoutMs,
  );
  stop.addEventListener('abort', onStop, { once: true });
  try {
    return await Promise.race([Promise.resolve().then(() => call(controller.signal)), ended.promise]);
  } catch (thrown) {
    // The HTTP library of a driver may replace the reason of the abort by another error.
    throw because !== undefined && !(thrown instanceof MachineError) ? because : MachineError.from(thrown);
  } finally {
    timer.cancel();
    grace?.cancel();
    stop.removeEventListener('abort', onStop);
  }
}

export const deadlineStage =
  (clock: Clock, timeouts: DriverTimeouts, stop: AbortSignal): Stage<TracedCall, TimedCall> =>
  (call, next) => {
    const { name, subject: callName, onOverdue } = call;
    return withDeadline({ clock, timeoutMs: timeouts[name], stop, callName, onOverdue }, (signal) =>
      next({ ...call, signal }),
    );
  };
