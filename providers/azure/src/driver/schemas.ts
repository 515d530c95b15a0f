import { z } from 'zod';

const text = (description: string) => z.string().optional().meta({ description });
const flag = (description: string) => z.boolean().optional().meta({ description });
const count = (description: string) => z.int32().optional().meta({ description });

const imageReference = z.object({
  id: text('Resource Manager ID of an image'),
  urn: text('marketplace image, publisher:offer:sku:version'),
  communityGalleryImageID: text('ID of an image in a community gallery, /CommunityGalleries/…'),
  sharedGalleryImageID: text('ID of an image in a shared gallery, /SharedGalleries/…'),
  skipMarketplaceAgreement: flag(
    'true: mcm does not accept the marketplace terms of the image and does not send its plan; default false',
  ),
});
export type ImageReference = z.infer<typeof imageReference>;

const dataDisk = z.object({
  name: text('part of the full disk name <vm>-<name>-<lun>-data-disk'),
  lun: count('logical unit number of the data disk, 0 or more; unique on each VM'),
  diskSizeGB: count('size of the disk in GB, more than 0; required'),
  storageAccountType: text('kind of disk, such as StandardSSD_LRS; required'),
  caching: text('cache mode of the disk: None, ReadOnly or ReadWrite; default None'),
  imageRef: imageReference
    .optional()
    .meta({ description: 'image from which Azure creates the disk, with the fields of imageReference' }),
});
export type DataDisk = z.infer<typeof dataDisk>;

const managedDisk = z.object({
  id: text('mcm accepts this field for compatibility, but does not send it to Azure'),
  storageAccountType: text('kind of the disk, such as Premium_LRS; can be empty'),
  securityProfile: z
    .object({
      securityEncryptionType: text('encryption type of a confidential VM: VMGuestStateOnly or DiskWithVMGuestState'),
    })
    .optional()
    .meta({ description: 'encryption of a confidential VM’s disk' }),
});

const osDisk = z.object({
  name: text('mcm accepts the name for compatibility, but names the disk <vm>-os-disk'),
  caching: text('cache mode of the disk: None, ReadOnly or ReadWrite; can be empty'),
  createOption: text('source of the disk, such as FromImage; required'),
  diskSizeGB: count('size of the disk in GB, more than 0; required'),
  managedDisk: managedDisk.optional().meta({ description: 'kind and encryption of the managed disk' }),
});

const publicKeys = z.object({
  path: text('path of the file on the VM to which Azure writes the key, such as /home/core/.ssh/authorized_keys'),
  keyData: text('public SSH key; if the key is absent, mcm generates a key pair and discards the private key'),
});

const linuxConfiguration = z.object({
  disablePasswordAuthentication: flag('true: the VM accepts no logins with passwords; default false'),
  ssh: z
    .object({
      publicKeys: publicKeys.optional().meta({ description: 'a single object with one SSH key' }),
    })
    .optional()
    .meta({ description: 'access by SSH' }),
});

const osProfile = z.object({
  computerName: text('mcm accepts the name for compatibility, but uses the name of the VM as the computer name'),
  adminUsername: text('name of the VM’s administrator; required'),
  adminPassword: text('mcm accepts this field for compatibility, but does not send it to Azure'),
  customData: text('mcm accepts this field for compatibility, but sends userData of the Secret as the custom data'),
  linuxConfiguration: linuxConfiguration.optional().meta({ description: 'login settings of the administrator' }),
});

const networkInterfaces = z.object({
  id: text('mcm accepts this field for compatibility, but does not send it to Azure'),
  properties: z
    .object({ primary: flag('mcm accepts this field for compatibility: the only NIC of a VM is its primary NIC') })
    .optional()
    .meta({ description: 'mcm accepts this field for compatibility, but does not send it to Azure' }),
});

const storageProfile = z.object({
  imageReference: imageReference.optional().meta({
    description: 'image of the VMs; set exactly one of id, urn, communityGalleryImageID and sharedGalleryImageID',
  }),
  diskControllerType: text('disk controller of the VM: SCSI or NVMe; default: the setting of the VM size'),
  osDisk: osDisk.optional().meta({ description: 'disk that the VM boots from; required' }),
  dataDisks: z.array(dataDisk).optional().meta({ description: 'additional disks of each VM' }),
});

const machineSet = z.object({
  id: text('Resource Manager ID of the availability set or scale set'),
  kind: text('availabilityset or vmo'),
});

const uefiSettings = z.object({
  vtpmEnabled: flag('true: the VM has a virtual trusted platform module'),
  secureBootEnabled: flag('true: the VM boots only signed software (secure boot)'),
});

