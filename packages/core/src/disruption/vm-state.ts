import { Annotations, type Machine } from '@mcm/api';
import { parseInstant } from '../values/integers.ts';

const VM_STATES = ['exists', 'gone', 'ended', 'unknown'] as const;

/**
 * The state of an unreachable machine's VM, as the cloud reports it. A VM in the state `ended` does not run and will
 * not start again.
 */
export type VmState = (typeof VM_STATES)[number];

export const vmStateText = (state: VmState, at: Date): string => `${at.toISOString()} ${state}`;

/** Returns the recorded state of the VM, or undefined if the machine became unreachable after the record. */
export function vmStateOf({ metadata, status }: Machine): VmState | undefined {
  const [at, word] = metadata.annotations?.[Annotations.VmState]?.split(' ') ?? [];
  const since = parseInstant(status?.currentStatus?.lastUpdateTime);
  const lookedUpAt = parseInstant(at);
  if (lookedUpAt === undefined || since === undefined || lookedUpAt < since) return undefined;
  return VM_STATES.find((state) => state === word);
}

/** Returns a sentence about the VMs of unreachable machines, or undefined if no state is known. */
export function vmStatesText(machines: readonly Machine[]): string | undefined {
  const states = machines.map(vmStateOf);
  const count = (state: VmState | undefined): number => states.filter((one) => one === state).length;
  if (count(undefined) === machines.length) return undefined;
  const parts = [
    [count('exists'), 'exist'],
    [count('ended'), 'ended'],
    [count('gone'), 'gone'],
    [count('unknown'), 'unknown to the cloud'],
    [count(undefined), 'not looked up'],
  ] as const;
  return `VMs in the cloud: ${parts.flatMap(([number, what]) => (number > 0 ? [`${number} ${what}`] : [])).join(', ')}`;
}
