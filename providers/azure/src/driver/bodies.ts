import type {
  CachingTypes,
  DataDisk as ComputeDataDisk,
  ImageReference as ComputeImageReference,
  Disk,
  SecurityProfile,
  StorageProfile,
  VirtualMachine,
} from '@azure/arm-compute';
import type { NetworkInterface, Subnet } from '@azure/arm-network';
import { bytesOf } from '@mcm/core/driver';
import { dataDiskName, dataDisksOf, nicName, osDiskName } from './names.ts';
import type { AzureProviderSpec, DataDisk, ImageReference } from './schemas.ts';
import { isBlank } from './validate.ts';

const set = <T extends object>(all: { readonly [K in keyof T]: T[K] | undefined }): T =>
  Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as T;

export const nicBody = (vm: string, spec: AzureProviderSpec, subnet: Subnet): NetworkInterface =>
  set<NetworkInterface>({
    location: spec.location,
    tags: spec.tags,
    enableAcceleratedNetworking: spec.properties?.networkProfile?.acceleratedNetworking,
    enableIPForwarding: true,
    nicType: 'Standard',
    ipConfigurations: [{ name: nicName(vm), privateIPAllocationMethod: 'Dynamic', subnet }],
  });

export const zonesOf = ({ properties }: AzureProviderSpec): string[] | undefined =>
  properties?.zone === undefined ? undefined : [String(properties.zone)];

/**
 * Returns the request body for a disk.
 * @param urnImageId the ID of the image that the URN of the class names
 */
export function diskBody(spec: AzureProviderSpec, disk: DataDisk, urnImageId: string | undefined): Disk {
  const { id, communityGalleryImageID: community, sharedGalleryImageID: shared } = disk.imageRef ?? {};
  const gallery: { sharedGalleryImageId?: string | undefined; communityGalleryImageId?: string | undefined } = isBlank(
    community,
  )
    ? { sharedGalleryImageId: shared }
    : { communityGalleryImageId: community };
  const from =
    urnImageId !== undefined || !isBlank(id)
      ? { imageReference: set({ id: urnImageId ?? id }) }
      : { galleryImageReference: set(gallery) };
  return set<Disk>({
    location: spec.location,
    tags: spec.tags,
    zones: zonesOf(spec),
    sku: set({ name: disk.storageAccountType }),
    osType: 'Linux',
    diskSizeGB: disk.diskSizeGB,
    creationData: { createOption: 'FromImage', ...from },
  });
}

export interface VmParts {
  readonly vm: string;
  readonly spec: AzureProviderSpec;
  readonly userData: Uint8Array;
  readonly nicId: string;
  readonly plan: object | undefined;
  readonly diskIds: ReadonlyMap<string, string>;
  /** Returns a public key for SSH. Azure requires a key even if the class has none. */
  readonly throwAwayKey: () => string;
}

export function vmBody({ vm, spec, userData, nicId, plan, diskIds, throwAwayKey }: VmParts): VirtualMachine {
  const { properties = {} } = spec;
  const { identityID, availabilitySet, virtualMachineScaleSet, diagnosticsProfile, capacityReservation, priority } =
    properties;
  const spot = priority === 'Spot';
  const { linuxConfiguration = {}, adminUsername } = properties.osProfile ?? {};
  const { path = '', keyData } = linuxConfiguration.ssh?.publicKeys ?? {};
  const key = { path, keyData: isBlank(keyData) ? throwAwayKey() : keyData };
  return set<VirtualMachine>({
    location: spec.location,
    tags: spec.tags,
    zones: zonesOf(spec),
    plan,
    priority: isBlank(priority) ? undefined : priority,
    evictionPolicy: spot ? 'Delete' : undefined,
    // The maximum price -1 means the price of a regular VM. With a lower maximum, Azure could stop the VM, and its
    // disks would still cost money.
    billingProfile: spot ? { maxPrice: -1 } : undefined,
    identity:
      identityID === undefined ? undefined : { type: 'UserAssigned', userAssignedIdentities: { [identityID]: {} } },
    hardwareProfile: set({ vmSize: properties.hardwareProfile?.vmSize }),
    networkProfile: { networkInterfaces: [{ id: nicId, primary: true, deleteOption: 'Delete' }] },
    osProfile: set<NonNullable<VirtualMachine['osProfile']>>({
      adminUsername,
      computerName: vm,
      customData: bytesOf(userData).toString('base64'),
      linuxConfiguration: {
        disablePasswordAuthentication: linuxConfiguration.disablePasswordAuthentication ?? false,
        ssh: { publicKeys: [set(key)] },
      },
    }),
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
  });
}

type Security = NonNullable<NonNullable<AzureProviderSpec['properties']>['securityProfile']>;

const securityBody = (profile: Security | undefined): SecurityProfile | undefined =>
  profile &&
  set<SecurityProfile>({
    securityType: profile.securityType,
    uefiSettings:
      profile.uefiSettings &&
      set({
        secureBootEnabled: profile.uefiSettings.secureBootEnabled,
        vTpmEnabled: profile.uefiSettings.vtpmEnabled,
      }),
  });

function storageBody(vm: string, spec: AzureProviderSpec, diskIds: ReadonlyMap<string, string>): StorageProfile {
  const { osDisk = {}, imageReference = {}, diskControllerType } = spec.properties?.storageProfile ?? {};
  const encryption = osDisk.managedDisk?.securityProfile?.securityEncryptionType;
  const disks = dataDisksOf(spec);
  return set<StorageProfile>({
    imageReference: imageBody(imageReference),
    diskControllerType: diskControllerType ? diskControllerType : undefined,
    osDisk: set<NonNullable<StorageProfile['osDisk']>>({
      name: osDiskName(vm),
      caching: (osDisk.caching ?? '') as CachingTypes,
      createOption: osDisk.createOption,
      diskSizeGB: osDisk.diskSizeGB,
      deleteOption: 'Delete',
      managedDisk: set({
        storageAccountType: osDisk.managedDisk?.storageAccountType ?? '',
        securityProfile: encryption === undefined ? undefined : { securityEncryptionType: encryption },
      }),
    }),
    dataDisks: disks.length > 0 ? disks.map((disk) => dataDiskBody(vm, disk, diskIds)) : undefined,
  });
}

function dataDiskBody(vm: string, disk: DataDisk, diskIds: ReadonlyMap<string, string>): ComputeDataDisk {
  const name = dataDiskName(vm, disk);
  const made = diskIds.get(name);
  return set<ComputeDataDisk>({
    lun: disk.lun ?? 0,
    name,
    caching: (isBlank(disk.caching) ? 'None' : disk.caching) as CachingTypes,
    createOption: disk.imageRef ? 'Attach' : 'Empty',
    deleteOption: 'Delete',
    diskSizeGB: disk.diskSizeGB,
    managedDisk: set({ id: made, storageAccountType: disk.storageAccountType }),
  });
}

function imageBody({
  id,
  urn,
  communityGalleryImageID: community,
  sharedGalleryImageID: shared,
}: ImageReference): ComputeImageReference {
  if (!isBlank(id)) return set<ComputeImageReference>({ id });
  if (!isBlank(community)) return set<ComputeImageReference>({ communityGalleryImageId: community });
  if (!isBlank(shared)) return set<ComputeImageReference>({ sharedGalleryImageId: shared });
  const [publisher, offer, sku, version] = (urn ?? '').split(':');
  return set<ComputeImageReference>({ publisher, offer, sku, version });
}
