import type { VirtualMachineImage } from '@azure/arm-compute';
import type { NetworkInterface, Subnet } from '@azure/arm-network';
import { Annotations } from '@mcm/api';
import { type CreateRequest, MachineError, type ObservedCall, refuseOthers } from '@mcm/core/driver';
import { z } from 'zod';
import { ArmError } from '../arm/error.ts';
import { diskBody, nicBody, vmBody, zonesOf } from './bodies.ts';
import { fromCloud, isAbsent, isExhausted } from './errors.ts';
import { dataDiskName, dataDisksOf, nicName } from './names.ts';
import { deleteLeftOvers } from './remove.ts';
import { resumeVm, servesVm } from './resume.ts';
import type { AzureCredentials, AzureProviderSpec } from './schemas.ts';
import type { Plan, Session } from './session.ts';
import { isBlank } from './validate.ts';

type Create = CreateRequest<AzureProviderSpec, AzureCredentials>;

const MINUTE = 60_000;
const VM_MS = 15 * MINUTE;
const NIC_MS = 15 * MINUTE;
const DISK_MS = 10 * MINUTE;
const DISKS = 'Microsoft.Compute/disks';

const agreement = z.looseObject({ properties: z.looseObject({ accepted: z.boolean().nullish() }).optional() });

const isAccepted = (terms: unknown): boolean => agreement.safeParse(terms).data?.properties?.accepted === true;

/**
 * Creates the NIC, the disks and the VM. Every request may be repeated, because the driver finds resources of an
 * earlier call by their names.
 */
export async function createVm(
  session: Session,
  request: Create,
  counted: ObservedCall,
  throwAwayKey: () => Promise<string>,
): Promise<void> {
  const { machine, spec, userData, signal } = request;
  const vm = machine.metadata.name;
  const plan = await planOf(session, request, counted);
  const subnet = await subnetOf(session, request, counted);
  const nic = await nicOf(session, request, subnet, counted);
  if (nic.begun && (await resumed(session, request, counted))) return;
  const diskIds = await imageDisks(session, request, counted, nic.known);
  const keyData = spec.properties?.osProfile?.linuxConfiguration?.ssh?.publicKeys?.keyData;
  const key = isBlank(keyData) ? await throwAwayKey() : '';
  const body = vmBody({ vm, spec, userData, nicId: nic.id, plan, diskIds, throwAwayKey: () => key });
  const make = () =>
    session.run(
      'compute',
      ({ virtualMachines }, options) => virtualMachines.createOrUpdate(session.group, vm, body, options),
      { timeoutMs: VM_MS, signal, read: session.vm(vm) },
    );
  await counted('virtual_machine_create', make).catch((thrown: unknown) => {
    // The user may have withdrawn the acceptance of the terms, so the next creation checks the terms again.
    if (plan) session.terms.forget(termsOf(session, plan));
    return failed(session, request, counted, thrown);
  });
}

const resumed = (session: Session, request: Create, counted: ObservedCall): Promise<boolean> =>
  resumeVm(session, request.machine.metadata.name, VM_MS, request.signal, counted).catch((thrown: unknown) =>
    failed(session, request, counted, thrown),
  );

/**
 * Converts the error of a failed creation. If the cloud has no capacity, the driver first deletes the resources of the
 * VM.
 * @throws MachineError in any case
 */
async function failed(session: Session, request: Create, counted: ObservedCall, thrown: unknown): Promise<never> {
  const { machine, signal } = request;
  const vm = machine.metadata.name;
  const exhausted = isExhausted(thrown) && !signal.aborted;
  const error = fromCloud(
    thrown,
    `Failed to create VirtualMachine: [ResourceGroup: ${session.group}, Name: ${vm}], Err: `,
    signal,
    exhausted ? 'ResourceExhausted' : 'Internal',
  );
  if (!exhausted) throw error;
  const also = await cleanUp(session, vm, request, counted);
  throw new MachineError(error.code, [error.message, ...also].join('\n'), { cause: thrown });
}

/** Deletes the resources of a failed creation, because unused resources cost money. */
async function cleanUp(
  session: Session,
  vm: string,
  { spec, signal }: Create,
  counted: ObservedCall,
): Promise<string[]> {
  const failures: string[] = [];
  const note = (thrown: unknown): void => {
    failures.push(thrown instanceof Error ? thrown.message : String(thrown));
  };
  await counted('virtual_machine_delete', () => session.deleteVm(vm, VM_MS, signal)).catch(note);
  await deleteLeftOvers(session, vm, spec, signal, counted).catch((thrown: unknown) => {
    const { code, message } = MachineError.from(thrown);
    failures.push(`machine codes error: code = [${code}] message = [${message}]`);
  });
  return failures;
}

