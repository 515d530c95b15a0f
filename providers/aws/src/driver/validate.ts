import { FieldErrors } from '@mcm/core/driver';
import type { AwsCredentials, AwsProviderSpec, BlockDevice, NetworkInterface } from '../spec/schemas.ts';

/**
 * The device name of the root disk in a provider spec. In requests to EC2, the driver replaces it with the device name
 * of the image.
 */
export const ROOT_DEVICE = '/root';
const CLUSTER_TAG = 'kubernetes.io/cluster/';
const ROLE_TAG = 'kubernetes.io/role/';

const SECRET = 'secretRef';

const VOLUME_TYPES = ['gp2', 'gp3', 'io1', 'st1', 'sc1', 'standard'];
const DATA_DEVICE = '^/dev/(sd[a-z]|xvd[a-c][a-z]?)$';
const INTERFACE_TYPES = ['interface', 'efa', 'efa-only'];
const MARKET_TYPES = ['spot', 'capacity-block', 'interruptible-capacity-reservation'];

/**
 * Returns the errors of a provider spec and its Secret, or undefined if there are no errors. The texts and the order
 * are those of the original.
 * @param secret The Secret. The value `none` of `secret` means that the class refers to no Secret. Source:
 * machine-controller-manager-provider-aws, pkg/aws/apis/validation.
 */
export function validate(
  spec: AwsProviderSpec,
  secret: AwsCredentials | 'none' | undefined,
): { readonly text: string; readonly ofSecret: boolean } | undefined {
  const errors = new FieldErrors();
  if (!spec.ami) errors.required('providerSpec.ami', 'AMI is required');
  if (!spec.region) errors.required('providerSpec.region', 'Region is required');
  if (!spec.machineType) errors.required('providerSpec.machineType', 'MachineType is required');
  checkProfile(spec, errors);
  checkBlockDevices(spec.blockDevices ?? [], errors);
  checkCapacityReservation(spec, errors);
  checkNetworkInterfaces(spec.networkInterfaces ?? [], errors);
  if (secret === 'none') errors.required(`${SECRET}[]`, 'secretRef is required');
  else if (secret) checkSecret(secret, errors);
  checkTags(Object.keys(spec.tags ?? {}), errors);
  checkMetadata(spec, errors);
  checkCpu(spec, errors);
  checkPlacement(spec, errors);
  checkMarket(spec, errors);
  const text = errors.text();
  const ofSecret = errors.all.some((each) => each.startsWith(SECRET));
  return text === undefined ? undefined : { text: `error while validating ProviderSpec ${text}`, ofSecret };
}

function checkProfile({ iam = {} }: AwsProviderSpec, errors: FieldErrors): void {
  if (Boolean(iam.name) !== Boolean(iam.arn)) return;
  const reported = { arn: iam.arn || undefined, name: iam.name || undefined };
  errors.invalid('providerSpec.iam', reported, 'either IAM Name or ARN must be set');
}

function checkCapacityReservation({ capacityReservation }: AwsProviderSpec, errors: FieldErrors): void {
  if (!capacityReservation) return;
  const { capacityReservationPreference, capacityReservationId, capacityReservationResourceGroupArn } =
    capacityReservation;
  const path = 'providerSpec.capacityReservation';
  const [id, arn] = [capacityReservationId !== undefined, capacityReservationResourceGroupArn !== undefined];
  if (capacityReservationPreference && (id || arn))
    errors.required(
      path,
      'CapacityReservationPreference cannot be set when also providing a CapacityReservationID or CapacityReservationResourceGroupArn',
    );
  else if (id && arn)
    errors.required(
      path,
      'CapacityReservationResourceGroupArn or CapacityReservationId are optional but only one should be used',
    );
}

