import { type FoundInstance, MachineError, type ObservedCall } from '@mcm/core/driver';
import type { Ec2, Instance } from '../ec2/client.ts';
import type { AwsProviderSpec } from '../spec/schemas.ts';
import { fromCloud } from './errors.ts';
import { findById, type OnMachine } from './lookup.ts';

type Interface = NonNullable<Instance['NetworkInterfaces']>[number];

/** Returns true for an EFA interface. EC2 has no source/destination check for EFA interfaces. */
const isEfa = ({ InterfaceType: type }: Interface): boolean => type === 'efa' || type === 'efa-only';

interface PrefixGap {
  readonly networkInterface: Interface;
  readonly index: number;
  readonly wanted: number;
  readonly present: number;
}

/**
 * Returns the position of an interface in the provider spec, by its device index and network card. The original ignores
 * the network card, so an index can match two interfaces.
 */
function positionOf({ networkInterfaces = [] }: AwsProviderSpec, { Attachment }: Interface): number {
  const { DeviceIndex, NetworkCardIndex = 0 } = Attachment ?? {};
  if (DeviceIndex === undefined) return -1;
  return networkInterfaces.findIndex(
    ({ deviceIndex, networkCardIndex = 0 }, i) =>
      (deviceIndex ?? i) === DeviceIndex && networkCardIndex === NetworkCardIndex,
  );
}

/**
 * Returns the network interfaces that have too few IPv6 prefixes. Additional prefixes are accepted, because the driver
 * can only add prefixes.
 */
function prefixGaps(spec: AwsProviderSpec, instance: Instance): PrefixGap[] {
  return (instance.NetworkInterfaces ?? []).flatMap((networkInterface) => {
    const index = positionOf(spec, networkInterface);
    const wanted = spec.networkInterfaces?.[index]?.ipv6PrefixCount;
    const present = networkInterface.Ipv6Prefixes?.length ?? 0;
    if (wanted === undefined || wanted <= present) return [];
    return [{ networkInterface, index, wanted, present }];
  });
}

const isChecked = (each: Interface): boolean => !isEfa(each) && each.SourceDestCheck === true;

/**
 * Checks that a VM is initialized.
 * @param found the VM that the error contains
 * @throws `Uninitialized` if the VM is not fully initialized
 */
export function requireInitialized({ spec, machine }: OnMachine, instance: Instance, found: FoundInstance): void {
  const vm = `VM "${instance.InstanceId ?? ''}" associated with machine "${machine.metadata.name}"`;
  const checked = (instance.NetworkInterfaces ?? []).some(isChecked);
  if (spec.srcAndDstChecksEnabled === false && checked)
    throw new MachineError(
      'Uninitialized',
      `${vm} has SourceDestCheck=true on a non-EFA interface despite providerSpec.SrcAndDstChecksEnabled=false`,
      { found: [found] },
    );
  const [gap] = prefixGaps(spec, instance);
  if (gap)
    throw new MachineError(
      'Uninitialized',
      `${vm} has no ipv6 prefixes assigned on network interface "${gap.networkInterface.NetworkInterfaceId ?? ''}" despite providerSpec.NetworkInterfaces[${gap.index}].Ipv6PrefixCount=${gap.wanted}`,
      { found: [found] },
    );
}

/**
 * Disables the source/destination check and assigns IPv6 prefixes, as the provider spec requires.
 * @param fresh the instance, if the driver has read it recently
 * @throws `Uninitialized`
 */
export async function initializeInstance(
  ec2: Ec2,
  request: OnMachine,
  instance: Instance,
  timed: ObservedCall,
  fresh = false,
): Promise<void> {
  const { spec, signal } = request;
  try {
    const checked = instance.SourceDestCheck !== false || (instance.NetworkInterfaces ?? []).some(isChecked);
    if (spec.srcAndDstChecksEnabled === false && checked)
      await timed('instance_disable_source_dest_check', () =>
        disableChecks(ec2, instance.InstanceId ?? '', signal, fresh ? instance : undefined),
      );
    for (const { networkInterface, wanted, present } of prefixGaps(spec, instance))
      await ec2.assignPrefixes(networkInterface.NetworkInterfaceId, wanted - present, signal);
  } catch (thrown) {
    throw fromCloud(thrown, signal, 'Uninitialized');
  }
}

/**
 * Disables the source/destination check of each network interface.
 * @param fresh the instance, if the driver has read it
 */
async function disableChecks(ec2: Ec2, id: string, signal: AbortSignal, fresh?: Instance): Promise<void> {
  const instance = fresh ?? (await findById(ec2, id, signal));
  const interfaces = instance?.NetworkInterfaces ?? [];
  if (!instance) throw new Error(`no instance found for instanceID ${id}`);
  if (interfaces.length === 0) throw new Error(`no network interfaces found for instanceID ${id}`);
  let last: { readonly error: unknown } | undefined;
  for (const each of interfaces.filter((one) => !isEfa(one))) {
    try {
      await ec2.disableSourceDestCheck(each.NetworkInterfaceId, signal);
    } catch (error) {
      signal.throwIfAborted();
      last = { error };
    }
  }
  if (last) throw last.error;
}
