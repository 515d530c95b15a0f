import { z } from 'zod';

const text = (description: string) => z.string().optional().meta({ description });
const flag = (description: string) => z.boolean().optional().meta({ description });
const whole = (description: string) => z.int().optional().meta({ description });
const texts = (description: string) => z.record(z.string(), z.string()).optional().meta({ description });

const encryption = z.object({
  kmsKeyName: text('key of the key management service; required'),
  kmsKeyServiceAccount: text('service account with access to the key'),
});

const disk = z.object({
  type: text('SCRATCH for a local SSD, otherwise a disk type such as pd-balanced'),
  interface: text('interface of a SCRATCH disk: NVME or SCSI'),
  boot: flag('true: the VM boots from this disk'),
  image: text('image of the disk, a path or URL; required for the boot disk'),
  autoDelete: flag('true: the cloud deletes the disk together with its VM; default true'),
  sizeGb: whole('size in GB; ignored for SCRATCH'),
  labels: texts('labels of the disk; not for SCRATCH'),
  encryption: encryption.optional().meta({ description: 'customer-managed encryption key' }),
  provisionedIops: whole('operations per second, for disk types with this setting; 0 means not set'),
  provisionedThroughput: whole('MB per second, for disk types with this setting; 0 means not set'),
  storagePool: text('storage pool of the disk, a path or URL'),
});

const networkInterface = z.object({
  network: text('network of the project; network or subnetwork is required'),
  subnetwork: text('subnetwork of the region; network or subnetwork is required'),
  disableExternalIP: flag('true: the VM gets no public address; default false'),
  stackType: text('IPV4_ONLY or IPV4_IPV6'),
  ipv6accessType: text('INTERNAL or EXTERNAL; only with IPV4_IPV6 or useAliasIPs'),
  useAliasIPs: flag('true: the interface gets an alias range'),
  ipCidrRange: text('size of the alias range, such as /24'),
  subnetworkRangeName: text('secondary range that contains the alias range'),
});

const gpu = z.object({
  acceleratorType: text('type of the GPUs, such as nvidia-tesla-t4; required'),
  count: whole('number of GPUs of each VM, at least one'),
});

const metadata = z.object({
  key: text('name of the entry; user-data is forbidden, because the user data comes from the Secret'),
  value: text('value of the entry'),
});

const scheduling = z.object({
  automaticRestart: flag('true: the cloud restarts a VM after the cloud stopped the VM'),
  onHostMaintenance: text('MIGRATE or TERMINATE; TERMINATE with a GPU; required'),
  preemptible: flag('true: cheaper VMs that the cloud can stop at any time'),
});

const serviceAccount = z.object({
  email: text('address of the account'),
  scopes: z.array(z.string()).optional().meta({ description: 'scopes of the account, as URLs' }),
});

const shieldedInstance = z.object({
  integrityMonitoring: flag('true: the cloud compares each boot with a trusted baseline'),
  secureBoot: flag('true: the VM starts only signed boot software'),
  vtpm: flag('true: the VM has a virtual trusted platform module'),
});

/** The schema contains only types; the rules are in `validate.ts`. */
export const GcpProviderSpec = z.object({
  apiVersion: text('accepted for compatibility, not used'),
  region: text('region of the subnetworks, such as europe-north1; required'),
  zone: text('zone of the VMs, such as europe-north1-b; required'),
  machineType: text('type of the VMs as a name without a path, such as n2-standard-4; required'),
  canIpForward: flag('true: VMs may forward packets of other addresses'),
  deletionProtection: flag('true: the cloud refuses to delete the VMs, even if mcm requests the deletion'),
  description: text('description of each VM'),
  disks: z.array(disk).optional().meta({ description: 'disks of each VM; at least one' }),
  gpu: gpu.optional().meta({ description: 'GPUs of each VM; requires scheduling.onHostMaintenance TERMINATE' }),
  labels: texts('labels of the VMs'),
  metadata: z.array(metadata).optional().meta({ description: 'entries that the VM reads from the metadata server' }),
  minCpuPlatform: text('minimum CPU platform, such as Intel Ice Lake'),
  networkInterfaces: z
    .array(networkInterface)
    .optional()
    .meta({ description: 'network interfaces of each VM; at least one' }),
  scheduling: scheduling.optional().meta({ description: 'behavior of a VM during maintenance; required' }),
  serviceAccounts: z.array(serviceAccount).optional().meta({ description: 'service accounts for programs on the VM' }),
  tags: z.array(z.string()).optional().meta({
    description:
      'network tags; one must contain kubernetes-io-cluster- and one kubernetes-io-role-; mcm finds VMs by these tags',
  }),
  shieldedInstanceConfiguration: shieldedInstance
    .optional()
    .meta({ description: 'protection of the boot process (Shielded VM)' }),
  advancedMachineFeatures: z
    .object({ enableNestedVirtualization: flag('true: VMs may run nested VMs') })
    .optional()
    .meta({ description: 'features of the processor' }),
});
export type GcpProviderSpec = z.infer<typeof GcpProviderSpec>;
export type Disk = z.infer<typeof disk>;
export type NetworkInterface = z.infer<typeof networkInterface>;

/** The Secret must have one of the first three keys. The driver uses the first existing key. */
export const GcpCredentials = z.looseObject({
  serviceAccountJSON: text(
    'JSON of a service account key or an external_account; required under one of its three names',
  ),
  'serviceaccount.json': text('another name of serviceAccountJSON'),
  credentialsConfig: text('another name of serviceAccountJSON'),
  projectID: text('ID of the project; required if the JSON contains no project'),
  userData: text(
    'script that a VM runs at its first boot; the key is required, and its value can be empty. mcm sends other bytes than UTF-8 as base64, for cloud-init',
  ),
});
export type GcpCredentials = z.infer<typeof GcpCredentials>;
