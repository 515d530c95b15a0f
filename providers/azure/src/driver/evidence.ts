import type { InstanceViewStatus, VirtualMachineInstanceView } from '@azure/arm-compute';
import { type InstanceEvidence, wholeLines } from '@mcm/core/driver';
import type { Session } from './session.ts';

/**
 * Returns the state of a VM, and its console output if Azure stores the output and allows the request.
 * @throws the error of `Arm` if the state cannot be read
 */
export async function reportEvidence(session: Session, name: string, signal: AbortSignal): Promise<InstanceEvidence> {
  const view = await session.instanceView(name, signal);
  const state = describe(name, view);
  try {
    const { serialConsoleLogBlobUri: address } = await session.bootDiagnostics(name, signal);
    if (!address) return { state: `${state}; Azure stores no console output of the VM` };
    return { state, console: wholeLines(await session.arm.read(address, signal)) };
  } catch (thrown) {
    signal.throwIfAborted();
    return { state: `${state}; mcm could not read its console output: ${withoutAddress(thrown)}` };
  }
}

/** Removes the URL of the console log from an error. Everyone with the URL can read the log. */
const withoutAddress = (thrown: unknown): string =>
  (thrown instanceof Error ? thrown.message : String(thrown)).replaceAll(/(https:\/\/[^\s?]+)\?\S+/g, '$1');

function describe(name: string, { statuses: own, vmAgent }: VirtualMachineInstanceView): string {
  const parts = [...reported('', own), ...reported('VM agent: ', vmAgent?.statuses)];
  return `virtual machine ${name}: ${parts.join('; ') || 'Azure returned no state'}`;
}

/** Returns true for a valid time. The SDK returns an invalid Date for a text that is not a date. */
const isDate = (time: Date | undefined): time is Date => time !== undefined && !Number.isNaN(time.getTime());

const reported = (what: string, list: readonly InstanceViewStatus[] | undefined): string[] =>
  (list ?? []).map(({ code, displayStatus, message, time }) => {
    const since = isDate(time) ? ` since ${time.toISOString().replace('.000Z', 'Z')}` : '';
    return `${what}${displayStatus ?? code ?? 'no state'}${since}${message ? ` (${message})` : ''}`;
  });
