import { Annotations, type Machine } from '@mcm/api';
import { parseInstant } from '../values/integers.ts';

/** The states of a VM in the annotation {@link Annotations.VmState}. */
const VM_STATES = ['exists', 'gone', 'ended', 'unknown'] as const;

/**
 * The state of an unreachable machine's VM, as the cloud reports it. `ended` means that the VM does not run and will
 * not start again. `unknown` means that the cloud did not return the state.
 */
export type VmState = (typeof VM_STATES)[number];

/** Returns the value of the annotation for a lookup that ended at `at`. */
export const vmStateText = (state: VmState, at: Date): string => `${at.toISOString()} ${state}`;

/**
 * Returns the recorded state of the VM. The result is undefined if the last lookup ended before the machine became
 * unreachable, because that state is outdated.
 */
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
