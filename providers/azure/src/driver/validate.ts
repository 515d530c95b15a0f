import { FieldErrors, trimSpace } from '@mcm/core/driver';
import { CLOUD_NAMES } from '../arm/clouds.ts';
import type { AzureCredentials, AzureProviderSpec, DataDisk, ImageReference, Properties } from './schemas.ts';

export const CLUSTER_TAG = 'kubernetes.io-cluster-';
export const ROLE_TAG = 'kubernetes.io-role-';

const KINDS = ['availabilityset', 'vmo'];
const PRIORITIES = ['Regular', 'Spot'];
const STORAGE = 'providerSpec.properties.storageProfile';

export const isBlank = (text: string | undefined): boolean => text === undefined || trimSpace(text) === '';

/** Returns the problem of `kind` in the deprecated field `machineSet`, or undefined for a valid `kind`. */
export function machineSetProblem({ properties }: AzureProviderSpec): string | undefined {
  const { machineSet } = properties ?? {};
  if (!machineSet || KINDS.includes(machineSet.kind ?? '')) return undefined;
  const errors = new FieldErrors();
  errors.invalid(
    'providerSpec.properties.machineSet.kind',
    machineSet.kind ?? '',
    'must provide one of map[availabilityset:{} vmo:{}]',
  );
  return errors.all.join(' ');
}

/**
 * Returns the problems of a provider spec with the texts and the order of the original. Source:
 * machine-controller-manager-provider-azure, pkg/azure/api/validation.
 */
export function specProblems(spec: AzureProviderSpec): readonly string[] {
  const errors = new FieldErrors();
  const { properties = {}, subnetInfo = {} } = spec;
  if (isBlank(spec.location)) errors.required('providerSpec.location', 'must provide a location');
  if (isBlank(spec.resourceGroup)) errors.required('providerSpec.resourceGroup', 'must provide a resourceGroup');
  if (isBlank(subnetInfo.vnetName)) errors.required('providerSpec.subnetInfo.vnetName', 'must provide vnetName');
  if (isBlank(subnetInfo.subnetName)) errors.required('providerSpec.subnetInfo.subnetName', 'must provide subnetName');
  checkProperties(properties, errors);
  checkTags(spec.tags, errors);
  const name = spec.cloudConfiguration && (spec.cloudConfiguration.name ?? '');
  if (name !== undefined && !CLOUD_NAMES.some((cloud) => cloud === name))
    errors.unsupported('providerSpec.cloudConfiguration.name', name, CLOUD_NAMES);
  return errors.all;
}

function checkProperties(properties: Properties, errors: FieldErrors): void {
  const { hardwareProfile, storageProfile = {}, osProfile, securityProfile } = properties;
  if (isBlank(hardwareProfile?.vmSize))
    errors.required('providerSpec.properties.hardwareProfile.vmSize', 'must provide vmSize');
  checkImage(`${STORAGE}.imageReference`, storageProfile.imageReference ?? {}, errors);
  const { diskControllerType } = storageProfile;
  if (!isBlank(diskControllerType) && !['NVMe', 'SCSI'].includes(diskControllerType ?? ''))
    errors.unsupported(`${STORAGE}.diskControllerType`, diskControllerType ?? '', ['NVMe', 'SCSI']);
  checkOsDisk(storageProfile.osDisk ?? {}, errors);
  checkDataDisks(storageProfile.dataDisks ?? [], errors);
  if (isBlank(osProfile?.adminUsername))
    errors.required('providerSpec.properties.osProfile.adminUsername', 'adminUsername must be provided');
  checkPlace(properties, errors);
  checkReservation(properties, errors);
  if (!isBlank(properties.priority) && !PRIORITIES.includes(properties.priority ?? ''))
    errors.unsupported('providerSpec.properties.priority', properties.priority ?? '', PRIORITIES);
  const securityType = securityProfile?.securityType;
  const types = ['ConfidentialVM', 'TrustedLaunch'];
  if (!isBlank(securityType) && !types.includes(securityType ?? ''))
    errors.unsupportedPointer('providerSpec.properties.securityProfile.securityType', securityType ?? '', types);
}

function checkImage(path: string, image: ImageReference, errors: FieldErrors): void {
  const named = [image.id, image.urn, image.communityGalleryImageID, image.sharedGalleryImageID];
  if (named.filter((each) => !isBlank(each)).length !== 1)
    errors.forbidden(
      `${path}.id|.urn|.communityGalleryImageID|.sharedGalleryImageID`,
      'must specify only one of image id, community gallery image id, shared gallery image id or an urn',
    );
  else if (!isBlank(image.urn)) checkUrn(`${path}.urn`, image.urn ?? '', errors);
}

