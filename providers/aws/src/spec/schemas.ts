import { z } from 'zod';

const text = (description: string) => z.string().optional().meta({ description });
const flag = (description: string) => z.boolean().optional().meta({ description });
const count = (description: string) => z.int32().optional().meta({ description });

const ebs = z.object({
  volumeType: text('type of the volume: gp2, gp3, io1, st1, sc1 or standard; required'),
  volumeSize: count('size of the volume in GiB, more than 0; required'),
  iops: count('IOPS of the volume; required for io1; 0 means not set'),
  throughput: count('throughput of a gp3 volume in MiB per second, more than 0'),
  encrypted: flag('true: the volume is encrypted with the default key of the account; default false'),
  deleteOnTermination: flag('true: EC2 deletes the volume together with its VM; default true'),
  snapshotID: text('snapshot with the initial content of the volume'),
  kmsKeyID: text('mcm accepts the key for compatibility, but EC2 uses the default key of the account'),
});

const blockDevice = z.object({
  deviceName: text('name of the disk: /root, /dev/sd[a-z] or /dev/xvd[a-c][a-z]; a single disk needs no name'),
  ebs: ebs.optional().meta({ description: 'the volume of the device; required' }),
  noDevice: text('mcm accepts this setting for compatibility, but does not send it to EC2'),
  virtualName: text('mcm accepts this setting for compatibility, but does not send it to EC2'),
});

const networkInterface = z.object({
  subnetID: text('subnet of the interface, which determines the zone; required'),
  securityGroupIDs: z
    .array(z.string())
    .optional()
    .meta({ description: 'security groups of the interface; at least one' }),
  associatePublicIPAddress: flag('true: the interface gets a public address; default: the setting of the subnet'),
  deleteOnTermination: flag('true: EC2 deletes the interface together with its VM; default true'),
  description: text('description of the interface'),
  ipv6AddressCount: count('number of IPv6 addresses of the interface at the launch of the VM'),
  primaryIpv6: flag('true: the first IPv6 address is the primary address; only with ipv6AddressCount; default true'),
  ipv6PrefixCount: count('number of IPv6 prefixes that mcm assigns to the interface after the launch of the VM'),
  interfaceType: text('type of the interface: interface, efa or efa-only'),
  deviceIndex: count('device index of the interface, 0 or more; default: the position in the list'),
  networkCardIndex: count('index of the network card, 0 or more'),
});

const iam = z.object({
  arn: text('ARN of the instance profile; set either arn or name'),
  name: text('name of the instance profile; set either name or arn'),
});

const capacityReservation = z.object({
  capacityReservationPreference: text(
    'use of matching capacity reservations: open or none; cannot be combined with the ID or group of a reservation',
  ),
  capacityReservationId: text('ID of a capacity reservation; cannot be combined with a group of reservations'),
  capacityReservationResourceGroupArn: text(
    'ARN of a group of capacity reservations; cannot be combined with the ID of a reservation',
  ),
});

const metadataOptions = z.object({
  httpEndpoint: text('enabled or disabled'),
  httpTokens: text('required: the metadata service needs a token (IMDSv2); optional: requests need no token'),
  httpProtocolIpv6: text('enabled or disabled'),
  httpPutResponseHopLimit: count('hop limit of tokens of the metadata service, 0 to 64; EC2 accepts 1 to 64'),
});

const cpuOptions = z.object({
  coreCount: count('number of CPU cores; requires threadsPerCore'),
  threadsPerCore: count('threads of each CPU core, 1 or 2; requires coreCount'),
  amdSevSnp: text('memory encryption of AMD (SEV-SNP): enabled or disabled'),
});

const placement = z.object({
  tenancy: text('tenancy of the VM: default, dedicated or host'),
  affinity: text('default or host'),
  groupId: text('placement group'),
  hostId: text('dedicated host of the VM; requires the value host in tenancy'),
  partitionNumber: count('partition of the placement group, 1 or more'),
});

/** The schema of the provider spec. */
export const AwsProviderSpec = z.object({
  apiVersion: text('mcm accepts this field for compatibility, and does not use it'),
  ami: text('image of the VMs; required'),
  region: text('region of the VMs, such as eu-north-1; required'),
  machineType: text('instance type, such as m6i.large; required'),
  iam: iam.optional().meta({ description: 'instance profile of the VMs, by name or ARN; required' }),
  keyName: text('key pair for SSH; an empty value means no key pair'),
  blockDevices: z.array(blockDevice).optional().meta({
    description: 'disks of each VM, at least one; if there are several disks, one disk must have the name /root',
  }),
  networkInterfaces: z
    .array(networkInterface)
    .optional()
    .meta({ description: 'network interfaces of each VM; at least one' }),
  tags: z.record(z.string(), z.string()).optional().meta({
    description:
      'tags of VM, volumes and interfaces; mcm finds VMs by tags with kubernetes.io/cluster/ and kubernetes.io/role/ in the key',
  }),
  capacityReservation: capacityReservation.optional().meta({ description: 'capacity reservation for the VMs' }),
  instanceMarketOptions: z
    .object({ marketType: text('market type: spot, capacity-block or interruptible-capacity-reservation') })
    .optional()
    .meta({ description: 'market type other than on-demand; if set, mcm ignores spotPrice' }),
  spotPrice: text('deprecated: use spot VMs with this maximum price; an empty value means no limit'),
  srcAndDstChecksEnabled: flag('false: the interfaces of a VM may forward packets of other addresses; default true'),
  instanceMetadataOptions: metadataOptions.optional().meta({ description: 'access of VMs to the metadata service' }),
  cpuOptions: cpuOptions.optional().meta({ description: 'cores and threads of the VMs' }),
  hibernationOptions: z
    .object({ configured: flag('true: EC2 can hibernate the VMs; EC2 requires an encrypted root volume') })
    .optional()
    .meta({
      description: 'hibernation of warm machines with the state Hibernated; the original ignores hibernationOptions',
    }),
  placement: placement.optional().meta({
    description: 'placement of the VMs; default: the annotation machine.sapcloud.io/awsPlacement of the node template',
  }),
  ebsOptimized: flag('mcm accepts this setting for compatibility, but does not send it to EC2'),
  monitoring: flag('mcm accepts this setting for compatibility, but does not send it to EC2'),
});
export type AwsProviderSpec = z.infer<typeof AwsProviderSpec>;
export type BlockDevice = z.infer<typeof blockDevice>;
export type NetworkInterface = z.infer<typeof networkInterface>;

/** The schema of the Secret. */
export const AwsCredentials = z.looseObject({
  providerAccessKeyId: text(
    'ID of the access key; required without workload identity; a single space selects the credentials of the controller',
  ),
  accessKeyID: text('another name of providerAccessKeyId'),
  providerSecretAccessKey: text(
    'secret of the access key; required without workload identity; a single space selects the credentials of the controller',
  ),
  secretAccessKey: text('another name of providerSecretAccessKey'),
  workloadIdentityTokenFile: text(
    'file with the token that mcm exchanges for credentials of the role in roleARN; enables workload identity',
  ),
  roleARN: text('ARN of the role for workload identity; required with workload identity'),
  userData: text('user data for the first boot of a VM, any bytes; required'),
});
export type AwsCredentials = z.infer<typeof AwsCredentials>;
