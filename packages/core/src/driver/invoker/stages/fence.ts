import { errorText, type Fence } from '@mcm/kube';
import { MachineError } from '../../contract/errors.ts';
import type { Call, Stage } from './call.ts';

const CHANGES: ReadonlySet<string> = new Set(['create', 'initialize', 'delete']);

/**
 * A process that was suspended or lost the Lease must not send the call, because the new leader may have decided
 * differently.
 * @throws MachineError `Aborted` if leadership is not confirmed
 */
export async function confirmLeader(fence: Fence | undefined, call: string): Promise<void> {
  try {
    await fence?.confirm();
  } catch (error) {
    const message = `${call} was not sent, because the process cannot confirm its leadership (${errorText(error)})`;
    throw new MachineError('Aborted', message, { cause: error });
  }
}

export const fenceStage =
  <C extends Call>(fence: Fence | undefined): Stage<C> =>
  async (call, next) => {
    if (CHANGES.has(call.name)) await confirmLeader(fence, call.name);
    return next(call);
  };
