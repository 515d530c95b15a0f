import { FieldErrors, trimSpace } from '@mcm/core/driver';
import type { Disk, GcpCredentials, GcpProviderSpec, NetworkInterface } from '../spec/schemas.ts';

export const SCRATCH = 'SCRATCH';
export const USER_DATA_METADATA = 'user-data';

const CLUSTER = 'kubernetes-io-cluster-';
const ROLE = 'kubernetes-io-role-';
const INTERFACES = ['NVME', 'SCSI'];
const MAINTENANCE = ['MIGRATE', 'TERMINATE'];

/**
 * Returns the problems of a provider spec with the texts and the order of the original. Source:
 * machine-controller-manager-provider-gcp, pkg/gcp/validation.
 */
export function specProblems(spec: GcpProviderSpec): readonly string[] {
  const errors = new FieldErrors();
  const { disks = [], networkInterfaces = [], metadata = [] } = spec;
  if (disks.length === 0) errors.required('spec.disks', 'at least one disk is required');
  for (const [i, disk] of disks.entries()) checkDisk(`spec.disks[${i}]`, disk, errors);
  for (const field of ['machineType', 'region', 'zone'] as const)
    if (!spec[field]) errors.required(`spec.${field}`, `${field} is required`);
  if (networkInterfaces.length === 0)
    errors.required('spec.networkInterfaces.networkInterfaces', 'at least one network interface is required');
  for (const [i, nic] of networkInterfaces.entries())
    checkNetworkInterface(`spec.networkInterfaces[${i}]`, nic, errors);
  for (const [i, { key }] of metadata.entries())
    if (key === USER_DATA_METADATA)
      errors.forbidden(`spec.networkInterfaces[${i}].key`, 'user-data key is forbidden in metadata');
  checkGpu(spec, errors);
  checkScheduling(spec, errors);
  if (errors.all.length === 0) checkTags(spec, errors);
  return errors.all;
}

/**
 * Checks that the tags contain a cluster tag and a role tag. Without both tags, the original creates VMs that it never
 * finds and never deletes.
 */
function checkTags({ tags = [] }: GcpProviderSpec, errors: FieldErrors): void {
  const { cluster, role } = marksOf(tags);
  const why = 'mcm needs this tag to find the VMs';
  if (cluster === undefined) errors.required('spec.tags', `one tag must contain ${CLUSTER}, ${why}`);
  if (role === undefined) errors.required('spec.tags', `one tag must contain ${ROLE}, ${why}`);
}

/**
 * Returns the cluster tag and the role tag. If there are several tags of a type, the last one applies, as in the
 * original.
 */
export function marksOf(tags: readonly string[]): { cluster: string | undefined; role: string | undefined } {
  const cluster = tags.findLast((tag) => tag.includes(CLUSTER));
  return { cluster, role: tags.findLast((tag) => tag.includes(ROLE) && !tag.includes(CLUSTER)) };
}

function checkDisk(
  path: string,
  { type, interface: bus = '', boot, image, encryption }: Disk,
  errors: FieldErrors,
): void {
  if (type === SCRATCH && !INTERFACES.includes(bus)) errors.unsupported(`${path}.interface`, bus, INTERFACES);
  if (boot && !image) errors.required(`${path}.image`, 'image is required for boot disk');
  if (!encryption) return;
  const { kmsKeyName = '', kmsKeyServiceAccount = '' } = encryption;
  if (trimSpace(kmsKeyName) === '') errors.required(`${path}.kmsKeyName`, 'kmsKeyName is required to be specified');
  if (kmsKeyServiceAccount !== '' && trimSpace(kmsKeyServiceAccount) === '')
    errors.required(
      `${path}.kmsKeyServiceAccount`,
      'kmsKeyServiceAccount should either be explicitly specified without spaces or left un-specified to default to the Compute Service Agent',
    );
}

function checkNetworkInterface(path: string, nic: NetworkInterface, errors: FieldErrors): void {
  const { network, subnetwork, stackType, ipv6accessType, ipCidrRange } = nic;
  if (!network && !subnetwork) errors.required(path, 'either network or subnetwork or both is required');
  if (stackType && !['IPV4_IPV6', 'IPV4_ONLY'].includes(stackType))
    errors.invalid(`${path}.stackType`, stackType, 'must be either IPV4_IPV6 or IPV4_ONLY');
  if (ipv6accessType && !['EXTERNAL', 'INTERNAL'].includes(ipv6accessType))
    errors.invalid(`${path}.ipv6AccessType`, ipv6accessType, 'must be either EXTERNAL or INTERNAL');
  if (ipCidrRange) checkRange(`${path}.ipCidrRange`, ipCidrRange, errors);
}

function isInt64(text: string): boolean {
  if (!/^[+-]?\d+$/.test(text)) return false;
  const value = BigInt(text.replace('+', ''));
  return BigInt.asIntN(64, value) === value;
}

/** Checks an alias range. The mask size may have a sign and leading zeros, as in `strconv.Atoi` of Go. */
function checkRange(path: string, range: string, errors: FieldErrors): void {
  const size = range.slice(1);
  if (!range.startsWith('/')) errors.invalid(path, range, "CIDR range must start with '/'");
  else if (!isInt64(size)) errors.invalid(path, range, `invalid CIDR mask size: ${size}`);
  else if (Number(size) < 0 || Number(size) > 32)
    errors.invalid(path, range, 'CIDR mask size must be between 0 and 32');
}

function checkGpu({ gpu }: GcpProviderSpec, errors: FieldErrors): void {
  if (!gpu) return;
  if (!gpu.acceleratorType) errors.required('spec.gpu.acceleratorType', 'accelerator type needs to be provided');
  if (!gpu.count) errors.forbidden('spec.gpu.count', 'gpu count must be > 0');
}

function checkScheduling({ gpu, scheduling }: GcpProviderSpec, errors: FieldErrors): void {
  const path = 'spec.scheduling.onHostMaintenance';
  const { onHostMaintenance = '' } = scheduling ?? {};
  if (!MAINTENANCE.includes(onHostMaintenance)) errors.unsupported(path, onHostMaintenance, MAINTENANCE);
  if (gpu && onHostMaintenance !== 'TERMINATE')
    errors.forbidden(path, 'liveMigration is not allowed for VMs with gpu attached, use "TERMINATE" instead');
}

/** Returns the problems of a Secret, or undefined if the class refers to no Secret. */
export function secretProblems(secret: GcpCredentials | undefined): readonly string[] {
  if (!secret) return ['secret object that has been passed by the MCM is nil'];
  const { serviceAccountJSON, 'serviceaccount.json': alias, credentialsConfig, userData } = secret;
  return [
    ...((serviceAccountJSON ?? alias ?? credentialsConfig) === undefined
      ? ['secret serviceAccountJSON, serviceaccount.json or credentialsConfig is required field']
      : []),
    ...(userData === undefined ? ['secret userData is required field'] : []),
  ];
}