async function subnetOf(session: Session, { spec, signal }: Create, counted: ObservedCall): Promise<Subnet> {
  const { vnetName = '', subnetName = '', vnetResourceGroup } = spec.subnetInfo ?? {};
  const group = vnetResourceGroup === undefined || isBlank(vnetResourceGroup) ? session.group : vnetResourceGroup;
  try {
    return await counted('subnet_get', () =>
      session.ask('network', ({ subnets }, options) => subnets.get(group, vnetName, subnetName, options), signal),
    );
  } catch (thrown) {
    const subnetText = `[ResourceGroup: ${group}, Name: ${subnetName}, VNetName: ${vnetName}]`;
    throw fromCloud(thrown, `failed to get subnet: ${subnetText}, Err: `, signal);
  }
}

interface Nic {
  readonly id: string;
  /** Whether an earlier call created the NIC. */
  readonly known: boolean;
  /** Whether an earlier call requested the creation of the VM. */
  readonly begun: boolean;
}

/**
 * Returns true if an earlier call created the NIC for another capacity alternative. After a refusal, the NIC stays if
 * its deletion failed, or if the cloud refused a disk. For a class without alternatives, the driver keeps the NIC, as in
 * the original.
 */
function isOfOtherOffering(
  { machine }: Create,
  { ipConfigurations }: NetworkInterface,
  { id: wanted }: Subnet,
): boolean {
  const id = ipConfigurations?.[0]?.subnet?.id;
  if (machine.metadata.annotations?.[Annotations.CapacityOffering] === undefined) return false;
  return id !== undefined && wanted !== undefined && id.toLowerCase() !== wanted.toLowerCase();
}

/** Returns the NIC of the VM. A missing NIC is created, and a NIC in the subnet of another offering is changed. */
async function nicOf(session: Session, request: Create, subnet: Subnet, counted: ObservedCall): Promise<Nic> {
  const { machine, spec, signal } = request;
  const name = nicName(machine.metadata.name);
  const nicText = `[ResourceGroup: ${session.group}, Name: ${name}]`;
  let earlier = false;
  const idOf = (nic: NetworkInterface | undefined): string =>
    nic?.id ?? session.idOf('Microsoft.Network/networkInterfaces', name);
  try {
    const known = await counted('nic_get', () =>
      session.arm.follow(session.nic(name), NIC_MS, signal).catch((thrown: unknown) => {
        if (isAbsent(thrown)) return undefined;
        // The status 200 means that the NIC exists, but its creation failed. A new PUT request repairs the NIC.
        if (thrown instanceof ArmError && thrown.status === 200) return undefined;
        throw thrown;
      }),
    );
    if (known !== undefined) refuseOthers(request, known.tags);
    const begun = known !== undefined && servesVm(known, machine.metadata.name);
    if (known !== undefined && (begun || !isOfOtherOffering(request, known, subnet)))
      return { id: idOf(known), known: true, begun };
    earlier = known !== undefined;
  } catch (thrown) {
    throw fromCloud(thrown, `Failed to get NIC: ${nicText}, Err: `, signal);
  }
  try {
    const body = nicBody(machine.metadata.name, spec, subnet);
    const make = () =>
      session.run(
        'network',
        ({ networkInterfaces }, options) => networkInterfaces.createOrUpdate(session.group, name, body, options),
        { timeoutMs: NIC_MS, signal, read: session.nic(name) },
      );
    return { id: idOf(await counted('nic_create', make)), known: earlier, begun: false };
  } catch (thrown) {
    throw fromCloud(thrown, `failed to create NIC: ${nicText}, Err: `, signal);
  }
}

/**
 * Creates the disks that have an image, because these disks must exist before the VM.
 * @param begun whether an earlier call created the NIC, so that disks may exist
 * @returns the IDs of the disks by name
 */
async function imageDisks(
  session: Session,
  request: Create,
  counted: ObservedCall,
  begun: boolean,
): Promise<ReadonlyMap<string, string>> {
  const { machine, spec, signal } = request;
  const ids = new Map<string, string>();
  for (const disk of dataDisksOf(spec).filter(({ imageRef }) => imageRef)) {
    const name = dataDiskName(machine.metadata.name, disk);
    const diskText = `[ResourceGroup: ${session.group}, Name: ${name}]`;
    const known = begun ? await diskOf(session, request, name, counted) : undefined;
    if (known !== undefined) {
      ids.set(name, known);
      continue;
    }
    const urn = disk.imageRef?.urn;
    let from: string | undefined;
    try {
      if (urn !== undefined && !isBlank(urn)) from = (await imageOf(session, request, urn, counted)).id ?? '';
    } catch (thrown) {
      const { code, message } = MachineError.from(thrown);
      const inner = `machine codes error: code = [${code}] message = [${message}]`;
      throw new MachineError('Internal', `Failed to create disk creation params: ${diskText}, Err: ${inner}`);
    }
    try {
      const body = diskBody(spec, disk, from);
      const make = () =>
        session.run('compute', ({ disks }, options) => disks.createOrUpdate(session.group, name, body, options), {
          timeoutMs: DISK_MS,
          signal,
          read: session.disk(name),
        });
      ids.set(name, (await counted('disk_create', make))?.id ?? session.idOf(DISKS, name));
    } catch (thrown) {
      const code = isExhausted(thrown) && !signal.aborted ? 'ResourceExhausted' : 'Internal';
      throw fromCloud(thrown, `Failed to create Disk: ${diskText}, Err: `, signal, code);
    }
  }
  return ids;
}