function checkBlockDevices(devices: readonly BlockDevice[], errors: FieldErrors): void {
  const list = 'providerSpec.blockDevices';
  const names = devices.map(({ deviceName = '' }) => deviceName);
  for (const [i, { ebs = {} }] of devices.entries()) {
    const [at, name = ''] = [`${list}[${i}]`, names[i]];
    if (devices.length > 1 && name !== ROOT_DEVICE && !new RegExp(DATA_DEVICE).test(name))
      errors.invalid(
        `${at}.deviceName`,
        name,
        `Device name given: ${name} does not match the expected pattern (regex used for validation is '${DATA_DEVICE}')`,
      );
    checkVolume(`${at}.ebs`, ebs, errors);
  }
  if (devices.length > 1 && names.filter((name) => name === ROOT_DEVICE).length !== 1)
    errors.required(list, 'Only one device can be specified as root');
  for (const name of new Set(names)) {
    const times = names.filter((each) => each === name).length;
    if (times > 1) errors.required(list, `Device name '${name}' duplicated ${times} times, DeviceName must be unique`);
  }
}

function checkVolume(path: string, ebs: NonNullable<BlockDevice['ebs']>, errors: FieldErrors): void {
  const { volumeType = '', volumeSize = 0, iops = 0, throughput } = ebs;
  if (!VOLUME_TYPES.includes(volumeType))
    errors.required(`${path}.volumeType`, `Please mention a valid EBS volume type: [${VOLUME_TYPES.join(' ')}]`);
  if (volumeSize <= 0) errors.required(`${path}.volumeSize`, 'Please mention a valid EBS volume size');
  if (iops < 0 || (volumeType === 'io1' && iops === 0))
    errors.required(`${path}.iops`, 'Please mention a valid EBS volume iops');
  if (throughput !== undefined && throughput <= 0)
    errors.invalid(`${path}.throughput`, throughput, 'Throughput should be a positive value');
}

function checkNetworkInterfaces(interfaces: readonly NetworkInterface[], errors: FieldErrors): void {
  const list = 'providerSpec.networkInterfaces';
  if (interfaces.length === 0) errors.required(`${list}[]`, 'Mention at least one NetworkInterface');
  for (const [i, each] of interfaces.entries()) {
    const at = `${list}[${i}]`;
    const { subnetID, securityGroupIDs = [], interfaceType, deviceIndex = 0, networkCardIndex = 0 } = each;
    if (!subnetID) errors.required(`${at}.subnetID`, 'SubnetID is required');
    if (securityGroupIDs.length === 0)
      errors.required(`${at}.securityGroupIDs`, 'Mention at least one securityGroupID');
    for (const [j, id] of securityGroupIDs.entries())
      if (id === '')
        errors.required(
          `${at}.securityGroupIDs`,
          `securityGroupIDs cannot be blank for networkInterface:${i} securityGroupID:${j}`,
        );
    if (interfaceType && !INTERFACE_TYPES.includes(interfaceType))
      errors.unsupported(`${at}.interfaceType`, interfaceType, INTERFACE_TYPES);
    if (deviceIndex < 0) errors.invalid(`${at}.deviceIndex`, deviceIndex, 'must be >= 0');
    if (networkCardIndex < 0) errors.invalid(`${at}.networkCardIndex`, networkCardIndex, 'must be >= 0');
  }
}

function checkMetadata({ instanceMetadataOptions: options }: AwsProviderSpec, errors: FieldErrors): void {
  const path = 'providerSpec.instanceMetadata';
  const hops = options?.httpPutResponseHopLimit;
  if (hops !== undefined && (hops < 0 || hops > 64))
    errors.invalid(
      `${path}.httpPutResponseHopLimit`,
      hops,
      'Only values between 0 and 64, both included, are accepted',
    );
  const choose = (name: 'httpEndpoint' | 'httpTokens' | 'httpProtocolIpv6', ...accepted: string[]): void => {
    const value = options?.[name];
    if (value && !accepted.includes(value))
      errors.invalid(`${path}.${name}`, value, `Accepted values: [${accepted.join(' ')}]`);
  };
  choose('httpEndpoint', 'disabled', 'enabled');
  choose('httpTokens', 'required', 'optional');
  choose('httpProtocolIpv6', 'enabled', 'disabled');
}

