import type { VirtualMachine, VirtualMachineUpdate } from '@azure/arm-compute';
import { MachineError, type ObservedCall } from '@mcm/core/driver';
import { ArmError } from '../arm/error.ts';
import { fromCloud, isAbsent } from './errors.ts';
import { dataDiskName, dataDisksOf, diskNames, nicName, osDiskName } from './names.ts';
import type { AzureProviderSpec } from './schemas.ts';
import type { Session } from './session.ts';

const MINUTE = 60_000;
const VM_MS = 15 * MINUTE;
const UPDATE_MS = 10 * MINUTE;
const PART_MS = 10 * MINUTE;
const AT_ONCE = 2;

/**
 * Deletes a VM and all resources that were created with it. Disks of PersistentVolumes stay.
 * @param mayGo returns whether the VM with the given tags may be deleted
 * @throws MachineError
 */
export async function deleteVm(
  session: Session,
  name: string,
  spec: AzureProviderSpec,
  signal: AbortSignal,
  counted: ObservedCall,
  mayGo: (tags: unknown) => boolean,
): Promise<void> {
  const { group, arm } = session;
  if (!(await groupExists(session, signal, counted))) return;
  const vm = await find(session, name, signal, counted);
  if (!vm) return deleteLeftOvers(session, name, spec, signal, counted);
  if (!mayGo(vm.tags)) return;
  const vmText = `[ResourceGroup: ${group}, Name: ${name}]`;
  if (isGoing(vm)) {
    // The VM is already being deleted, because an earlier process or another client has started the deletion.
    const gone = counted('virtual_machine_delete', () => arm.followGone(session.vm(name), VM_MS, signal));
    const ended = await gone.catch((thrown: unknown) => {
      throw fromCloud(thrown, `Failed to delete VM: ${vmText}, Err: `, signal);
    });
    if (ended) return deleteLeftOvers(session, name, spec, signal, counted);
  }
  const whole = isUpdatable(vm);
  const change = whole ? cascade(vm, name, spec) : undefined;
  if (change) {
    try {
      await counted('virtual_machine_update', () =>
        session.run('compute', ({ virtualMachines }, options) => virtualMachines.update(group, name, change, options), {
          timeoutMs: UPDATE_MS,
          signal,
          read: session.vm(name),
        }),
      );
    } catch (thrown) {
      const words = 'Failed to update cascade delete of associated resources for VM';
      throw fromCloud(thrown, `${words}: ${vmText}, Err: `, signal);
    }
  }
  try {
    await counted('virtual_machine_delete', () => session.deleteVm(name, VM_MS, signal));
  } catch (thrown) {
    throw fromCloud(thrown, `Failed to delete VM: ${vmText}, Err: `, signal);
  }
  if (!whole) await deleteLeftOvers(session, name, spec, signal, counted);
}

async function groupExists(session: Session, signal: AbortSignal, counted: ObservedCall): Promise<boolean> {
  try {
    return await counted('resource_group_exists', async () => {
      try {
        const status = await session.groupStatus(signal);
        // If a resource group exists, Azure responds with 204.
        if (status !== '204') throw new Error(`the cloud answered ${status}`);
        return true;
      } catch (thrown) {
        // A response to HEAD has no body, so an error code in the body is not possible.
        if (thrown instanceof ArmError && thrown.status === 404 && thrown.text === '') return false;
        throw thrown;
      }
    });
  } catch (thrown) {
    throw fromCloud(thrown, `failed to check if ResourceGroup ${session.group} exists, Err: `, signal);
  }
}

async function find(
  session: Session,
  name: string,
  signal: AbortSignal,
  counted: ObservedCall,
): Promise<VirtualMachine | undefined> {
  try {
    return await counted('virtual_machine_get', async () => {
      try {
        return await session.vm(name)(signal);
      } catch (thrown) {
        if (isAbsent(thrown)) return undefined;
        throw thrown;
      }
    });
  } catch (thrown) {
    const vmText = `[resourceGroup: ${session.group}, name: ${name}]`;
    throw fromCloud(thrown, `failed to get virtual machine for VM: ${vmText}, Err: `, signal);
  }
}

const isGoing = ({ provisioningState }: VirtualMachine): boolean => provisioningState?.toLowerCase() === 'deleting';

const isUpdatable = ({ provisioningState, storageProfile }: VirtualMachine): boolean =>
  provisioningState?.toLowerCase() !== 'failed' &&
  !(storageProfile?.dataDisks ?? []).some(({ toBeDetached }) => toBeDetached === true);

/** Returns the update of a VM after which Azure deletes the NICs and disks together with the VM. */
function cascade(
  { networkProfile, storageProfile }: VirtualMachine,
  name: string,
  spec: AzureProviderSpec,
): VirtualMachineUpdate | undefined {
  const stays = (option: string | null | undefined): boolean => option !== 'Delete';
  const nics = (networkProfile?.networkInterfaces ?? [])
    .filter(({ id = '', deleteOption }) => id.slice(id.lastIndexOf('/') + 1) === nicName(name) && stays(deleteOption))
    .map(({ id }) => ({ id, deleteOption: 'Delete' }));
  const { osDisk, dataDisks } = storageProfile ?? {};
  const own = new Set(dataDisksOf(spec).map((each) => dataDiskName(name, each)));
  const disks = (dataDisks ?? [])
    .filter((each) => own.has(each.name ?? '') && stays(each.deleteOption))
    .map((each) => ({ name: each.name, lun: each.lun, deleteOption: 'Delete' }));
  const os = osDisk && stays(osDisk.deleteOption) ? { name: osDiskName(name), deleteOption: 'Delete' } : undefined;
  if (nics.length === 0 && disks.length === 0 && !os) return undefined;
  const update = {
    networkProfile: nics.length > 0 ? { networkInterfaces: nics } : undefined,
    storageProfile: { osDisk: os, dataDisks: disks.length > 0 ? disks : undefined },
  };
  // The type in the SDK requires fields that this update must not contain.
  return update as VirtualMachineUpdate;
}

/**
 * Deletes resources by their names, two at a time. If a resource does not exist, its deletion succeeds.
 * @throws MachineError
 */
export async function deleteLeftOvers(
  session: Session,
  vm: string,
  spec: AzureProviderSpec,
  signal: AbortSignal,
  counted: ObservedCall,
): Promise<void> {
  const parts = [
    () => counted('nic_delete', () => session.deleteNic(nicName(vm), PART_MS, signal)),
    ...diskNames(vm, spec).map((name) => () => counted('disk_delete', () => session.deleteDisk(name, PART_MS, signal))),
  ];
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (let part = parts.shift(); part; part = parts.shift()) await part().catch((thrown) => failures.push(thrown));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const [first] = failures;
  if (first === undefined) return;
  const vmText = `[ResourceGroup: ${session.group}, Name: ${vm}]`;
  const why = failures.map((each) => (each instanceof Error ? each.message : String(each))).join('; ');
  const { code, credentialsRefused } = fromCloud(first, '', signal);
  throw new MachineError(code, `Errors during deletion of NIC/Disks associated to VM: ${vmText}, Err: ${why}`, {
    cause: first,
    credentialsRefused,
  });
}
