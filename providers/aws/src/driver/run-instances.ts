import type {
  BlockDeviceMapping,
  InstanceNetworkInterfaceSpecification,
  ResourceType,
  RunInstancesCommandInput,
} from '@aws-sdk/client-ec2';
import type { Machine } from '@mcm/api';
import { bytesOf, MachineError } from '@mcm/core/driver';
import { withoutUndefined } from '@mcm/kube';
import type { AwsProviderSpec, BlockDevice, NetworkInterface } from '../spec/schemas.ts';
import { placementOf } from './placement.ts';
import { ROOT_DEVICE } from './validate.ts';

export const NAME_TAG = 'Name';
const TAGGED: readonly ResourceType[] = ['instance', 'volume', 'network-interface'];

export interface Launch {
  readonly machine: Machine;
  readonly spec: AwsProviderSpec;
  readonly userData: Uint8Array;
  readonly rootDevice: string | undefined;
  /** If two requests have the same client token, EC2 launches only one VM and returns this VM twice. */
  readonly clientToken: string;
}

type Market = NonNullable<RunInstancesCommandInput['InstanceMarketOptions']>;
type Input = Omit<RunInstancesCommandInput, 'MinCount' | 'MaxCount'>;

/** Removes properties whose value is an empty text or undefined. */
const present = (members: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== ''));

/** @throws MachineError */
export function runInstancesInput(launch: Launch): RunInstancesCommandInput {
  const { machine, spec, userData, clientToken } = launch;
  const market = marketOptions(spec);
  const optional: Input = {
    ...metadataOptions(spec),
    ...cpuOptions(spec),
    ...capacityReservation(spec),
    ...withoutUndefined({
      InstanceMarketOptions: market,
      KeyName: spec.keyName || undefined,
      HibernationOptions: hibernationOptions(spec),
    }),
  };
  const placement = placementOf(spec, machine);
  return {
    ...optional,
    ...withoutUndefined({ Placement: placement }),
    BlockDeviceMappings: blockDevices(launch),
    ImageId: spec.ami,
    InstanceType: spec.machineType as NonNullable<RunInstancesCommandInput['InstanceType']>,
    MinCount: 1,
    MaxCount: 1,
    ClientToken: clientToken,
    UserData: bytesOf(userData).toString('base64'),
    NetworkInterfaces: (spec.networkInterfaces ?? []).map(networkInterface),
    IamInstanceProfile: spec.iam?.name ? { Name: spec.iam.name } : { Arn: spec.iam?.arn },
    TagSpecifications: tagSpecifications(
      spec,
      machine.metadata.name,
      // A spot request is a separate resource of EC2, and needs tags for bills and audits.
      market?.MarketType === 'spot' ? [...TAGGED, 'spot-instances-request'] : TAGGED,
    ),
  };
}

function tagSpecifications(
  { tags = {} }: AwsProviderSpec,
  name: string,
  tagged: readonly ResourceType[],
): RunInstancesCommandInput['TagSpecifications'] {
  const own = Object.entries(tags).filter(([key]) => key !== NAME_TAG);
  const all = [...own.toSorted(([a], [b]) => (a < b ? -1 : 1)), [NAME_TAG, name] as const];
  return tagged.map((ResourceType) => ({ ResourceType, Tags: all.map(([Key, Value]) => ({ Key, Value })) }));
}

/** Returns the disks of the request. A single device is always the root disk, so its device name is ignored. */
function blockDevices({ spec: { blockDevices: devices = [] }, rootDevice }: Launch): BlockDeviceMapping[] {
  if (devices.length === 0) throw new MachineError('InvalidArgument', 'no block devices passed');
  return devices.map((device) => {
    const isRoot = device.deviceName === ROOT_DEVICE || devices.length === 1;
    if (isRoot && rootDevice === undefined) throw new MachineError('InvalidArgument', 'rootDeviceName cannot be nil');
    return { DeviceName: isRoot ? rootDevice : device.deviceName, Ebs: volume(device) };
  });
}

const volume = ({ ebs = {} }: BlockDevice): BlockDeviceMapping['Ebs'] => ({
  Encrypted: ebs.encrypted ?? false,
  VolumeSize: ebs.volumeSize,
  VolumeType: ebs.volumeType as NonNullable<BlockDeviceMapping['Ebs']>['VolumeType'],
  DeleteOnTermination: ebs.deleteOnTermination ?? true,
  Iops: ebs.iops || undefined,
  Throughput: ebs.throughput,
  SnapshotId: ebs.snapshotID,
});

function networkInterface(nic: NetworkInterface, index: number): InstanceNetworkInterfaceSpecification {
  const { associatePublicIPAddress, description, ipv6AddressCount, interfaceType, networkCardIndex } = nic;
  return {
    DeviceIndex: nic.deviceIndex ?? index,
    SubnetId: nic.subnetID,
    Groups: nic.securityGroupIDs,
    DeleteOnTermination: nic.deleteOnTermination ?? true,
    NetworkCardIndex: networkCardIndex,
    InterfaceType: interfaceType,
    AssociatePublicIpAddress: associatePublicIPAddress,
    Description: description,
    Ipv6AddressCount: ipv6AddressCount,
    PrimaryIpv6: ipv6AddressCount === undefined ? undefined : (nic.primaryIpv6 ?? true),
  };
}

function metadataOptions({ instanceMetadataOptions: options }: AwsProviderSpec): Input {
  if (!options) return {};
  const { httpEndpoint, httpTokens, httpProtocolIpv6, httpPutResponseHopLimit } = options;
  return {
    MetadataOptions: present({
      HttpEndpoint: httpEndpoint,
      HttpTokens: httpTokens,
      HttpProtocolIpv6: httpProtocolIpv6,
      HttpPutResponseHopLimit: httpPutResponseHopLimit,
    }),
  };
}

function cpuOptions({ cpuOptions: options }: AwsProviderSpec): Input {
  if (!options) return {};
  const { coreCount, threadsPerCore, amdSevSnp } = options;
  const both = coreCount !== undefined && threadsPerCore !== undefined;
  return {
    CpuOptions: {
      ...present({ AmdSevSnp: amdSevSnp }),
      ...withoutUndefined({
        CoreCount: both ? coreCount : undefined,
        ThreadsPerCore: both ? threadsPerCore : undefined,
      }),
    },
  };
}

const hibernationOptions = ({ hibernationOptions: wanted }: AwsProviderSpec): Input['HibernationOptions'] =>
  wanted?.configured === undefined ? undefined : { Configured: wanted.configured };

function capacityReservation({ capacityReservation: wanted }: AwsProviderSpec): Input {
  if (!wanted) return {};
  const { capacityReservationId: id, capacityReservationResourceGroupArn: arn } = wanted;
  const target = withoutUndefined({ CapacityReservationId: id, CapacityReservationResourceGroupArn: arn });
  return {
    CapacityReservationSpecification: {
      ...present({ CapacityReservationPreference: wanted.capacityReservationPreference }),
      ...withoutUndefined({ CapacityReservationTarget: Object.keys(target).length > 0 ? target : undefined }),
    },
  };
}

/** Returns the market of the request. If no market is set, the deprecated field `spotPrice` determines the market. */
function marketOptions({ instanceMarketOptions, spotPrice }: AwsProviderSpec): Market | undefined {
  if (instanceMarketOptions) return { MarketType: instanceMarketOptions.marketType as Market['MarketType'] };
  if (spotPrice === undefined) return undefined;
  return {
    MarketType: 'spot',
    SpotOptions: { SpotInstanceType: 'one-time', MaxPrice: spotPrice || undefined },
  };
}