function checkCpu({ cpuOptions }: AwsProviderSpec, errors: FieldErrors): void {
  if (!cpuOptions) return;
  const path = 'providerSpec.cpuOptions';
  const { coreCount, threadsPerCore, amdSevSnp } = cpuOptions;
  if (amdSevSnp !== undefined && !['enabled', 'disabled'].includes(amdSevSnp))
    errors.invalidConstant(`${path}.amdSevSnp`, amdSevSnp, 'AmdSevSnp must be one of [enabled disabled]');
  if (coreCount === undefined && threadsPerCore !== undefined)
    errors.required(`${path}.coreCount`, 'CoreCount is required when ThreadsPerCore is set');
  if (coreCount !== undefined && threadsPerCore === undefined)
    errors.required(`${path}.threadsPerCore`, 'ThreadsPerCore is required when CoreCount is set');
  if (threadsPerCore !== undefined && threadsPerCore !== 1 && threadsPerCore !== 2)
    errors.invalid(`${path}.threadsPerCore`, threadsPerCore, 'ThreadsPerCore must be 1 or 2');
}

function checkPlacement({ placement }: AwsProviderSpec, errors: FieldErrors): void {
  if (!placement) return;
  const path = 'providerSpec.placement';
  const { tenancy, affinity, hostId, partitionNumber } = placement;
  const tenancies = ['default', 'dedicated', 'host'];
  if (tenancy !== undefined && !tenancies.includes(tenancy)) errors.unsupported(`${path}.tenancy`, tenancy, tenancies);
  const affinities = ['default', 'host'];
  if (affinity !== undefined && !affinities.includes(affinity))
    errors.unsupported(`${path}.affinity`, affinity, affinities);
  if (hostId !== undefined && tenancy !== 'host')
    errors.forbidden(`${path}.hostId`, 'hostId can only be set when tenancy is "host"');
  if (partitionNumber !== undefined && partitionNumber < 1)
    errors.invalid(`${path}.partitionNumber`, partitionNumber, 'must be >= 1');
}

function checkMarket({ instanceMarketOptions }: AwsProviderSpec, errors: FieldErrors): void {
  if (!instanceMarketOptions) return;
  const { marketType = '' } = instanceMarketOptions;
  if (!MARKET_TYPES.includes(marketType))
    errors.unsupported('providerSpec.instanceMarketOptions.marketType', marketType, MARKET_TYPES);
}

function checkSecret(secret: AwsCredentials, errors: FieldErrors): void {
  const { workloadIdentityTokenFile, roleARN, userData } = secret;
  if (workloadIdentityTokenFile === undefined) {
    if (!secret.providerAccessKeyId && !secret.accessKeyID)
      errors.required(`${SECRET}.AWSAccessKeyID`, 'Mention atleast providerAccessKeyId or accessKeyID');
    if (!secret.providerSecretAccessKey && !secret.secretAccessKey)
      errors.required(`${SECRET}.AWSSecretAccessKey`, 'Mention atleast providerSecretAccessKey or secretAccessKey');
  } else {
    if (!workloadIdentityTokenFile)
      errors.required(`${SECRET}.workloadIdentityTokenFile`, 'Workload identity token file is required');
    if (!roleARN) errors.required(`${SECRET}.roleARN`, 'Role ARN is required when workload identity is used');
  }
  if (!userData) errors.required(`${SECRET}.userData`, 'Mention userData');
}

/**
 * Checks that the tags contain a cluster key and a role key. A key that matches both patterns counts as a cluster key.
 */
function checkTags(keys: readonly string[], errors: FieldErrors): void {
  const path = 'providerSpec.tags[]';
  if (!clusterTagOf(keys)) errors.required(path, 'Tag required of the form kubernetes.io/cluster/****');
  if (!roleTagOf(keys)) errors.required(path, 'Tag required of the form kubernetes.io/role/****');
}

/**
 * Returns the cluster key, which identifies the VMs of a cluster. If there are several cluster keys, the first one in
 * alphabetical order is used.
 */
export const clusterTagOf = (keys: readonly string[]): string | undefined =>
  keys.filter((key) => key.includes(CLUSTER_TAG)).toSorted()[0];

export const roleTagOf = (keys: readonly string[]): string | undefined =>
  keys.filter((key) => key.includes(ROLE_TAG) && !key.includes(CLUSTER_TAG)).toSorted()[0];
