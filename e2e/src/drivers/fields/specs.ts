export interface FieldSpecs {
  readonly specs: readonly object[];
  readonly others: Readonly<Record<string, unknown>>;
  readonly idle: readonly string[];
}

const ebs = (size: number) => ({
  volumeType: 'gp3',
  volumeSize: size,
  iops: 3_000,
  throughput: 200,
  encrypted: true,
  deleteOnTermination: false,
  snapshotID: 'snap-1',
  kmsKeyID: 'key',
});
const awsFirst = {
  apiVersion: 'mcm.gardener.cloud/v1alpha1',
  ami: 'ami-1',
  region: 'eu-north-1',
  machineType: 'm6i.large',
  keyName: 'key',
  iam: { name: 'nodes' },
  blockDevices: [
    { deviceName: '/root', ebs: ebs(50), noDevice: 'none', virtualName: 'ephemeral0' },
    { deviceName: '/dev/sdb', ebs: ebs(20) },
  ],
  networkInterfaces: [
    {
      subnetID: 'subnet-1',
      securityGroupIDs: ['sg-1'],
      associatePublicIPAddress: true,
      deleteOnTermination: false,
      description: 'words',
      ipv6AddressCount: 1,
      primaryIpv6: false,
      ipv6PrefixCount: 1,
      interfaceType: 'interface',
      deviceIndex: 0,
      networkCardIndex: 0,
    },
  ],
  tags: { 'kubernetes.io/cluster/ours': '1', 'kubernetes.io/role/node': '1', colour: 'blue' },
  capacityReservation: { capacityReservationId: 'cr-1' },
  instanceMarketOptions: { marketType: 'spot' },
  srcAndDstChecksEnabled: false,
  instanceMetadataOptions: {
    httpEndpoint: 'enabled',
    httpTokens: 'required',
    httpProtocolIpv6: 'enabled',
    httpPutResponseHopLimit: 2,
  },
  cpuOptions: { coreCount: 2, threadsPerCore: 1, amdSevSnp: 'enabled' },
  hibernationOptions: { configured: true },
  placement: { tenancy: 'host', affinity: 'host', groupId: 'pg-1', hostId: 'h-1', partitionNumber: 2 },
  ebsOptimized: true,
  monitoring: true,
};
const { instanceMarketOptions: _, ...onDemand } = awsFirst;

export const AWS: FieldSpecs = {
  specs: [
    awsFirst,
    {
      ...onDemand,
      iam: { arn: 'arn:aws:iam::1:instance-profile/x' },
      spotPrice: '0.5',
      capacityReservation: { capacityReservationPreference: 'open' },
    },
    {
      ...onDemand,
      capacityReservation: { capacityReservationResourceGroupArn: 'arn:aws:resource-groups:::x' },
      placement: { tenancy: 'default' },
    },
  ],
  others: {
    'blockDevices[].deviceName': '/dev/sdc',
    'blockDevices[].ebs.volumeType': 'gp2',
    'networkInterfaces[].interfaceType': 'efa',
    'instanceMarketOptions.marketType': 'capacity-block',
    'instanceMetadataOptions.httpEndpoint': 'disabled',
    'instanceMetadataOptions.httpTokens': 'optional',
    'instanceMetadataOptions.httpProtocolIpv6': 'disabled',
    'cpuOptions.amdSevSnp': 'disabled',
    'placement.affinity': 'default',
    'placement.tenancy': 'dedicated',
  },
  idle: [],
};

