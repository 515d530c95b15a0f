import type { NetworkInterface } from '@azure/arm-network';
import type { ObservedCall } from '@mcm/core/driver';
import { ArmError } from '../arm/error.ts';
import { isAbsent, isExhausted } from './errors.ts';
import type { Session } from './session.ts';

/**
 * Returns true if a NIC is attached to the VM. An attached NIC proves that an earlier call has requested the VM, maybe
 * in an earlier process.
 */
export function servesVm({ virtualMachine }: NetworkInterface, vm: string): boolean {
  const id = virtualMachine?.id ?? '';
  return id.slice(id.lastIndexOf('/') + 1).toLowerCase() === vm.toLowerCase();
}

/**
 * Waits for the end of a creation that an earlier call started. A second PUT would change the VM, and Azure refuses a
 * PUT with changed user data. The result is false if the VM does not exist, or if its creation failed temporarily.
 * @throws ArmError, for example if the cloud had no capacity
 */
export async function resumeVm(
  session: Session,
  vm: string,
  timeoutMs: number,
  signal: AbortSignal,
  counted: ObservedCall,
): Promise<boolean> {
  const { arm } = session;
  try {
    await counted('virtual_machine_get', () => arm.follow(session.vm(vm), timeoutMs, signal));
    return true;
  } catch (thrown) {
    if (isAbsent(thrown)) return false;
    // ArmError with the status 200 means that the resource reports a failed state.
    if (!(thrown instanceof ArmError) || thrown.status !== 200) throw thrown;
  }
  const why = await failureOf(session, vm, signal);
  if (isExhausted(why)) throw why;
  return false;
}

/**
 * Returns the error of a failed creation, or undefined. The instance view contains the reason, such as
 * `ProvisioningState/failed/AllocationFailed`.
 */
async function failureOf(session: Session, vm: string, signal: AbortSignal): Promise<ArmError | undefined> {
  const { statuses } = await session.instanceView(vm, signal);
  const failed = statuses?.find(({ code }) => /^ProvisioningState\/failed\/./i.test(code ?? ''));
  if (!failed) return undefined;
  const code = failed.code?.split('/')[2] ?? '';
  const text = JSON.stringify({ error: { code, message: failed.message ?? '' } });
  return new ArmError(`GET the instance view of ${vm}`, 200, text);
}
