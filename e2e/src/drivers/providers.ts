import { ArmEndpoint, Ec2Endpoint, GceEndpoint } from '@mcm/cloud-emulators';
import { handlerTransport, seededRandom, silentLogger } from '@mcm/kube';
import { type AwsCredentials, type AwsProviderSpec, createAwsDriver } from '@mcm/provider-aws';
import { type AzureCredentials, type AzureProviderSpec, createAzureDriver, loadSdk } from '@mcm/provider-azure';
import { createGcpDriver, type GcpCredentials, type GcpProviderSpec } from '@mcm/provider-gcp';
import {
  createCloud,
  createLocalDriver,
  formatProviderId,
  type LocalCredentials,
  type LocalProviderSpec,
} from '@mcm/provider-local';
import { AWS_VARIABLES } from './aws-environment.ts';
import type { FleetCloud, FleetProvider } from './fleet.ts';

// Loading the SDK takes real time, and the test uses a virtual clock, so the SDK is loaded first.
await loadSdk();

/**
 * @param change the changes of the provider spec. With `ipv6PrefixCount: 1` and a disabled source check, a machine
 *   needs more calls than with any other change.
 */
export const aws = (change: object = {}): FleetProvider<AwsProviderSpec, AwsCredentials> => ({
  cloud: (options) => new Ec2Endpoint({ ...options, shutdownMs: 30_000, visibleAfterMs: 0, bootMs: 5_000 }),
  driver: (context) =>
    createAwsDriver({ ...context, environment: { variables: AWS_VARIABLES, readFile: async () => undefined } }),
  machineClass: {
    provider: 'AWS',
    providerSpec: {
      ami: 'ami-1',
      region: 'eu-north-1',
      machineType: 'm6i.large',
      iam: { name: 'nodes' },
      blockDevices: [{ ebs: { volumeSize: 42, volumeType: 'gp3', encrypted: true } }],
      networkInterfaces: [{ subnetID: 'subnet-a', securityGroupIDs: ['sg-1'], ipv6PrefixCount: 1 }],
      tags: { 'kubernetes.io/cluster/ours': '1', 'kubernetes.io/role/node': '1' },
      srcAndDstChecksEnabled: false,
      ...change,
    },
  },
  secret: { providerAccessKeyId: 'AKIAFAKE', providerSecretAccessKey: 'fake' },
});

export const azure = (): FleetProvider<AzureProviderSpec, AzureCredentials> => ({
  cloud: (options) => new ArmEndpoint(options),
  driver: (context) =>
    createAzureDriver({ ...context, readFile: async () => undefined, authorize: async () => 'Bearer test' }),
  machineClass: {
    provider: 'Azure',
    providerSpec: {
      location: 'northeurope',
      resourceGroup: 'rg',
      subnetInfo: { vnetName: 'net', subnetName: 'nodes' },
      tags: { 'kubernetes.io-cluster-ours': '1', 'kubernetes.io-role-node': '1' },
      properties: {
        zone: 1,
        hardwareProfile: { vmSize: 'Standard_D4s_v5' },
        osProfile: {
          adminUsername: 'core',
          linuxConfiguration: { ssh: { publicKeys: { path: '/k', keyData: 'ssh-ed25519 AAAA' } } },
        },
        storageProfile: {
          imageReference: { communityGalleryImageID: '/CommunityGalleries/g/Images/i/Versions/1' },
          osDisk: { createOption: 'FromImage', diskSizeGB: 50 },
        },
      },
    },
  },
  secret: { clientID: 'c', clientSecret: 's', subscriptionID: 'sub', tenantID: 't' },
});

export const gcp = (): FleetProvider<GcpProviderSpec, GcpCredentials> => ({
  cloud: (options) => new GceEndpoint(options),
  driver: (context) =>
    createGcpDriver({ ...context, readFile: async () => undefined, authorize: async () => 'Bearer test' }),
  machineClass: {
    provider: 'GCP',
    providerSpec: {
      region: 'europe-north1',
      zone: 'europe-north1-b',
      machineType: 'n2-standard-4',
      disks: [{ boot: true, sizeGb: 42, type: 'pd-balanced', image: 'projects/p/global/images/i' }],
      networkInterfaces: [{ subnetwork: 'nodes', disableExternalIP: true }],
      scheduling: { automaticRestart: true, onHostMaintenance: 'MIGRATE' },
      tags: ['kubernetes-io-cluster-ours', 'kubernetes-io-role-node'],
    },
  },
  secret: { serviceAccountJSON: JSON.stringify({ type: 'service_account', project_id: 'p', private_key: 'none' }) },
});

/** The local cloud writes the provider IDs of its Nodes itself, so they always equal the IDs of the driver. */
export const local = (): FleetProvider<LocalProviderSpec, LocalCredentials, FleetCloud> => ({
  cloud: ({ clock, power }) => {
    const running = new Map<string, string>();
    const cloud = createCloud({
      clock,
      random: seededRandom(5),
      log: silentLogger,
      host: {
        boot: (instance, _type, { resumed }) => {
          running.set(instance.id, instance.name);
          const { name: hostname } = instance;
          power.on({ ...instance, hostname, providerId: formatProviderId(instance) }, resumed);
        },
        halt: async (id) => {
          running.delete(id);
          power.off(id);
        },
        forget: () => undefined,
      },
    });
    return {
      transport: handlerTransport(cloud.fetch),
      resources: () => [...running].map(([id, name]) => ({ kind: 'instance', id, name, state: 'running' })),
      counts: new Map(),
    };
  },
  driver: ({ clock, connect }) => createLocalDriver({ clock, connect, defaults: { endpoint: 'http://cloud' } }),
  machineClass: {
    provider: 'local',
    providerSpec: { image: 'linux', zone: 'local-a', tags: { 'kubernetes.io/cluster/ours': '1' } },
  },
  secret: {},
});