const IMAGES = [
  { id: '/images/one' },
  { urn: 'pub:offer:sku:1', skipMarketplaceAgreement: false },
  { communityGalleryImageID: '/CommunityGalleries/g/Images/i/Versions/1' },
  { sharedGalleryImageID: '/SharedGalleries/g/Images/i/Versions/1' },
];
const PLACES = [
  { zone: 1 },
  { availabilitySet: { id: '/sets/a' } },
  { virtualMachineScaleSet: { id: '/sets/b' } },
  { machineSet: { id: '/sets/c', kind: 'vmo' } },
];
const azureWith = (image: object, place: object) => ({
  location: 'northeurope',
  resourceGroup: 'rg',
  cloudConfiguration: { name: 'AzurePublic' },
  subnetInfo: { vnetName: 'net', vnetResourceGroup: 'rg-of-net', subnetName: 'nodes' },
  tags: { 'kubernetes.io-cluster-ours': '1', 'kubernetes.io-role-node': '1', colour: 'blue' },
  properties: {
    ...place,
    priority: 'Regular',
    hardwareProfile: { vmSize: 'Standard_D4s_v5' },
    osProfile: {
      computerName: 'host',
      adminUsername: 'core',
      adminPassword: 'word',
      customData: 'data',
      linuxConfiguration: {
        disablePasswordAuthentication: true,
        ssh: { publicKeys: { path: '/home/core/.ssh/authorized_keys', keyData: 'ssh-ed25519 AAAA' } },
      },
    },
    networkProfile: { acceleratedNetworking: true, networkInterfaces: { id: 'nic', properties: { primary: true } } },
    storageProfile: {
      imageReference: image,
      diskControllerType: 'SCSI',
      osDisk: {
        name: 'disk',
        caching: 'None',
        createOption: 'FromImage',
        diskSizeGB: 50,
        managedDisk: {
          id: '/disks/one',
          storageAccountType: 'Premium_LRS',
          securityProfile: { securityEncryptionType: 'VMGuestStateOnly' },
        },
      },
      dataDisks: [
        {
          name: 'seed',
          lun: 1,
          diskSizeGB: 20,
          storageAccountType: 'Standard_LRS',
          caching: 'ReadOnly',
          imageRef: image,
        },
      ],
    },
    identityID: '/identities/one',
    diagnosticsProfile: { enabled: true, storageURI: 'https://store.example/' },
    securityProfile: { securityType: 'ConfidentialVM', uefiSettings: { vtpmEnabled: true, secureBootEnabled: true } },
    capacityReservation: {
      capacityReservationGroupID:
        '/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/c',
    },
  },
});

export const AZURE: FieldSpecs = {
  specs: IMAGES.map((image, i) => azureWith(image, PLACES[i] ?? {})),
  others: {
    'cloudConfiguration.name': 'AzureChina',
    'properties.storageProfile.imageReference.urn': 'pub:offer:sku:2',
    'properties.storageProfile.dataDisks[].imageRef.urn': 'pub:offer:sku:2',
    'properties.storageProfile.diskControllerType': 'NVMe',
    'properties.storageProfile.osDisk.managedDisk.securityProfile.securityEncryptionType': 'DiskWithVMGuestState',
    'properties.securityProfile.securityType': 'TrustedLaunch',
    'properties.machineSet.kind': 'availabilityset',
    'properties.priority': 'Spot',
  },
  // As in the original, the driver accepts marketplace terms only for the image of the VM itself.
  idle: ['properties.storageProfile.dataDisks[].imageRef.skipMarketplaceAgreement'],
};

const gcpFirst = {
  apiVersion: 'mcm.gardener.cloud/v1alpha1',
  region: 'europe-north1',
  zone: 'europe-north1-b',
  machineType: 'n2-standard-4',
  canIpForward: true,
  deletionProtection: true,
  description: 'words',
  disks: [
    {
      type: 'pd-balanced',
      boot: true,
      image: 'projects/p/global/images/i',
      autoDelete: false,
      sizeGb: 42,
      labels: { name: 'pool' },
      provisionedIops: 3_000,
      provisionedThroughput: 200,
      storagePool: 'pools/one',
      encryption: { kmsKeyName: 'key', kmsKeyServiceAccount: 'k@p' },
    },
    { type: 'SCRATCH', interface: 'NVME' },
  ],
  gpu: { acceleratorType: 'nvidia-tesla-t4', count: 1 },
  labels: { name: 'pool' },
  metadata: [{ key: 'colour', value: 'blue' }],
  minCpuPlatform: 'Intel Ice Lake',
  networkInterfaces: [
    {
      network: 'net',
      subnetwork: 'nodes',
      disableExternalIP: true,
      stackType: 'IPV4_ONLY',
      useAliasIPs: true,
      ipv6accessType: 'INTERNAL',
      ipCidrRange: '/24',
      subnetworkRangeName: 'range',
    },
  ],
  scheduling: { automaticRestart: true, onHostMaintenance: 'TERMINATE', preemptible: true },
  serviceAccounts: [{ email: 'a@p', scopes: ['s'] }],
  tags: ['kubernetes-io-cluster-ours', 'kubernetes-io-role-node', 'colour'],
  shieldedInstanceConfiguration: { integrityMonitoring: true, secureBoot: true, vtpm: true },
  advancedMachineFeatures: { enableNestedVirtualization: true },
};
const { gpu: __, ...withoutGpu } = gcpFirst;

export const GCP: FieldSpecs = {
  specs: [gcpFirst, { ...withoutGpu, scheduling: { onHostMaintenance: 'TERMINATE' } }],
  others: {
    'scheduling.onHostMaintenance': 'MIGRATE',
    'disks[].type': 'pd-ssd',
    'disks[].interface': 'SCSI',
    'networkInterfaces[].stackType': 'IPV4_IPV6',
    'networkInterfaces[].ipv6accessType': 'EXTERNAL',
    'networkInterfaces[].ipCidrRange': '/25',
  },
  idle: [],
};
