import { bytesOf } from '@mcm/core/driver';
import { dataDiskName, dataDisksOf, nicName, osDiskName } from './names.ts';
import type { AzureProviderSpec, DataDisk, ImageReference } from './schemas.ts';
import { isBlank } from './validate.ts';

/** Members that are there; `undefined` ones are left out. */
const set = (all: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));

export const nicBody = (vm: string, spec: AzureProviderSpec, subnet: unknown): object => ({
  location: spec.location,
  name: nicName(vm),
  tags: spec.tags,
  properties: set({
    enableAcceleratedNetworking: spec.properties?.networkProfile?.acceleratedNetworking,
    enableIPForwarding: true,
    nicType: 'Standard',
    ipConfigurations: [{ name: nicName(vm), properties: { privateIPAllocationMethod: 'Dynamic', subnet } }],
  }),
});

const zonesOf = ({ properties }: AzureProviderSpec): string[] | undefined =>
  properties?.zone === undefined ? undefined : [String(properties.zone)];

/** A disk made of an image. @param urnImageId The id of the image that a URN names. */
export function diskBody(spec: AzureProviderSpec, disk: DataDisk, urnImageId: string | undefined): object {
  const { id, communityGalleryImageID: community, sharedGalleryImageID: shared } = disk.imageRef ?? {};
  const gallery = isBlank(community) ? { sharedGalleryImageId: shared } : { communityGalleryImageId: community };
  const from =
    urnImageId !== undefined || !isBlank(id)
      ? { imageReference: { id: urnImageId ?? id } }
      : { galleryImageReference: gallery };
  return set({
    location: spec.location,
    tags: spec.tags,
    zones: zonesOf(spec),
    sku: { name: disk.storageAccountType },
    properties: {
      osType: 'Linux',
      diskSizeGB: disk.diskSizeGB,
      creationData: { createOption: 'FromImage', ...from },
    },
  });
}

export interface VmParts {
  readonly vm: string;
  readonly spec: AzureProviderSpec;
  readonly userData: Uint8Array;
  readonly nicId: string;
  readonly plan: object | undefined;
  /** Ids of disks made of images, by name. */
  readonly diskIds: ReadonlyMap<string, string>;
  /** A key nobody has, for classes that name none. */
  readonly throwAwayKey: () => string;
}

export function vmBody({ vm, spec, userData, nicId, plan, diskIds, throwAwayKey }: VmParts): object {
  const { properties = {} } = spec;
  const { identityID, availabilitySet, virtualMachineScaleSet, diagnosticsProfile, capacityReservation } = properties;
  const { linuxConfiguration = {}, adminUsername } = properties.osProfile ?? {};
  const { path = '', keyData } = linuxConfiguration.ssh?.publicKeys ?? {};
  const key = { path, keyData: isBlank(keyData) ? throwAwayKey() : keyData };
  return set({
    location: spec.location,
    name: vm,
    tags: spec.tags,
    zones: zonesOf(spec),
    plan,
    identity:
      identityID === undefined ? undefined : { type: 'UserAssigned', userAssignedIdentities: { [identityID]: {} } },
    properties: set({
      hardwareProfile: { vmSize: properties.hardwareProfile?.vmSize },
      networkProfile: { networkInterfaces: [{ id: nicId, properties: { primary: true, deleteOption: 'Delete' } }] },
      osProfile: {
        adminUsername,
        computerName: vm,
        customData: bytesOf(userData).toString('base64'),
        linuxConfiguration: {
          disablePasswordAuthentication: linuxConfiguration.disablePasswordAuthentication ?? false,
          ssh: { publicKeys: [key] },
        },
      },
      storageProfile: storageBody(vm, spec, diskIds),
      availabilitySet: availabilitySet && { id: availabilitySet.id ?? '' },
      virtualMachineScaleSet: virtualMachineScaleSet && { id: virtualMachineScaleSet.id ?? '' },
      diagnosticsProfile: diagnosticsProfile && {
        bootDiagnostics: set({
          enabled: diagnosticsProfile.enabled ?? false,
          storageUri: diagnosticsProfile.storageURI,
        }),
      },
      securityProfile: securityBody(properties.securityProfile),
      capacityReservation: capacityReservation && {
        capacityReservationGroup: set({ id: capacityReservation.capacityReservationGroupID }),
      },
    }),
  });
}

type Security = NonNullable<NonNullable<AzureProviderSpec['properties']>['securityProfile']>;

const securityBody = (profile: Security | undefined): object | undefined =>
  profile &&
  set({
    securityType: profile.securityType,
    uefiSettings:
      profile.uefiSettings &&
      set({
        secureBootEnabled: profile.uefiSettings.secureBootEnabled,
        vTpmEnabled: profile.uefiSettings.vtpmEnabled,
      }),
  });

function storageBody(vm: string, spec: AzureProviderSpec, diskIds: ReadonlyMap<string, string>): object {
  const { osDisk = {}, imageReference = {}, diskControllerType } = spec.properties?.storageProfile ?? {};
  const encryption = osDisk.managedDisk?.securityProfile?.securityEncryptionType;
  const disks = dataDisksOf(spec);
  return set({
    imageReference: imageBody(imageReference),
    diskControllerType: diskControllerType ? diskControllerType : undefined,
    osDisk: {
      name: osDiskName(vm),
      caching: osDisk.caching ?? '',
      createOption: osDisk.createOption,
      diskSizeGB: osDisk.diskSizeGB,
      deleteOption: 'Delete',
      managedDisk: set({
        storageAccountType: osDisk.managedDisk?.storageAccountType ?? '',
        securityProfile: encryption === undefined ? undefined : { securityEncryptionType: encryption },
      }),
    },
    dataDisks: disks.length > 0 ? disks.map((disk) => dataDiskBody(vm, disk, diskIds)) : undefined,
  });
}

function dataDiskBody(vm: string, disk: DataDisk, diskIds: ReadonlyMap<string, string>): object {
  const name = dataDiskName(vm, disk);
  const made = diskIds.get(name);
  return {
    lun: disk.lun ?? 0,
    name,
    caching: isBlank(disk.caching) ? 'None' : disk.caching,
    createOption: disk.imageRef ? 'Attach' : 'Empty',
    deleteOption: 'Delete',
    diskSizeGB: disk.diskSizeGB,
    managedDisk: set({ id: made, storageAccountType: disk.storageAccountType }),
  };
}

function imageBody({
  id,
  urn,
  communityGalleryImageID: community,
  sharedGalleryImageID: shared,
}: ImageReference): object {
  if (!isBlank(id)) return { id };
  if (!isBlank(community)) return { communityGalleryImageId: community };
  if (!isBlank(shared)) return { sharedGalleryImageId: shared };
  const [publisher, offer, sku, version] = (urn ?? '').split(':');
  return { publisher, offer, sku, version };
}
