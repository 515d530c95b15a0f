import { z } from 'zod';

const text = (description: string) => z.string().optional().meta({ description });
const flag = (description: string) => z.boolean().optional().meta({ description });
const whole = (description: string) => z.int().optional().meta({ description });
const texts = (description: string) => z.record(z.string(), z.string()).optional().meta({ description });

const encryption = z.object({
  kmsKeyName: text('key of the key management service; needed'),
  kmsKeyServiceAccount: text('service account that asks for the key'),
});

const disk = z.object({
  type: text('SCRATCH for a local SSD, else the name of a disk type, pd-balanced'),
  interface: text('of a SCRATCH disk: NVME or SCSI'),
  boot: flag('whether the VM boots from this disk'),
  image: text('image that the disk is filled with, a path or URL; needed for the disk to boot from'),
  autoDelete: flag('whether the disk goes with its VM; default true'),
  sizeGb: whole('size in GB; not looked at for SCRATCH'),
  labels: texts('labels of the disk; not for SCRATCH'),
  encryption: encryption.optional().meta({ description: 'a key of the customer in place of one of the cloud' }),
  provisionedIops: whole('operations a second, for disk types that take a number; 0 is as if it were not there'),
  provisionedThroughput: whole('MB a second, for disk types that take a number; 0 is as if it were not there'),
  storagePool: text('storage pool that the disk is made in, a path or URL'),
});

const networkInterface = z.object({
  network: text('network of the project; it or subnetwork is needed'),
  subnetwork: text('subnetwork of the region; it or network is needed'),
  disableExternalIP: flag('true: the VM gets no public address; default false'),
  stackType: text('IPV4_ONLY or IPV4_IPV6'),
  ipv6accessType: text('INTERNAL or EXTERNAL; sent with IPV4_IPV6 or useAliasIPs'),
  useAliasIPs: flag('true: an alias range is given to the interface'),
  ipCidrRange: text('size of the alias range, /24'),
  subnetworkRangeName: text('secondary range that the alias range is taken from'),
});

const gpu = z.object({
  acceleratorType: text('type of the GPUs, nvidia-tesla-t4; needed'),
  count: whole('GPUs of each VM, at least one'),
});

const metadata = z.object({
  key: text('name of the entry; user-data is the Secret’s and forbidden'),
  value: text('value of the entry'),
});

const scheduling = z.object({
  automaticRestart: flag('whether the cloud starts a VM again that it had to stop'),
  onHostMaintenance: text('MIGRATE or TERMINATE; with a GPU TERMINATE; needed'),
  preemptible: flag('cheaper VMs that the cloud may take away'),
});

const serviceAccount = z.object({
  email: text('address of the account'),
  scopes: z.array(z.string()).optional().meta({ description: 'what the VM may do as this account, URLs of scopes' }),
});

const shieldedInstance = z.object({
  integrityMonitoring: flag('whether what boots is compared with a baseline'),
  secureBoot: flag('whether only signed software boots'),
  vtpm: flag('a virtual trusted platform module'),
});

/** `MachineClass.providerSpec` of provider `GCP`: types only, the rules are in `validate.ts`. */
export const GcpProviderSpec = z.object({
  apiVersion: text('taken for compatibility, not looked at'),
  region: text('region of the subnetworks, europe-north1; needed'),
  zone: text('zone of the VMs, europe-north1-b; needed'),
  machineType: text('type of the VMs, n2-standard-4; a bare name; needed'),
  canIpForward: flag('whether VMs may pass packets of other addresses'),
  deletionProtection: flag('true: the cloud refuses to delete the VMs, also to this controller'),
  description: text('text kept with each VM'),
  disks: z.array(disk).optional().meta({ description: 'disks of each VM; at least one' }),
  gpu: gpu.optional().meta({ description: 'GPUs of each VM; needs scheduling.onHostMaintenance TERMINATE' }),
  labels: texts('labels of the VMs'),
  metadata: z.array(metadata).optional().meta({ description: 'entries that the VM reads from the metadata server' }),
  minCpuPlatform: text('oldest processor that will do, Intel Ice Lake'),
  networkInterfaces: z
    .array(networkInterface)
    .optional()
    .meta({ description: 'network interfaces of each VM; at least one' }),
  scheduling: scheduling.optional().meta({ description: 'what the cloud does with a VM on maintenance; needed' }),
  serviceAccounts: z.array(serviceAccount).optional().meta({ description: 'accounts that programs on the VM act as' }),
  tags: z.array(z.string()).optional().meta({
    description:
      'network tags; one holds kubernetes-io-cluster- and one kubernetes-io-role-, without which no VM is found again',
  }),
  shieldedInstanceConfiguration: shieldedInstance.optional().meta({ description: 'protection of the boot' }),
  advancedMachineFeatures: z
    .object({ enableNestedVirtualization: flag('whether VMs may run VMs') })
    .optional()
    .meta({ description: 'features of the processor' }),
});
export type GcpProviderSpec = z.infer<typeof GcpProviderSpec>;
export type Disk = z.infer<typeof disk>;
export type NetworkInterface = z.infer<typeof networkInterface>;

/** Decoded data of the class's Secrets. One of the first three is needed, the first that is there counts. */
export const GcpCredentials = z.looseObject({
  serviceAccountJSON: text(
    'JSON of a service account’s key, or of a workload’s external_account; this or one of the next two',
  ),
  'serviceaccount.json': text('another name of serviceAccountJSON'),
  credentialsConfig: text('another name of serviceAccountJSON'),
  projectID: text('project, where the JSON names none'),
  userData: text(
    'the script that a VM runs at its first boot; the key is required, and its value can be empty. Bytes that are not UTF-8 are sent as base64, for cloud-init',
  ),
});
export type GcpCredentials = z.infer<typeof GcpCredentials>;
