import { z } from 'zod';

const text = (description: string) => z.string().optional().meta({ description });
const flag = (description: string) => z.boolean().optional().meta({ description });
/** A 32-bit number, as EC2's API takes them. */
const count = (description: string) => z.int32().optional().meta({ description });

const ebs = z.object({
  volumeType: text('gp2, gp3, io1, st1, sc1 or standard; needed'),
  volumeSize: count('GiB, more than 0; needed'),
  iops: count('operations a second; needed for io1, 0 is as if it were not there'),
  throughput: count('MiB a second, for gp3; more than 0'),
  encrypted: flag('whether the volume is encrypted, with the key that is the account’s default; default false'),
  deleteOnTermination: flag('whether the volume goes with its VM; default true'),
  snapshotID: text('snapshot that the volume is filled from'),
  kmsKeyID: text('taken and not sent, as by the original: the account’s default key encrypts'),
});

const blockDevice = z.object({
  deviceName: text(
    '/root for the root disk, else /dev/sd[a-z] or /dev/xvd[a-c][a-z]; a single device may have no name',
  ),
  ebs: ebs.optional().meta({ description: 'the volume behind the device; needed' }),
  noDevice: text('taken and not sent, as by the original'),
  virtualName: text('taken and not sent, as by the original'),
});

const networkInterface = z.object({
  subnetID: text('subnet, which decides the zone; needed'),
  securityGroupIDs: z.array(z.string()).optional().meta({ description: 'security groups; at least one' }),
  associatePublicIPAddress: flag('whether a public address is given; default: as the subnet says'),
  deleteOnTermination: flag('whether the interface goes with its VM; default true'),
  description: text('text kept with the interface'),
  ipv6AddressCount: count('IPv6 addresses given at launch'),
  primaryIpv6: flag(
    'whether the first IPv6 address is the primary one; looked at and default true where ipv6AddressCount is set',
  ),
  ipv6PrefixCount: count('IPv6 prefixes, assigned after the launch'),
  interfaceType: text('interface, efa or efa-only'),
  deviceIndex: count('position at the VM, 0 or more; default: the position in the list'),
  networkCardIndex: count('network card that it is of, 0 or more'),
});

const iam = z.object({
  arn: text('the profile’s ARN; this or name'),
  name: text('the profile’s name; this or arn'),
});

const capacityReservation = z.object({
  capacityReservationPreference: text('open or none; not together with one of the two below'),
  capacityReservationId: text('one reservation; not together with a group'),
  capacityReservationResourceGroupArn: text('a group of reservations; not together with one'),
});

const metadataOptions = z.object({
  httpEndpoint: text('enabled or disabled'),
  httpTokens: text('required (IMDSv2 only) or optional'),
  httpProtocolIpv6: text('enabled or disabled'),
  httpPutResponseHopLimit: count('hops that a token may travel, 0 to 64; EC2 itself takes 1 to 64'),
});

const cpuOptions = z.object({
  coreCount: count('cores; together with threadsPerCore'),
  threadsPerCore: count('1 or 2; together with coreCount'),
  amdSevSnp: text('enabled or disabled: memory encryption of AMD'),
});

const placement = z.object({
  tenancy: text('default, dedicated or host'),
  affinity: text('default or host'),
  groupId: text('placement group'),
  hostId: text('dedicated host; with tenancy host only'),
  partitionNumber: count('partition of the placement group, 1 or more'),
});

/** `MachineClass.providerSpec` of provider `AWS`: types only, the rules are in `validate.ts`. */
export const AwsProviderSpec = z.object({
  apiVersion: text('taken for compatibility, not looked at'),
  ami: text('image of the VMs; needed'),
  region: text('region of the VMs, eu-north-1; needed'),
  machineType: text('instance type, m6i.large; needed'),
  iam: iam.optional().meta({ description: 'instance profile, by name or ARN; needed' }),
  keyName: text('key pair for SSH; empty is as if it were not there'),
  blockDevices: z
    .array(blockDevice)
    .optional()
    .meta({ description: 'disks of each VM; at least one, of several one is /root' }),
  networkInterfaces: z
    .array(networkInterface)
    .optional()
    .meta({ description: 'network interfaces of each VM; at least one' }),
  tags: z.record(z.string(), z.string()).optional().meta({
    description:
      'tags of VM, volumes and interfaces; one key holds kubernetes.io/cluster/ and one kubernetes.io/role/, by which VMs are found',
  }),
  capacityReservation: capacityReservation.optional().meta({ description: 'capacity reserved beforehand' }),
  instanceMarketOptions: z
    .object({ marketType: text('spot, capacity-block or interruptible-capacity-reservation') })
    .optional()
    .meta({ description: 'another market than on demand; spotPrice is not looked at beside it' }),
  spotPrice: text('deprecated: VMs of the spot market, at this price at most; empty: without a limit'),
  srcAndDstChecksEnabled: flag('false: interfaces pass packets of other addresses, set after the launch; default true'),
  instanceMetadataOptions: metadataOptions.optional().meta({ description: 'how VMs may ask for their metadata' }),
  cpuOptions: cpuOptions.optional().meta({ description: 'cores and threads of the VMs' }),
  placement: placement.optional().meta({
    description: 'where VMs run; absent: the annotation machine.sapcloud.io/awsPlacement of the node template counts',
  }),
  ebsOptimized: flag('taken and not sent, as by the original'),
  monitoring: flag('taken and not sent, as by the original'),
});
export type AwsProviderSpec = z.infer<typeof AwsProviderSpec>;
export type BlockDevice = z.infer<typeof blockDevice>;
export type NetworkInterface = z.infer<typeof networkInterface>;

/** Decoded data of the class's Secrets; each key has two names, the first wins. */
export const AwsCredentials = z.looseObject({
  providerAccessKeyId: text('id of the access key; needed without workload identity'),
  accessKeyID: text('another name of providerAccessKeyId'),
  providerSecretAccessKey: text('secret of the access key; needed without workload identity'),
  secretAccessKey: text('another name of providerSecretAccessKey'),
  workloadIdentityTokenFile: text(
    'file whose token is exchanged for keys of roleARN; its presence means workload identity',
  ),
  roleARN: text('role that workload identity takes on; needed then'),
  userData: text('what a VM runs at its first boot, any bytes; needed'),
});
export type AwsCredentials = z.infer<typeof AwsCredentials>;
