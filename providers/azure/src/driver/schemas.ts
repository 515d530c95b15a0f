import { z } from 'zod';

const id = z.object({ id: z.string().optional() });

const imageReference = z.object({
  id: z.string().optional(),
  urn: z.string().optional().meta({ description: 'publisher:offer:sku:version' }),
  communityGalleryImageID: z.string().optional(),
  sharedGalleryImageID: z.string().optional(),
  skipMarketplaceAgreement: z.boolean().optional(),
});
export type ImageReference = z.infer<typeof imageReference>;

const dataDisk = z.object({
  name: z.string().optional(),
  lun: z.int32().optional(),
  diskSizeGB: z.int32().optional(),
  storageAccountType: z.string().optional(),
  caching: z.string().optional().meta({ description: 'default None' }),
  imageRef: imageReference.optional(),
});
export type DataDisk = z.infer<typeof dataDisk>;

const osDisk = z.object({
  name: z.string().optional(),
  caching: z.string().optional(),
  createOption: z.string().optional(),
  diskSizeGB: z.int32().optional(),
  managedDisk: z
    .object({
      id: z.string().optional(),
      storageAccountType: z.string().optional(),
      securityProfile: z.object({ securityEncryptionType: z.string().optional() }).optional(),
    })
    .optional(),
});

const linuxConfiguration = z.object({
  disablePasswordAuthentication: z.boolean().optional(),
  ssh: z
    .object({ publicKeys: z.object({ path: z.string().optional(), keyData: z.string().optional() }).optional() })
    .optional(),
});

const properties = z.object({
  hardwareProfile: z.object({ vmSize: z.string().optional() }).optional(),
  osProfile: z
    .object({ adminUsername: z.string().optional(), linuxConfiguration: linuxConfiguration.optional() })
    .optional(),
  networkProfile: z.object({ acceleratedNetworking: z.boolean().optional() }).optional(),
  storageProfile: z
    .object({
      imageReference: imageReference.optional(),
      diskControllerType: z.string().optional(),
      osDisk: osDisk.optional(),
      dataDisks: z.array(dataDisk).optional(),
    })
    .optional(),
  zone: z.int().optional(),
  availabilitySet: id.optional(),
  virtualMachineScaleSet: id.optional(),
  /** Deprecated: fills one of the two above. */
  machineSet: z.object({ id: z.string().optional(), kind: z.string().optional() }).optional(),
  identityID: z.string().optional(),
  diagnosticsProfile: z.object({ enabled: z.boolean().optional(), storageURI: z.string().optional() }).optional(),
  securityProfile: z
    .object({
      securityType: z.string().optional(),
      uefiSettings: z
        .object({ vtpmEnabled: z.boolean().optional(), secureBootEnabled: z.boolean().optional() })
        .optional(),
    })
    .optional(),
  capacityReservation: z.object({ capacityReservationGroupID: z.string().optional() }).optional(),
});
export type Properties = z.infer<typeof properties>;

/** `MachineClass.providerSpec` of provider `Azure`: types only, the rules are in `validate.ts`. */
export const AzureProviderSpec = z.object({
  location: z.string().optional(),
  resourceGroup: z.string().optional(),
  subnetInfo: z
    .object({
      vnetName: z.string().optional(),
      vnetResourceGroup: z.string().optional(),
      subnetName: z.string().optional(),
    })
    .optional(),
  tags: z.record(z.string(), z.string()).optional(),
  cloudConfiguration: z.object({ name: z.string().optional() }).optional(),
  properties: properties.optional(),
});
export type AzureProviderSpec = z.infer<typeof AzureProviderSpec>;

/** Decoded data of the class's Secrets; of two names of a key the first that is there counts. */
export const AzureCredentials = z.looseObject({
  clientID: z.string().optional(),
  azureClientId: z.string().optional(),
  clientSecret: z.string().optional(),
  azureClientSecret: z.string().optional(),
  workloadIdentityTokenFile: z.string().optional(),
  subscriptionID: z.string().optional(),
  azureSubscriptionId: z.string().optional(),
  tenantID: z.string().optional(),
  azureTenantId: z.string().optional(),
  userData: z.string().optional(),
});
export type AzureCredentials = z.infer<typeof AzureCredentials>;