function checkUrn(path: string, urn: string, errors: FieldErrors): void {
  const parts = urn.split(':');
  if (parts.length !== 4)
    errors.invalid(path, urn, 'invalid urn format, urn should be of the format publisher:offer:sku:version');
  else
    for (const [i, name] of ['publisher', 'offer', 'sku', 'version'].entries())
      if (isBlank(parts[i])) errors.required(path, `urn must have ${name}`);
}

function checkOsDisk(
  disk: NonNullable<NonNullable<Properties['storageProfile']>['osDisk']>,
  errors: FieldErrors,
): void {
  const { createOption, diskSizeGB = 0, managedDisk } = disk;
  if (isBlank(createOption)) errors.required(`${STORAGE}.osDisk.createOption`, 'must provide createOption');
  if (diskSizeGB <= 0)
    errors.invalid(`${STORAGE}.osDisk.diskSizeGB`, diskSizeGB, 'OSDisk size must be positive and greater than 0');
  const type = managedDisk?.securityProfile?.securityEncryptionType;
  const types = ['DiskWithVMGuestState', 'VMGuestStateOnly'];
  if (!isBlank(type) && !types.includes(type ?? ''))
    errors.unsupportedPointer(`${STORAGE}.osDisk.securityEncryptionType`, type ?? '', types);
}

/** Checks the data disks. The paths in errors about data disks have no list index, as in the original. */
function checkDataDisks(disks: readonly DataDisk[], errors: FieldErrors): void {
  const path = `${STORAGE}.dataDisks`;
  for (const { lun = 0, diskSizeGB = 0, storageAccountType, imageRef } of disks) {
    if (lun < 0) errors.invalid(`${path}.lun`, lun, 'lun must be a positive number');
    if (diskSizeGB <= 0)
      errors.invalid(`${path}.diskSizeGB`, diskSizeGB, 'DataDisk size must be positive and greater than 0');
    if (isBlank(storageAccountType)) errors.required(`${path}.storageAccountType`, 'must provide storageAccountType');
    if (imageRef) checkImage(`${path}.imageRef`, imageRef, errors);
  }
  const luns = disks.map(({ lun = 0 }) => lun).filter((lun) => lun >= 0);
  for (const lun of [...new Set(luns)].toSorted((a, b) => a - b)) {
    const times = luns.filter((each) => each === lun).length;
    if (times > 1)
      errors.invalid(`${path}.lun`, lun, `DataDisk Lun '${lun}' duplicated ${times} times, Lun must be unique`);
  }
}

/** Checks that exactly one of three fields is set: zone, availability set or scale set. */
function checkPlace({ zone, availabilitySet, virtualMachineScaleSet }: Properties, errors: FieldErrors): void {
  const places = [zone !== undefined, !isBlank(availabilitySet?.id), !isBlank(virtualMachineScaleSet?.id)];
  if (places.filter(Boolean).length !== 1)
    errors.forbidden(
      'providerSpec.properties.zone|.availabilitySet|.virtualMachineScaleSet',
      'Only one of Zone, AvailabilitySet and VirtualMachineScaleSet can be set.',
    );
}

const RESERVATION_TYPE = 'CapacityReservationGroups';

function checkReservation({ capacityReservation }: Properties, errors: FieldErrors): void {
  const id = capacityReservation?.capacityReservationGroupID;
  if (id === undefined) return;
  const path = 'providerSpec.properties.capacityReservation.capacityReservationGroupID';
  const type = resourceTypeOf(id);
  if ('problem' in type) errors.invalid(path, id, `invalid Azure resource ID: invalid resource ID: ${type.problem}`);
  else if (type.type.toLowerCase() !== RESERVATION_TYPE.toLowerCase())
    errors.invalid(path, id, `provided resource ID must be of type '${RESERVATION_TYPE}', got '${type.type}'`);
}

interface ArmType {
  readonly kind: 'tenant' | 'subscription' | 'group' | 'other';
  readonly type: string;
}

function childOf({ kind, type }: ArmType, name: string): ArmType {
  const lower = name.toLowerCase();
  if (lower === 'resourcegroups') return { kind: 'group', type: 'resourceGroups' };
  if (lower === 'subscriptions' && kind === 'tenant') return { kind: 'subscription', type: 'subscriptions' };
  return { kind: 'other', type: `${type}/${name}` };
}