const securityProfile = z.object({
  securityType: text('TrustedLaunch or ConfidentialVM'),
  uefiSettings: uefiSettings.optional().meta({ description: 'firmware settings for trusted launch' }),
});

const properties = z.object({
  hardwareProfile: z
    .object({ vmSize: text('size of the VMs, such as Standard_D4s_v5; required') })
    .optional()
    .meta({ description: 'size of the VMs; required' }),
  osProfile: osProfile.optional().meta({
    description: 'administrator account of the VM; mcm adds the computer name and the custom data',
  }),
  networkProfile: z
    .object({
      acceleratedNetworking: flag('true: the NIC uses accelerated networking'),
      networkInterfaces: networkInterfaces.optional().meta({
        description: 'mcm accepts this field for compatibility, but creates one NIC for each VM',
      }),
    })
    .optional()
    .meta({ description: 'the VMs’ NIC' }),
  storageProfile: storageProfile.optional().meta({ description: 'image and disks of the VMs; required' }),
  zone: z
    .int()
    .optional()
    .meta({ description: 'availability zone; set exactly one of zone, availabilitySet and virtualMachineScaleSet' }),
  priority: text(
    'Regular or Spot (cheaper VMs that Azure can delete at any time); default Regular; the original ignores this field',
  ),
  availabilitySet: z
    .object({ id: text('ARM id') })
    .optional()
    .meta({ description: 'availability set of the VMs' }),
  virtualMachineScaleSet: z
    .object({ id: text('ARM id') })
    .optional()
    .meta({ description: 'scale set of the VMs, with flexible orchestration' }),
  machineSet: machineSet.optional().meta({
    description: 'deprecated: use availabilitySet or virtualMachineScaleSet; kind selects one of the two',
  }),
  identityID: text('Resource Manager ID of a user-assigned managed identity for the VMs'),
  diagnosticsProfile: z
    .object({
      enabled: flag('true: Azure stores the console log and screenshots of the VMs'),
      storageURI: text(
        'storage account for the console log and screenshots; default: a storage account that Azure manages',
      ),
    })
    .optional()
    .meta({ description: 'boot diagnostics' }),
  securityProfile: securityProfile
    .optional()
    .meta({ description: 'settings of the VMs for trusted launch and confidential computing' }),
  capacityReservation: z
    .object({ capacityReservationGroupID: text('Resource Manager ID of a group of capacity reservations') })
    .optional()
    .meta({ description: 'capacity reservation for the VMs' }),
});
export type Properties = z.infer<typeof properties>;

const subnetInfo = z.object({
  vnetName: text('virtual network; required'),
  vnetResourceGroup: text('resource group of the network; default: resourceGroup'),
  subnetName: text('subnet of the VMs; required'),
});

/** The schema of the provider spec. */
export const AzureProviderSpec = z.object({
  location: text('region of the VMs, such as northeurope; required'),
  resourceGroup: text('resource group of VMs, NICs and disks; required'),
  subnetInfo: subnetInfo.optional().meta({ description: 'network of the NICs; required' }),
  tags: z.record(z.string(), z.string()).optional().meta({
    description:
      'tags of VM, NIC and disks; one key must start with kubernetes.io-cluster-, and one with kubernetes.io-role-',
  }),
  cloudConfiguration: z
    .object({ name: text('AzurePublic, AzureChina or AzureGovernment') })
    .optional()
    .meta({ description: 'name of the Azure cloud; default AzurePublic' }),
  properties: properties.optional().meta({ description: 'properties of each VM; required' }),
});
export type AzureProviderSpec = z.infer<typeof AzureProviderSpec>;

/** The schema of the Secret. */
export const AzureCredentials = z.looseObject({
  clientID: text('ID of the application; required unless managedIdentity is system'),
  azureClientId: text('another name of clientID'),
  clientSecret: text(
    'secret of the application; alternatives: workloadIdentityTokenFile, clientCertificate or managedIdentity',
  ),
  azureClientSecret: text('another name of clientSecret'),
  workloadIdentityTokenFile: text('file with a federated token that mcm reads for each login; replaces clientSecret'),
  clientCertificate: text('certificate with its RSA key in PEM, without a password; replaces clientSecret'),
  managedIdentity: text(
    'managed identity of the controller’s host: system, or user together with clientID; requires --allow-managed-identity',
  ),
  subscriptionID: text('subscription of the resources; required'),
  azureSubscriptionId: text('another name of subscriptionID'),
  tenantID: text('tenant of the application; required unless managedIdentity is set'),
  azureTenantId: text('another name of tenantID'),
  userData: text('custom data: user data for the first boot of a VM, any bytes; required'),
});
export type AzureCredentials = z.infer<typeof AzureCredentials>;
