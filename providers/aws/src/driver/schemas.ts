import { z } from 'zod';

/** A 32-bit number, as EC2's API takes them. */
const count = z.int32();

const ebs = z.object({
  volumeType: z.string().optional().meta({ description: 'gp2, gp3, io1, st1, sc1 or standard' }),
  volumeSize: count.optional().meta({ description: 'GiB' }),
  /** Needed for io1; 0 is as if it were not there. */
  iops: count.optional(),
  /** MiB a second. */
  throughput: count.optional(),
  encrypted: z.boolean().optional(),
  deleteOnTermination: z.boolean().optional().meta({ description: 'default true' }),
  snapshotID: z.string().optional(),
  /** Taken and not sent, as the original: the account's default key encrypts. */
  kmsKeyID: z.string().optional(),
});

const blockDevice = z.object({
  deviceName: z.string().optional().meta({ description: '/root for the root disk; a single device may have no name' }),
  ebs: ebs.optional(),
  /** Taken and not sent, as the original. */
  noDevice: z.string().optional(),
  /** Taken and not sent, as the original. */
  virtualName: z.string().optional(),
});

const networkInterface = z.object({
  subnetID: z.string().optional(),
  securityGroupIDs: z.array(z.string()).optional(),
  associatePublicIPAddress: z.boolean().optional(),
  deleteOnTermination: z.boolean().optional().meta({ description: 'default true' }),
  description: z.string().optional(),
  ipv6AddressCount: count.optional(),
  primaryIpv6: z.boolean().optional().meta({ description: 'default true where ipv6AddressCount is set' }),
  ipv6PrefixCount: count.optional().meta({ description: 'assigned after the launch' }),
  interfaceType: z.string().optional().meta({ description: 'interface, efa or efa-only' }),
  deviceIndex: count.optional().meta({ description: 'default: the position in the list' }),
  networkCardIndex: count.optional(),
});

/** `MachineClass.providerSpec` of provider `AWS`: types only, the rules are in `validate.ts`. */
export const AwsProviderSpec = z.object({
  apiVersion: z.string().optional(),
  ami: z.string().optional(),
  region: z.string().optional(),
  machineType: z.string().optional(),
  iam: z.object({ arn: z.string().optional(), name: z.string().optional() }).optional(),
  keyName: z.string().optional(),
  blockDevices: z.array(blockDevice).optional(),
  networkInterfaces: z.array(networkInterface).optional(),
  tags: z.record(z.string(), z.string()).optional(),
  capacityReservation: z
    .object({
      capacityReservationPreference: z.string().optional(),
      capacityReservationId: z.string().optional(),
      capacityReservationResourceGroupArn: z.string().optional(),
    })
    .optional(),
  instanceMarketOptions: z.object({ marketType: z.string().optional() }).optional(),
  /** Deprecated; empty: spot without a price limit. */
  spotPrice: z.string().optional(),
  srcAndDstChecksEnabled: z.boolean().optional(),
  instanceMetadataOptions: z
    .object({
      httpEndpoint: z.string().optional(),
      httpTokens: z.string().optional(),
      httpProtocolIpv6: z.string().optional(),
      httpPutResponseHopLimit: count.optional(),
    })
    .optional(),
  cpuOptions: z
    .object({ coreCount: count.optional(), threadsPerCore: count.optional(), amdSevSnp: z.string().optional() })
    .optional(),
  placement: z
    .object({
      tenancy: z.string().optional(),
      affinity: z.string().optional(),
      groupId: z.string().optional(),
      hostId: z.string().optional(),
      partitionNumber: count.optional(),
    })
    .optional(),
  /** Taken and not sent, as the original. */
  ebsOptimized: z.boolean().optional(),
  /** Taken and not sent, as the original. */
  monitoring: z.boolean().optional(),
});
export type AwsProviderSpec = z.infer<typeof AwsProviderSpec>;
export type BlockDevice = z.infer<typeof blockDevice>;
export type NetworkInterface = z.infer<typeof networkInterface>;

/** Decoded data of the class's Secrets; each key has two names, the first wins. */
export const AwsCredentials = z.looseObject({
  providerAccessKeyId: z.string().optional(),
  accessKeyID: z.string().optional(),
  providerSecretAccessKey: z.string().optional(),
  secretAccessKey: z.string().optional(),
  /** Its presence means web identity: the file's token is exchanged for keys of `roleARN`. */
  workloadIdentityTokenFile: z.string().optional(),
  roleARN: z.string().optional(),
  userData: z.string().optional(),
});
export type AwsCredentials = z.infer<typeof AwsCredentials>;