/**
 * Returns the type of the resource with an ID, such as `capacityReservationGroups/capacityReservations`. Source:
 * azure-sdk-for-go, `ParseResourceID`.
 */
function resourceTypeOf(id: string): { readonly type: string } | { readonly problem: string } {
  if (id === '') return { problem: 'id cannot be empty' };
  if (!id.startsWith('/')) return { problem: `resource id '${id}' must start with '/'` };
  const parts = id.split('/').filter((part) => part !== '');
  if (parts.length < 2 || !/^(subscriptions|providers)$/i.test(parts[0] ?? '')) return { problem: id };
  const found = walk({ kind: 'tenant', type: 'tenants' }, parts);
  return found ? { type: found.type } : { problem: id };
}

function walk(at: ArmType, parts: readonly string[]): ArmType | undefined {
  const [first = '', , third = ''] = parts;
  if (parts.length === 0) return at;
  if (parts.length === 1)
    return /^(subscriptions|resourcegroups)$/i.test(first) || at.kind === 'group' ? undefined : childOf(at, first);
  if (first.toLowerCase() !== 'providers') return walk(childOf(at, first), parts.slice(2));
  if (parts.length === 2 || third.toLowerCase() === 'providers') {
    const isAllowed = at.kind === 'subscription' || at.kind === 'tenant';
    return isAllowed ? walk({ kind: 'other', type: 'providers' }, parts.slice(2)) : undefined;
  }
  return parts.length > 3 ? walk({ kind: 'other', type: third }, parts.slice(4)) : undefined;
}

function checkTags(tags: AzureProviderSpec['tags'], errors: FieldErrors): void {
  const path = 'providerSpec.tags';
  if (!tags)
    errors.required(
      `${path}.${CLUSTER_TAG}.${ROLE_TAG}`,
      `Tags starting with '${CLUSTER_TAG}' and '${ROLE_TAG}' must be set`,
    );
  for (const prefix of [CLUSTER_TAG, ROLE_TAG])
    if (tags && !Object.keys(tags).some((key) => key.startsWith(prefix)))
      errors.required(`${path}.${prefix}`, `Tag starting with ${prefix} must be set`);
}

/** Returns the problems of a Secret with the texts and the order of the original. */
export function secretProblems(secret: AzureCredentials): readonly string[] {
  const errors = new FieldErrors();
  const missing = (...values: (string | undefined)[]): boolean => values.every(isBlank);
  const managed = !missing(secret.managedIdentity);
  const system = managed && secret.managedIdentity?.trim() === 'system';
  if (!system && missing(secret.clientID, secret.azureClientId))
    errors.required('data.clientID', 'must provide clientID');
  checkProofs(secret, managed, errors);
  if (missing(secret.subscriptionID, secret.azureSubscriptionId))
    errors.required('data.subscriptionID', 'must provide subscriptionID');
  if (!managed && missing(secret.tenantID, secret.azureTenantId))
    errors.required('data.tenantID', 'must provide tenantID');
  if (missing(secret.userData)) errors.required('data.userData', 'must provide userData');
  return errors.all;
}

/**
 * Checks that the Secret contains exactly one credential. The original supports two kinds of credentials, and the
 * errors about these credentials have the texts of the original.
 */
function checkProofs(secret: AzureCredentials, managed: boolean, errors: FieldErrors): void {
  const hasSecret = !isBlank(secret.clientSecret) || !isBlank(secret.azureClientSecret);
  const hasFile = !isBlank(secret.workloadIdentityTokenFile);
  const hasCertificate = !isBlank(secret.clientCertificate);
  if (managed && !['system', 'user'].includes(secret.managedIdentity?.trim() ?? ''))
    errors.unsupported('data.managedIdentity', secret.managedIdentity ?? '', ['system', 'user']);
  if (!hasSecret && !hasFile && !hasCertificate && !managed)
    errors.required('data.clientSecret', 'must provide clientSecret or workloadIdentityTokenFile');
  if (hasSecret && hasFile)
    errors.required('data.clientSecret', 'clientSecret is mutually exclusive with workloadIdentityTokenFile');
  if (hasCertificate && (hasSecret || hasFile))
    errors.forbidden('data.clientCertificate', 'remove this key, or remove clientSecret and workloadIdentityTokenFile');
  if (managed && (hasSecret || hasFile || hasCertificate))
    errors.forbidden(
      'data.managedIdentity',
      'remove this key, or remove clientSecret, clientCertificate and workloadIdentityTokenFile',
    );
}
