import { errorText, type Fence } from '@mcm/kube';
import { MachineError } from '../../contract/errors.ts';
import type { DriverCall } from '../../schemas/define-driver.ts';
import type { Call, Stage } from './call.ts';

const CHANGES: Readonly<Record<DriverCall, boolean>> = {
  create: true,
  initialize: true,
  stop: true,
  start: true,
  tag: true,
  delete: true,
  status: false,
  list: false,
  evidence: false,
  watchInterruptions: false,
};

/**
 * Confirms that this process is still the leader. A process that was suspended or lost the Lease must not change the
 * cloud, because the new leader may have decided differently.
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
    if (CHANGES[call.name]) await confirmLeader(fence, call.name);
    return next(call);
  };