/**
 * Returns the ID of a disk that an earlier call created. A disk cannot move, so the driver deletes an unused disk in the
 * zone of another offering.
 */
async function diskOf(
  session: Session,
  { spec, signal }: Create,
  name: string,
  counted: ObservedCall,
): Promise<string | undefined> {
  try {
    const found = await counted('disk_get', () => session.arm.follow(session.disk(name), DISK_MS, signal));
    const [zone] = zonesOf(spec) ?? [];
    // A disk with zone redundancy has no zone.
    const isElsewhere = zone !== undefined && (found.zones ?? []).some((each) => each !== zone);
    if (!isElsewhere || found.managedBy) return found.id ?? session.idOf(DISKS, name);
    await counted('disk_delete', () => session.deleteDisk(name, DISK_MS, signal));
    return undefined;
  } catch (thrown) {
    // The status 200 means that the disk exists, but its creation failed. A new PUT request repairs the disk.
    if (isAbsent(thrown) || (thrown instanceof ArmError && thrown.status === 200)) return undefined;
    throw fromCloud(thrown, `Failed to get Disk: [ResourceGroup: ${session.group}, Name: ${name}], Err: `, signal);
  }
}

async function imageOf(
  session: Session,
  { spec, signal }: Create,
  urn: string,
  counted: ObservedCall,
): Promise<VirtualMachineImage> {
  const { location = '' } = spec;
  const [publisher = '', offer = '', sku = '', version = ''] = urn.split(':');
  try {
    const ask = () =>
      counted('virtual_machine_image_get', () =>
        session.ask(
          'compute',
          ({ virtualMachineImages }, options) =>
            virtualMachineImages.get(location, publisher, offer, sku, version, options),
          signal,
        ),
      );
    return await session.images.get(`${session.subscription} ${location} ${urn}`, signal, ask);
  } catch (thrown) {
    if (isAbsent(thrown)) throw new MachineError('NotFound', `VM Image ${urn} does not exist`, { cause: thrown });
    throw fromCloud(thrown, `Failed to retrieve VM Image: ${urn}: `, signal);
  }
}

/** Accepts the terms of a marketplace image and returns its purchase plan. */
async function planOf(session: Session, request: Create, counted: ObservedCall): Promise<Plan | undefined> {
  const { spec, machine, signal } = request;
  const { urn, skipMarketplaceAgreement } = spec.properties?.storageProfile?.imageReference ?? {};
  if (urn === undefined || isBlank(urn) || skipMarketplaceAgreement) return undefined;
  const found = await imageOf(session, request, urn, counted);
  const { plan } = found;
  if (!plan) return undefined;
  const known = await agreementOf(session, plan, signal, counted);
  const terms = agreement.parse(known);
  if (!isAccepted(terms)) {
    const body = { ...terms, properties: { ...terms.properties, accepted: true } };
    try {
      await counted('market_place_agreement_create', () => session.agreement(plan, signal, body));
    } catch (thrown) {
      const reported = `{Name: ${plan.name}, Product: ${plan.product}, Publisher: ${plan.publisher}}`;
      const planText = `[VMName: ${machine.metadata.name}, VMImageID: ${found.id ?? ''}, Plan: ${reported}]`;
      throw fromCloud(thrown, `Failed to accept agreement for ${planText} Err: `, signal);
    }
  }
  return { name: plan.name, product: plan.product, publisher: plan.publisher };
}

const termsOf = ({ subscription }: Session, { publisher, product, name }: Plan): string =>
  JSON.stringify([subscription, publisher, product, name]);

async function agreementOf(session: Session, plan: Plan, signal: AbortSignal, counted: ObservedCall): Promise<unknown> {
  const reported = `Plan [Name: ${plan.name}, Product: ${plan.product}, Publisher: ${plan.publisher}]`;
  try {
    const ask = () => counted('market_place_agreement_get', () => session.agreement(plan, signal));
    return await session.terms.get(termsOf(session, plan), signal, ask, isAccepted);
  } catch (thrown) {
    if (isAbsent(thrown))
      throw new MachineError('NotFound', `Marketplace Image Agreement for ${reported} does not exist`, {
        cause: thrown,
      });
    const error = fromCloud(thrown, '', signal);
    throw new MachineError(error.code, `Failed to retrieve Marketplace Image Agreement for ${reported}`, {
      cause: thrown,
      credentialsRefused: error.credentialsRefused,
    });
  }
}
