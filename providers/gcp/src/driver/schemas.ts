import { z } from 'zod';

const encryption = z.object({ kmsKeyName: z.string().optional(), kmsKeyServiceAccount: z.string().optional() });

const disk = z.object({
  type: z.string().optional().meta({ description: 'SCRATCH for a local SSD, else the name of a disk type' }),
  interface: z.string().optional().meta({ description: 'of a SCRATCH disk: NVME or SCSI' }),
  boot: z.boolean().optional(),
  image: z.string().optional(),
  autoDelete: z.boolean().optional().meta({ description: 'default true' }),
  sizeGb: z.int().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  encryption: encryption.optional(),
  provisionedIops: z.int().optional(),
  provisionedThroughput: z.int().optional(),
  storagePool: z.string().optional(),
});

const networkInterface = z.object({
  network: z.string().optional(),
  subnetwork: z.string().optional(),
  disableExternalIP: z.boolean().optional(),
  stackType: z.string().optional(),
  ipv6accessType: z.string().optional(),
  useAliasIPs: z.boolean().optional(),
  ipCidrRange: z.string().optional(),
  subnetworkRangeName: z.string().optional(),
});

/** `MachineClass.providerSpec` of provider `GCP`: types only, the rules are in `validate.ts`. */
export const GcpProviderSpec = z.object({
  apiVersion: z.string().optional(),
  region: z.string().optional(),
  zone: z.string().optional(),
  machineType: z.string().optional(),
  canIpForward: z.boolean().optional(),
  deletionProtection: z.boolean().optional(),
  description: z.string().optional(),
  disks: z.array(disk).optional(),
  gpu: z.object({ acceleratorType: z.string().optional(), count: z.int().optional() }).optional(),
  labels: z.record(z.string(), z.string()).optional(),
  metadata: z.array(z.object({ key: z.string().optional(), value: z.string().optional() })).optional(),
  minCpuPlatform: z.string().optional(),
  networkInterfaces: z.array(networkInterface).optional(),
  scheduling: z
    .object({
      automaticRestart: z.boolean().optional(),
      onHostMaintenance: z.string().optional(),
      preemptible: z.boolean().optional(),
    })
    .optional(),
  serviceAccounts: z
    .array(z.object({ email: z.string().optional(), scopes: z.array(z.string()).optional() }))
    .optional(),
  tags: z.array(z.string()).optional(),
  shieldedInstanceConfiguration: z
    .object({
      integrityMonitoring: z.boolean().optional(),
      secureBoot: z.boolean().optional(),
      vtpm: z.boolean().optional(),
    })
    .optional(),
  advancedMachineFeatures: z.object({ enableNestedVirtualization: z.boolean().optional() }).optional(),
});
export type GcpProviderSpec = z.infer<typeof GcpProviderSpec>;
export type Disk = z.infer<typeof disk>;
export type NetworkInterface = z.infer<typeof networkInterface>;

/** Decoded data of the class's Secrets. One of the first three is needed, the first that is there counts. */
export const GcpCredentials = z.looseObject({
  serviceAccountJSON: z.string().optional(),
  'serviceaccount.json': z.string().optional(),
  credentialsConfig: z.string().optional(),
  /** Project of credentials that name none. */
  projectID: z.string().optional(),
  userData: z.string().optional(),
});
export type GcpCredentials = z.infer<typeof GcpCredentials>;
