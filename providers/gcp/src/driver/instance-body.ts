import { bytesOf, isText, MachineError, trimSpace } from '@mcm/core/driver';
import { withoutUndefined } from '@mcm/kube';
import type { Disk, GcpProviderSpec, NetworkInterface } from '../spec/schemas.ts';
import { SCRATCH, USER_DATA_METADATA } from './validate.ts';

/** The metadata key from which cloud-init reads the encoding of the user data. */
const ENCODING_METADATA = 'user-data-encoding';
const BASE64 = 'base64';

export interface Launch {
  readonly name: string;
  readonly project: string;
  readonly spec: GcpProviderSpec;
  readonly userData: Uint8Array;
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === '' || value === 0 || value === false || (Array.isArray(value) && value.length === 0);

const members = (all: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(all).filter(([, value]) => !isEmpty(value)));

/** Formats a map like the Go client. */
const map = (value: Readonly<Record<string, string>> | undefined): object | undefined =>
  value && Object.keys(value).length > 0 ? value : undefined;

/** Formats a 64-bit number as a text, as the API of Google requires. */
const int64 = (value: number | undefined): string | undefined => (value ? String(value) : undefined);

export function instanceBody({ name, project, spec, userData }: Launch): Record<string, unknown> {
  const { region = '', zone = '', scheduling = {}, gpu, shieldedInstanceConfiguration: shielded } = spec;
  return members({
    name,
    machineType: `zones/${zone}/machineTypes/${spec.machineType ?? ''}`,
    canIpForward: spec.canIpForward,
    deletionProtection: spec.deletionProtection,
    description: spec.description,
    minCpuPlatform: spec.minCpuPlatform,
    labels: map(spec.labels),
    tags: members({ items: spec.tags }),
    scheduling: {
      automaticRestart: scheduling.automaticRestart ?? false,
      ...members({ onHostMaintenance: scheduling.onHostMaintenance, preemptible: scheduling.preemptible }),
    },
    guestAccelerators: gpu && [
      members({
        acceleratorType: `projects/${project}/zones/${zone}/acceleratorTypes/${gpu.acceleratorType ?? ''}`,
        acceleratorCount: gpu.count,
      }),
    ],
    shieldedInstanceConfig:
      shielded &&
      members({
        enableIntegrityMonitoring: shielded.integrityMonitoring,
        enableSecureBoot: shielded.secureBoot,
        enableVtpm: shielded.vtpm,
      }),
    advancedMachineFeatures: spec.advancedMachineFeatures && members(spec.advancedMachineFeatures),
    disks: (spec.disks ?? []).map((disk) => diskBody(disk, zone)),
    metadata: { items: metadataItems(spec, userData) },
    networkInterfaces: (spec.networkInterfaces ?? []).map((nic) => networkBody(nic, project, region)),
    serviceAccounts: (spec.serviceAccounts ?? []).map((account) => members(account)),
  });
}

function diskBody(disk: Disk, zone: string): Record<string, unknown> {
  const { encryption } = disk;
  const scratch = disk.type === SCRATCH;
  const diskType = `zones/${zone}/diskTypes/${scratch ? 'local-ssd' : (disk.type ?? '')}`;
  return members({
    autoDelete: disk.autoDelete ?? true,
    type: scratch ? SCRATCH : 'PERSISTENT',
    diskEncryptionKey:
      encryption &&
      members({
        kmsKeyName: trimSpace(encryption.kmsKeyName ?? ''),
        kmsKeyServiceAccount: trimSpace(encryption.kmsKeyServiceAccount ?? ''),
      }),
    ...(scratch
      ? { interface: disk.interface, initializeParams: { diskType } }
      : {
          boot: disk.boot,
          initializeParams: members({
            diskType,
            diskSizeGb: int64(disk.sizeGb),
            labels: map(disk.labels),
            sourceImage: disk.image,
            provisionedIops: int64(disk.provisionedIops),
            provisionedThroughput: int64(disk.provisionedThroughput),
            storagePool: disk.storagePool,
          }),
        }),
  });
}

function metadataItems({ metadata = [] }: GcpProviderSpec, userData: Uint8Array): object[] {
  const own = metadata.map(({ key: name, value }) =>
    withoutUndefined({
      key: name || undefined,
      value,
    }),
  );
  return [...userDataItems(metadata, bytesOf(userData)), ...own];
}

/**
 * If the user data is text, it is cloud-config, or a script that runs at every start. Binary user data such as gzip is
 * encoded in base64, and a second metadata item contains the encoding.
 * @throws MachineError if the user data is binary and the class sets another encoding
 */
function userDataItems(metadata: NonNullable<GcpProviderSpec['metadata']>, userData: Buffer): object[] {
  if (isText(userData)) {
    const text = userData.toString('utf8');
    return [{ key: text.startsWith('#cloud-config') ? USER_DATA_METADATA : 'startup-script', value: text }];
  }
  const own = metadata.findIndex(({ key }) => key === ENCODING_METADATA);
  const said = metadata[own]?.value;
  if (own >= 0 && said !== BASE64)
    throw new MachineError(
      'InvalidArgument',
      `providerSpec.metadata[${own}].value: is ${JSON.stringify(said ?? '')}, but mcm sends binary user data as ${BASE64}; remove the entry`,
    );
  return [
    { key: USER_DATA_METADATA, value: userData.toString(BASE64) },
    ...(own >= 0 ? [] : [{ key: ENCODING_METADATA, value: BASE64 }]),
  ];
}

function networkBody(nic: NetworkInterface, project: string, region: string): Record<string, unknown> {
  const { network, subnetwork, stackType, ipv6accessType, ipCidrRange, subnetworkRangeName } = nic;
  const aliased = stackType === 'IPV4_IPV6' || nic.useAliasIPs === true;
  return members({
    accessConfigs: nic.disableExternalIP ? undefined : [{}],
    network: network && `projects/${project}/global/networks/${network}`,
    subnetwork: subnetwork && `regions/${region}/subnetworks/${subnetwork}`,
    stackType: aliased ? stackType : undefined,
    ipv6AccessType: aliased ? ipv6accessType : undefined,
    aliasIpRanges: aliased ? [members({ ipCidrRange, subnetworkRangeName })] : undefined,
  });
}
