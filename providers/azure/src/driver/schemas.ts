import { z } from 'zod';

const text = (description: string) => z.string().optional().meta({ description });
const flag = (description: string) => z.boolean().optional().meta({ description });
const count = (description: string) => z.int32().optional().meta({ description });

const imageReference = z.object({
  id: text('ARM id of an image'),
  urn: text('marketplace image, publisher:offer:sku:version'),
  communityGalleryImageID: text('image of a community gallery, /CommunityGalleries/…'),
  sharedGalleryImageID: text('image of a shared gallery, /SharedGalleries/…'),
  skipMarketplaceAgreement: flag(
    'true: neither the terms of the image are agreed to nor its plan is sent; default false',
  ),
});
export type ImageReference = z.infer<typeof imageReference>;

const dataDisk = z.object({
  name: text('part of the disk’s name, <vm>-<name>-<lun>-data-disk'),
  lun: count('number of the disk at the VM, 0 or more; each once'),
  diskSizeGB: count('size in GB, more than 0; needed'),
  storageAccountType: text('kind of disk, StandardSSD_LRS; needed'),
  caching: text('None, ReadOnly or ReadWrite; default None'),
  imageRef: imageReference.optional().meta({ description: 'image that the disk is filled with, as imageReference' }),
});
export type DataDisk = z.infer<typeof dataDisk>;

const managedDisk = z.object({
  id: text('taken and not sent, as by the original'),
  storageAccountType: text('kind of disk, Premium_LRS; sent even when empty'),
  securityProfile: z
    .object({ securityEncryptionType: text('VMGuestStateOnly or DiskWithVMGuestState, for confidential VMs') })
    .optional()
    .meta({ description: 'encryption of a confidential VM’s disk' }),
});

const osDisk = z.object({
  name: text('taken and not sent, as by the original: the disk is <vm>-os-disk'),
  caching: text('None, ReadOnly or ReadWrite; sent even when empty'),
  createOption: text('how the disk is made, FromImage; needed'),
  diskSizeGB: count('size in GB, more than 0; needed'),
  managedDisk: managedDisk.optional().meta({ description: 'kind and encryption of the disk' }),
});

const publicKeys = z.object({
  path: text('file on the VM that holds the key, /home/core/.ssh/authorized_keys'),
  keyData: text('public key; absent: one whose private half nobody has'),
});

const linuxConfiguration = z.object({
  disablePasswordAuthentication: flag('whether nobody gets in by password; default false'),
  ssh: z
    .object({ publicKeys: publicKeys.optional().meta({ description: 'one key, not a list' }) })
    .optional()
    .meta({ description: 'who gets in by SSH' }),
});

const osProfile = z.object({
  adminUsername: text('name of the VM’s administrator; needed'),
  linuxConfiguration: linuxConfiguration.optional().meta({ description: 'how the administrator gets in' }),
});

const storageProfile = z.object({
  imageReference: imageReference.optional().meta({
    description: 'image of the VMs; exactly one of id, urn, communityGalleryImageID and sharedGalleryImageID',
  }),
  diskControllerType: text('SCSI or NVMe; default: as the VM’s size has it'),
  osDisk: osDisk.optional().meta({ description: 'disk that the VM boots from; needed' }),
  dataDisks: z.array(dataDisk).optional().meta({ description: 'further disks of each VM' }),
});

const machineSet = z.object({
  id: text('ARM id of the set'),
  kind: text('availabilityset or vmo'),
});

const uefiSettings = z.object({
  vtpmEnabled: flag('a virtual trusted platform module'),
  secureBootEnabled: flag('whether only signed software boots'),
});

const securityProfile = z.object({
  securityType: text('TrustedLaunch or ConfidentialVM'),
  uefiSettings: uefiSettings.optional().meta({ description: 'firmware of such VMs' }),
});

