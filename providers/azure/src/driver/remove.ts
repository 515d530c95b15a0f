import { MachineError, type ObservedCall } from '@mcm/core/driver';
import { z } from 'zod';
import { ArmError } from '../arm/error.ts';
import { fromCloud, isAbsent } from './errors.ts';
import { dataDiskName, dataDisksOf, diskNames, nicName, osDiskName } from './names.ts';
import type { AzureProviderSpec } from './schemas.ts';
import type { Session } from './session.ts';

const MINUTE = 60_000;
const VM_MS = 15 * MINUTE;
const UPDATE_MS = 10 * MINUTE;
const PART_MS = 10 * MINUTE;
/** Parts deleted at once. */
const AT_ONCE = 2;

const nic = z.looseObject({
  id: z.string().optional(),
  properties: z.looseObject({ deleteOption: z.string().nullish() }).nullish(),
});
const disk = z.looseObject({
  name: z.string().optional(),
  lun: z.number().optional(),
  deleteOption: z.string().nullish(),
  toBeDetached: z.boolean().nullish(),
});
const virtualMachine = z.looseObject({
  tags: z.unknown().optional(),
  properties: z
    .looseObject({
      provisioningState: z.string().nullish(),
      networkProfile: z.looseObject({ networkInterfaces: z.array(nic).nullish() }).nullish(),
      storageProfile: z.looseObject({ osDisk: disk.nullish(), dataDisks: z.array(disk).nullish() }).nullish(),
    })
    .nullish(),
});
type Vm = z.infer<typeof virtualMachine>;

/**
 * Deletes a VM and all that was made with it. Disks of persistent volumes are left alone.
 * @param mayGo Whether the VM with these tags may be deleted.
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
  const what = `[ResourceGroup: ${group}, Name: ${name}]`;
  if (isGoing(vm)) {
    // Its deletion was begun, by an earlier process or by somebody else: neither a change nor a second DELETE is due.
    const gone = counted('virtual_machine_delete', () => arm.followGone(session.vm('GET', name), VM_MS, signal));
    const ended = await gone.catch((thrown: unknown) => {
      throw fromCloud(thrown, `Failed to delete VM: ${what}, Err: `, signal);
    });
    if (ended) return deleteLeftOvers(session, name, spec, signal, counted);
  }
  const whole = isUpdatable(vm);
  const change = whole ? cascade(vm, name, spec) : undefined;
  if (change) {
    try {
      await counted('virtual_machine_update', () => arm.run(session.vm('PATCH', name, change), UPDATE_MS, signal));
    } catch (thrown) {
      const words = 'Failed to update cascade delete of associated resources for VM';
      throw fromCloud(thrown, `${words}: ${what}, Err: `, signal);
    }
  }
  try {
    await counted('virtual_machine_delete', () => arm.run(session.vm('DELETE', name), VM_MS, signal));
  } catch (thrown) {
    throw fromCloud(thrown, `Failed to delete VM: ${what}, Err: `, signal);
  }
  if (!whole) await deleteLeftOvers(session, name, spec, signal, counted);
}

async function groupExists(session: Session, signal: AbortSignal, counted: ObservedCall): Promise<boolean> {
  try {
    return await counted('resource_group_exists', async () => {
      try {
        const { status } = await session.arm.call(session.resourceGroup(), signal);
        // Any other answer is none of this API's.
        if (status !== 204) throw new Error(`the cloud answered ${status}`);
        return true;
      } catch (thrown) {
        // The answer to HEAD has no body that could hold a code.
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
): Promise<Vm | undefined> {
  try {
    return await counted('virtual_machine_get', async () => {
      try {
        return virtualMachine.parse((await session.arm.call(session.vm('GET', name), signal)).body);
      } catch (thrown) {
        if (isAbsent(thrown)) return undefined;
        throw thrown;
      }
    });
  } catch (thrown) {
    const what = `[resourceGroup: ${session.group}, name: ${name}]`;
    throw fromCloud(thrown, `failed to get virtual machine for VM: ${what}, Err: `, signal);
  }
}

const isGoing = ({ properties }: Vm): boolean => properties?.provisioningState?.toLowerCase() === 'deleting';

const isUpdatable = ({ properties }: Vm): boolean =>
  properties?.provisioningState?.toLowerCase() !== 'failed' &&
  !(properties?.storageProfile?.dataDisks ?? []).some(({ toBeDetached }) => toBeDetached === true);

/** What makes the VM's own parts go with it, where they would stay; undefined when nothing is to be changed. */
function cascade({ properties }: Vm, name: string, spec: AzureProviderSpec): object | undefined {
  const stays = (option: string | null | undefined): boolean => option !== 'Delete';
  const isOwn = ({ id = '' }: z.infer<typeof nic>): boolean => id.slice(id.lastIndexOf('/') + 1) === nicName(name);
  const nics = (properties?.networkProfile?.networkInterfaces ?? [])
    .filter((each) => isOwn(each) && stays(each.properties?.deleteOption))
    .map(({ id }) => ({ id, properties: { deleteOption: 'Delete' } }));
  const { osDisk, dataDisks } = properties?.storageProfile ?? {};
  const own = new Set(dataDisksOf(spec).map((each) => dataDiskName(name, each)));
  const disks = (dataDisks ?? [])
    .filter((each) => own.has(each.name ?? '') && stays(each.deleteOption))
    .map((each) => ({ name: each.name, lun: each.lun, deleteOption: 'Delete' }));
  const os = osDisk && stays(osDisk.deleteOption) ? { name: osDiskName(name), deleteOption: 'Delete' } : undefined;
  if (nics.length === 0 && disks.length === 0 && !os) return undefined;
  return {
    properties: {
      ...(nics.length > 0 ? { networkProfile: { networkInterfaces: nics } } : {}),
      storageProfile: { ...(os ? { osDisk: os } : {}), ...(disks.length > 0 ? { dataDisks: disks } : {}) },
    },
  };
}

/** Deletes NIC and disks by their names, two at a time; all are tried. What is gone is no error. @throws MachineError */
export async function deleteLeftOvers(
  session: Session,
  vm: string,
  spec: AzureProviderSpec,
  signal: AbortSignal,
  counted: ObservedCall,
): Promise<void> {
  const parts = [
    () => counted('nic_delete', () => session.arm.run(session.nic('DELETE', nicName(vm)), PART_MS, signal)),
    ...diskNames(vm, spec).map(
      (name) => () => counted('disk_delete', () => session.arm.run(session.disk('DELETE', name), PART_MS, signal)),
    ),
  ];
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (let part = parts.shift(); part; part = parts.shift()) await part().catch((thrown) => failures.push(thrown));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const [first] = failures;
  if (first === undefined) return;
  const what = `[ResourceGroup: ${session.group}, Name: ${vm}]`;
  const why = failures.map((each) => (each instanceof Error ? each.message : String(each))).join('; ');
  const { code, credentialsRefused } = fromCloud(first, '', signal);
  throw new MachineError(code, `Errors during deletion of NIC/Disks associated to VM: ${what}, Err: ${why}`, {
    cause: first,
    credentialsRefused,
  });
}
