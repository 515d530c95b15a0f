import { z } from 'zod';

const text = (description: string) => z.string().optional().meta({ description });
const flag = (description: string) => z.boolean().optional().meta({ description });
const whole = (description: string) => z.int().optional().meta({ description });
const texts = (description: string) => z.record(z.string(), z.string()).optional().meta({ description });

const encryption = z.object({
  kmsKeyName: text('name of the key in the key management service; required'),
  kmsKeyServiceAccount: text('service account with access to the key'),
});

const disk = z.object({
  type: text('type of the disk: SCRATCH for a local SSD, otherwise a type such as pd-balanced'),
  interface: text('interface of a SCRATCH disk: NVME or SCSI'),
  boot: flag('true: the VM boots from this disk'),
  image: text('image of the disk, a path or URL; required for the boot disk'),
  autoDelete: flag('true: the cloud deletes the disk together with its VM; default true'),
  sizeGb: whole('size of the disk in GB; mcm ignores the size of a SCRATCH disk'),
  labels: texts('labels of the disk; a SCRATCH disk gets no labels'),
  encryption: encryption.optional().meta({ description: 'customer-managed encryption key' }),
  provisionedIops: whole('provisioned IOPS of the disk; 0 means not set'),
  provisionedThroughput: whole('provisioned throughput of the disk in MB per second; 0 means not set'),
  storagePool: text('storage pool of the disk, a path or URL'),
});

const networkInterface = z.object({
  network: text('network of the VM; network or subnetwork is required'),
  subnetwork: text('subnetwork of the VM in the region; network or subnetwork is required'),
  disableExternalIP: flag('true: the VM gets no public IP address; default false'),
  stackType: text('IPV4_ONLY or IPV4_IPV6'),
  ipv6accessType: text('type of IPv6 addresses: INTERNAL or EXTERNAL; only with IPV4_IPV6 or useAliasIPs'),
  useAliasIPs: flag('true: the interface gets an alias range of IP addresses'),
  ipCidrRange: text('size of the alias range, such as /24'),
  subnetworkRangeName: text('secondary range of the subnetwork that contains the alias range'),
});

const gpu = z.object({
  acceleratorType: text('type of the GPUs, such as nvidia-tesla-t4; required'),
  count: whole('number of GPUs of each VM, at least one'),
});

const metadata = z.object({
  key: text('key of the metadata entry; the key user-data is forbidden, because the user data comes from the Secret'),
  value: text('value of the metadata entry'),
});

const scheduling = z.object({
  automaticRestart: flag('true: the cloud restarts a VM that stopped because of a host failure or maintenance'),
  onHostMaintenance: text(
    'required; action for a VM during host maintenance: MIGRATE or TERMINATE; a VM with a GPU requires TERMINATE',
  ),
  preemptible: flag('true: the VMs are preemptible: cheaper, but the cloud can stop them at any time'),
});

const serviceAccount = z.object({
  email: text('e-mail address of the service account'),
  scopes: z.array(z.string()).optional().meta({ description: 'OAuth scopes of the service account, as URLs' }),
});

const shieldedInstance = z.object({
  integrityMonitoring: flag('true: the cloud compares each boot of the VM with a trusted baseline'),
  secureBoot: flag('true: the VM starts only signed boot software'),
  vtpm: flag('true: the VM has a virtual trusted platform module'),
});

/** The schema of the provider spec. */
export const GcpProviderSpec = z.object({
  apiVersion: text('mcm accepts this field for compatibility, and does not use it'),
  region: text('region of the subnetworks, such as europe-north1; required'),
  zone: text('zone of the VMs, such as europe-north1-b; required'),
  machineType: text('type of the VMs as a name without a path, such as n2-standard-4; required'),
  canIpForward: flag('true: the VMs may forward packets of other addresses'),
  deletionProtection: flag('true: the cloud refuses to delete the VMs, even if mcm requests the deletion'),
  description: text('description of each VM'),
  disks: z.array(disk).optional().meta({ description: 'disks of each VM; at least one' }),
  gpu: gpu.optional().meta({ description: 'GPUs of each VM; requires scheduling.onHostMaintenance TERMINATE' }),
  labels: texts('labels of the VMs'),
  metadata: z
    .array(metadata)
    .optional()
    .meta({ description: 'metadata entries, which the VM reads from the metadata server' }),
  minCpuPlatform: text('minimum CPU platform, such as Intel Ice Lake'),
  networkInterfaces: z
    .array(networkInterface)
    .optional()
    .meta({ description: 'network interfaces of each VM; at least one' }),
  scheduling: scheduling.optional().meta({ description: 'behavior of a VM during maintenance; required' }),
  serviceAccounts: z.array(serviceAccount).optional().meta({ description: 'service accounts for programs on the VM' }),
  tags: z.array(z.string()).optional().meta({
    description:
      'network tags, by which mcm finds VMs; one tag must contain kubernetes-io-cluster-, and one kubernetes-io-role-',
  }),
  shieldedInstanceConfiguration: shieldedInstance
    .optional()
    .meta({ description: 'protection of the boot process (Shielded VM)' }),
  advancedMachineFeatures: z
    .object({ enableNestedVirtualization: flag('true: VMs may run nested VMs') })
    .optional()
    .meta({ description: 'features of the processor of each VM' }),
});
export type GcpProviderSpec = z.infer<typeof GcpProviderSpec>;
export type Disk = z.infer<typeof disk>;
export type NetworkInterface = z.infer<typeof networkInterface>;

/** The schema of the Secret. */
export const GcpCredentials = z.looseObject({
  serviceAccountJSON: text(
    'JSON of a service account key or an external_account; the Secret must contain the JSON under one of three names',
  ),
  'serviceaccount.json': text('another name of serviceAccountJSON'),
  credentialsConfig: text('another name of serviceAccountJSON'),
  projectID: text('ID of the project; required if the JSON contains no project'),
  userData: text(
    'script that a VM runs at its first boot; the key is required, and its value can be empty. If the user data is not UTF-8, mcm sends it as base64, for cloud-init',
  ),
});
export type GcpCredentials = z.infer<typeof GcpCredentials>;
