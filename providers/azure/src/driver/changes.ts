import type { VirtualMachine } from '@azure/arm-compute';
import { MachineError, type ObservedCall, refuseOthers, splitTagChanges, type TagChanges } from '@mcm/core/driver';
import { type Clock, sleep } from '@mcm/kube';
import { fromCloud, isAbsent, isExhausted } from './errors.ts';
import type { OnMachine, PowerVerb, Session } from './session.ts';

const LOOK_MS = 5_000;
const TIMEOUT_MS = 15 * 60_000;
const PREFIX = 'PowerState/';

/** The power states of a VM that does not run, with their texts. A VM with the state `stopped` still causes costs. */
const ENDING: ReadonlyMap<string, string> = new Map([
  ['stopping', 'being stopped'],
  ['stopped', 'stopped'],
  ['deallocating', 'being deallocated'],
  ['deallocated', 'deallocated'],
]);

/** The key is the current power state of a VM. The request moves the VM toward the wanted state. */
type Verbs = Readonly<Record<string, PowerVerb | 'done'>>;

const STOP: Verbs = { running: 'deallocate', stopped: 'deallocate', unknown: 'deallocate', deallocated: 'done' };
const START: Verbs = { running: 'done', stopped: 'start', unknown: 'start', deallocated: 'start' };

/** Returns the power state of a VM, such as `running` or `deallocated`. */
const powerOf = ({ instanceView }: VirtualMachine): string =>
  instanceView?.statuses?.find(({ code }) => code?.startsWith(PREFIX))?.code?.slice(PREFIX.length) ?? 'unknown';

/** Returns a word such as "deallocated" if a VM does not run and will not start automatically. */
export const endingOf = (vm: VirtualMachine): string | undefined =>
  vm.provisioningState?.toLowerCase() === 'deleting' ? 'being deleted' : ENDING.get(powerOf(vm));

export interface Change {
  readonly session: Session;
  readonly request: OnMachine;
  readonly clock: Clock;
  readonly counted: ObservedCall;
}

/** Deallocates a VM. After that, only its disks cost money. */
export const stopVm = (change: Change): Promise<void> => reach(change, 'stop', STOP);

export const startVm = (change: Change): Promise<void> => reach(change, 'start', START);

/** Sends requests until the VM has the wanted power state. */
async function reach({ session, request, clock, counted }: Change, action: string, verbs: Verbs): Promise<void> {
  const { machine, signal } = request;
  const { name } = machine.metadata;
  const vm = `[ResourceGroup: ${session.group}, Name: ${name}]`;
  try {
    for (;;) {
      const found = await counted('virtual_machine_get', () => session.vmWithView(name, signal));
      refuseOthers(request, found.tags);
      if (found.provisioningState?.toLowerCase() === 'deleting') throw absent(vm);
      const verb = verbs[powerOf(found)];
      if (verb === 'done') return;
      if (verb === undefined) await sleep(clock, LOOK_MS, signal);
      else await counted(`virtual_machine_${verb}`, () => session.power(verb, name, TIMEOUT_MS, signal));
    }
  } catch (thrown) {
    if (isAbsent(thrown)) throw absent(vm);
    const code = action === 'start' && isExhausted(thrown) ? 'ResourceExhausted' : 'Internal';
    throw fromCloud(thrown, `Failed to ${action} VM: ${vm}, Err: `, signal, code);
  }
}

/**
 * Sets and removes tags of a VM. Azure merges tags into the tags of the VM. A change of the VM resource would replace all
 * tags, and could remove a tag that another program has just set.
 * @throws MachineError
 */
export async function changeTags({ session, request, counted }: Change, changes: TagChanges): Promise<void> {
  const { machine, signal } = request;
  const { name } = machine.metadata;
  try {
    const { tags = {} } = await counted('virtual_machine_get', () => session.vm(name)(signal));
    refuseOthers(request, tags);
    const { set, remove } = splitTagChanges(changes, tags);
    const removed = Object.fromEntries(remove.map((key) => [key, tags[key] ?? '']));
    if (Object.keys(set).length > 0) await counted('tags_merge', () => session.changeTags('Merge', name, set, signal));
    if (remove.length > 0) await counted('tags_delete', () => session.changeTags('Delete', name, removed, signal));
  } catch (thrown) {
    if (isAbsent(thrown)) return;
    const vm = `[ResourceGroup: ${session.group}, Name: ${name}]`;
    throw fromCloud(thrown, `Failed to change tags of VM: ${vm}, Err: `, signal);
  }
}

const absent = (vm: string): MachineError => new MachineError('NotFound', `VM: ${vm} is not found`);