const properties = z.object({
  hardwareProfile: z
    .object({ vmSize: text('size of the VMs, Standard_D4s_v5; needed') })
    .optional()
    .meta({ description: 'size of the VMs; needed' }),
  osProfile: osProfile
    .optional()
    .meta({ description: 'who gets in; computer name and custom data are the machine’s and the Secret’s' }),
  networkProfile: z
    .object({ acceleratedNetworking: flag('whether the NIC passes the host by') })
    .optional()
    .meta({ description: 'the VMs’ NIC' }),
  storageProfile: storageProfile.optional().meta({ description: 'image and disks of the VMs; needed' }),
  zone: z
    .int()
    .optional()
    .meta({ description: 'availability zone; exactly one of zone, availabilitySet and virtualMachineScaleSet' }),
  availabilitySet: z
    .object({ id: text('ARM id') })
    .optional()
    .meta({ description: 'availability set of the VMs' }),
  virtualMachineScaleSet: z
    .object({ id: text('ARM id') })
    .optional()
    .meta({ description: 'scale set with flexible orchestration' }),
  machineSet: machineSet.optional().meta({
    description: 'deprecated: fills availabilitySet or virtualMachineScaleSet, by its kind, where that is absent',
  }),
  identityID: text('ARM id of a user-assigned managed identity of the VMs'),
  diagnosticsProfile: z
    .object({
      enabled: flag('whether console log and screenshot are kept'),
      storageURI: text('storage account for them; absent: one of Azure’s'),
    })
    .optional()
    .meta({ description: 'boot diagnostics' }),
  securityProfile: securityProfile.optional().meta({ description: 'trusted launch, confidential VMs' }),
  capacityReservation: z
    .object({ capacityReservationGroupID: text('ARM id of a group of capacity reservations') })
    .optional()
    .meta({ description: 'capacity reserved beforehand' }),
});
export type Properties = z.infer<typeof properties>;

const subnetInfo = z.object({
  vnetName: text('virtual network; needed'),
  vnetResourceGroup: text('resource group of the network; default resourceGroup'),
  subnetName: text('subnet of the VMs; needed'),
});

/** `MachineClass.providerSpec` of provider `Azure`: types only, the rules are in `validate.ts`. */
export const AzureProviderSpec = z.object({
  location: text('region of the VMs, northeurope; needed'),
  resourceGroup: text('resource group of VMs, NICs and disks; needed'),
  subnetInfo: subnetInfo.optional().meta({ description: 'where the VMs’ NICs are; needed' }),
  tags: z.record(z.string(), z.string()).optional().meta({
    description:
      'tags of VM, NIC and disks; one key begins with kubernetes.io-cluster- and one with kubernetes.io-role-, by which they are found',
  }),
  cloudConfiguration: z
    .object({ name: text('AzurePublic, AzureChina or AzureGovernment') })
    .optional()
    .meta({ description: 'which of Azure’s clouds; default AzurePublic' }),
  properties: properties.optional().meta({ description: 'what each VM is like; needed' }),
});
export type AzureProviderSpec = z.infer<typeof AzureProviderSpec>;

/** Decoded data of the class's Secrets; of two names of a key the first that is there counts. */
export const AzureCredentials = z.looseObject({
  clientID: text('id of the application; needed, unless managedIdentity is system'),
  azureClientId: text('another name of clientID'),
  clientSecret: text('secret of the application; one of the four kinds of proof'),
  azureClientSecret: text('another name of clientSecret'),
  workloadIdentityTokenFile: text('file with a federated token, read for each login; in place of clientSecret'),
  clientCertificate: text('PEM of a certificate and its RSA key, without a password; in place of clientSecret'),
  managedIdentity: text(
    'system or user (then with clientID): the identity of the controller’s host; needs --allow-managed-identity',
  ),
  subscriptionID: text('subscription of the resources; needed'),
  azureSubscriptionId: text('another name of subscriptionID'),
  tenantID: text('tenant of the application; needed, unless managedIdentity is set'),
  azureTenantId: text('another name of tenantID'),
  userData: text('custom data: what a VM runs at its first boot, any bytes; needed'),
});
export type AzureCredentials = z.infer<typeof AzureCredentials>;
