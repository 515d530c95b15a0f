import { MachineError } from '../../contract/errors.ts';
import { placeOf, problemOf } from '../../schemas/hint.ts';
import type { ObserveClass } from '../api/invoker-api.ts';
import type { Call, Stage } from './call.ts';
import { scrub } from './scrub.ts';

const TRANSIENT: ReadonlySet<string> = new Set(['Unavailable', 'DeadlineExceeded', 'Aborted', 'Canceled', 'Unknown']);

/** Error codes that prove that the cloud accepts the class and its credentials. */
const ANSWERS: ReadonlySet<string> = new Set(['NotFound', 'Uninitialized', 'OutOfRange']);

/**
 * If the user must change the class or its Secret, the stage adds a hint to the error, and reports the problem on the
 * class.
 */
export const redactStage =
  <C extends Call>(observeClass: ObserveClass | undefined): Stage<C> =>
  async (call, next) => {
    try {
      const result = await next(call);
      const machineClass = call.classNow();
      if (machineClass) observeClass?.(machineClass, call.name, undefined);
      return result;
    } catch (thrown) {
      throw withHint(call, markUnsent(call, MachineError.from(thrown)), observeClass);
    }
  };

/** Sets `unsent` on a permanent error of the class or its Secrets that occurs before the driver receives the call. */
function markUnsent({ progress }: Call, error: MachineError): MachineError {
  if (progress.sent || TRANSIENT.has(error.code)) return error;
  return new MachineError(error.code, error.message, { cause: error, place: error.place, unsent: true });
}

function withHint(call: Call, thrown: MachineError, observeClass: ObserveClass | undefined): MachineError {
  const { name, progress } = call;
  const { data, hidden } = progress.secrets ?? call.secretsNow();
  const machineClass = call.classNow();
  if (!observeClass || !machineClass) return scrub(thrown, hidden);
  const problem = progress.sent ? problemOf(thrown, machineClass, data, name) : undefined;
  const error = scrub(thrown, hidden, problem?.hint ?? placeOf(thrown, machineClass));
  if (problem) observeClass(machineClass, name, { reason: problem.reason, message: error.message });
  else if (progress.sent && ANSWERS.has(thrown.code)) observeClass(machineClass, name, undefined);
  return error;
}
