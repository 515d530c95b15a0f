import type { DriverContext, DriverDefinition } from '@mcm/core';
import { createAwsDriver } from '@mcm/provider-aws';
import { createAzureDriver } from '@mcm/provider-azure';
import { createGcpDriver } from '@mcm/provider-gcp';
import { createLocalDriver } from '@mcm/provider-local';

export interface Sample {
  readonly provider: string;
  readonly createDriver: (context: DriverContext) => DriverDefinition<unknown, unknown>;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly secret: Readonly<Record<string, string>>;
  readonly required: readonly string[];
  readonly keys: readonly string[];
  /** Changes that make the provider spec contradictory, with the expected errors. */
  readonly contradictions: readonly { readonly change: Readonly<Record<string, unknown>>; readonly says: RegExp }[];
  /** The response of a cloud to invalid credentials. */
  readonly unauthorized: { readonly status: number; readonly body: string };
}

const environment = {
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_CONFIG_FILE: '/none',
  AWS_SHARED_CREDENTIALS_FILE: '/none',
};

const aws: Sample = {
  provider: 'AWS',
  createDriver: ({ clock, random, connect }) =>
    createAwsDriver({
      clock,
      random,
      connect,
      environment: { variables: environment, readFile: async () => undefined },
    }),
  spec: {
    ami: 'ami-0f00dcafe12345678',
    region: 'eu-north-1',
    machineType: 'm6i.large',
    iam: { name: 'nodes' },
    blockDevices: [{ ebs: { volumeSize: 42, volumeType: 'gp3', encrypted: true } }],
    networkInterfaces: [{ subnetID: 'subnet-1', securityGroupIDs: ['sg-1'] }],
    tags: { 'kubernetes.io/cluster/ours': '1', 'kubernetes.io/role/node': '1' },
  },
  secret: {
    providerAccessKeyId: 'AKIAFAKEREEF00000001',
    providerSecretAccessKey: 'fake/secret+reef-1',
    userData: '#cloud-config of the bad-input test',
  },
  required: ['ami', 'region', 'machineType', 'iam', 'networkInterfaces', 'tags'],
  keys: ['providerAccessKeyId', 'providerSecretAccessKey'],
  contradictions: [
    { change: { iam: { name: 'nodes', arn: 'arn:aws:iam::1:x' } }, says: /providerSpec\.iam.*either IAM Name or ARN/ },
    {
      change: { capacityReservation: { capacityReservationPreference: 'open', capacityReservationId: 'cr-1' } },
      says: /providerSpec\.capacityReservation.*cannot be set when also providing/,
    },
    {
      change: { blockDevices: [{ ebs: { volumeSize: 8, volumeType: 'io1' } }] },
      says: /providerSpec\.blockDevices\[0\]\.ebs\.iops/,
    },
  ],
  unauthorized: {
    status: 401,
    body: '<Response><Errors><Error><Code>AuthFailure</Code><Message>AWS was not able to validate the provided access credentials</Message></Error></Errors></Response>',
  },
};

const azure: Sample = {
  provider: 'Azure',
  createDriver: (context) =>
    createAzureDriver({ ...context, readFile: async () => undefined, authorize: async () => 'Bearer of-the-test' }),
  spec: {
    location: 'northeurope',
    resourceGroup: 'resource-group',
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
  secret: {
    clientID: 'client-of-the-test',
    clientSecret: 'secret-of-the-test',
    subscriptionID: 'subscription-0001',
    tenantID: 'tenant-of-the-test',
    userData: '#cloud-config of the bad-input test',
  },
  required: ['location', 'resourceGroup', 'subnetInfo', 'tags', 'properties'],
  keys: ['clientID', 'clientSecret', 'subscriptionID', 'tenantID'],
  contradictions: [
    {
      change: {
        properties: {
          zone: 1,
          availabilitySet: { id: '/a' },
          hardwareProfile: { vmSize: 'Standard_D4s_v5' },
        },
      },
      says: /providerSpec\.properties\.\.?zone|zone/,
    },
  ],
  unauthorized: {
    status: 401,
    body: '{"error":{"code":"InvalidAuthenticationToken","message":"The token is not valid"}}',
  },
};

const gcp: Sample = {
  provider: 'GCP',
  createDriver: (context) =>
    createGcpDriver({ ...context, readFile: async () => undefined, authorize: async () => 'Bearer of-the-test' }),
  spec: {
    region: 'europe-north1',
    zone: 'europe-north1-b',
    machineType: 'n2-standard-4',
    disks: [{ boot: true, sizeGb: 42, type: 'pd-balanced', image: 'projects/p/global/images/i' }],
    networkInterfaces: [{ subnetwork: 'nodes', disableExternalIP: true }],
    scheduling: { automaticRestart: true, onHostMaintenance: 'MIGRATE' },
    serviceAccounts: [{ email: 'a@b', scopes: ['s'] }],
    tags: ['kubernetes-io-cluster-ours', 'kubernetes-io-role-node'],
  },
  secret: {
    serviceAccountJSON: JSON.stringify({
      type: 'service_account',
      project_id: 'project-p',
      private_key: 'not-to-be-told',
    }),
    userData: '#cloud-config of the bad-input test',
  },
  required: ['region', 'zone', 'machineType', 'disks', 'networkInterfaces', 'scheduling'],
  keys: ['serviceAccountJSON'],
  contradictions: [
    {
      change: { gpu: { acceleratorType: 'nvidia', count: 1 } },
      says: /onHostMaintenance: Forbidden: liveMigration is not allowed/,
    },
  ],
  unauthorized: {
    status: 401,
    body: '{"error":{"code":401,"message":"Request had invalid authentication credentials.","errors":[{"reason":"authError"}]}}',
  },
};

const local: Sample = {
  provider: 'local',
  createDriver: ({ clock, connect }) => createLocalDriver({ clock, connect }),
  spec: { image: 'linux', zone: 'local-a', volumes: [{ sizeGi: 1 }], tags: { 'kubernetes.io/cluster/ours': '1' } },
  secret: {
    endpoint: 'http://cloud.example',
    token: 'account-token-of-the-test',
    userData: '#cloud-config of the bad-input test',
  },
  required: ['image'],
  keys: ['endpoint'],
  contradictions: [{ change: { machineType: 'small', instanceType: 'large' }, says: /instanceType/ }],
  unauthorized: { status: 401, body: '{"error":{"code":"Unauthenticated","message":"the token is not valid"}}' },
};

export const SAMPLES: readonly Sample[] = [aws, azure, gcp, local];
