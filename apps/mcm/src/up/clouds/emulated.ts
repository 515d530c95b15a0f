import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { DataDir } from '../../instance/data-dir.ts';
import { keptSecret } from './kept-secret.ts';
import { awsLogins, azureLogins, gcpAccount, gcpLogins } from './logins.ts';
import type { ProgramOf, ProviderFor } from './provider.ts';

const fresh = (): string => randomBytes(24).toString('base64url');

/** Returns the program that emulates a cloud. */
const emulator = (data: DataDir, provider: string, account: object): ProgramOf => ({
  name: `${provider}-emulator`,
  module: '@mcm/cloud-emulators/main',
  args: [`--provider=${provider}`, '--port=0', `--data-dir=${data.file('cloud')}`],
  env: { MCM_EMULATOR_ACCOUNT: JSON.stringify(account) },
});

const nodeTemplate = (instanceType: string, region: string, zone: string) => ({
  capacity: { cpu: '4', gpu: '0', memory: '16Gi' },
  instanceType,
  region,
  zone,
});

/** Emulates EC2 on the loopback address. The AWS keys, files and roles of this host are not used. */
export const awsProvider: ProviderFor = (data) => {
  const keys = { accessKeyId: 'AKIAEMULATED00000001', secretAccessKey: keptSecret(data, 'cloud-token', fresh) };
  const logins = (address: string) => awsLogins(data, address);
  return {
    name: 'aws',
    cloud: emulator(data, 'aws', { ...keys, ...logins('').account }),
    machineController: ({ address }) => ({
      name: 'machine-controller-aws',
      module: '@mcm/provider-aws/main',
      args: ['--interruptions', '--interruption-queue=mcm-interruptions'],
      env: { AWS_ENDPOINT_URL: address, ...logins(address).env },
    }),
    credentials: () => ({
      providerAccessKeyId: keys.accessKeyId,
      providerSecretAccessKey: keys.secretAccessKey,
    }),
    otherLogins: ({ address }) => logins(address).secrets,
    nodeIsMachine: false,
    machineClass: {
      name: 'aws-small',
      secret: 'aws-credentials',
      provider: 'AWS',
      nodeTemplate: nodeTemplate('m5.large', 'eu-west-1', 'eu-west-1a'),
      providerSpec: {
        ami: 'ami-0abc',
        region: 'eu-west-1',
        machineType: 'm5.large',
        iam: { name: 'nodes-profile' },
        blockDevices: [{ ebs: { volumeType: 'gp3', volumeSize: 50, encrypted: true } }],
        networkInterfaces: [{ subnetID: 'subnet-a', securityGroupIDs: ['sg-1'] }],
        srcAndDstChecksEnabled: false,
        tags: { 'kubernetes.io/cluster/mcm': '1', 'kubernetes.io/role/node': '1' },
      },
    },
  };
};

/** Emulates Azure Resource Manager and its login service on the loopback address, over TLS and with a generated CA. */
export const azureProvider: ProviderFor = (data) => {
  const secret = keptSecret(data, 'cloud-token', fresh);
  const application = {
    tenantID: 'emulated-tenant',
    clientID: 'emulated-client',
    subscriptionID: 'emulated-subscription',
  };
  const logins = (address: string) => azureLogins(data, application, address);
  const account = { tenant: application.tenantID, clientId: application.clientID, secret, ...logins('').account };
  return {
    name: 'azure',
    cloud: emulator(data, 'azure', account),
    machineController: ({ address }) => ({
      name: 'machine-controller-azure',
      module: '@mcm/provider-azure/main',
      args: ['--interruptions'],
      env: {
        AZURE_RESOURCE_MANAGER_ENDPOINT: address,
        AZURE_AUTHORITY_HOST: address,
        NODE_EXTRA_CA_CERTS: data.file('cloud', 'ca.crt'),
        // The emulator is also the HTTPS proxy of the controller, so that requests to hosts of Azure reach the emulator
        // and no real host.
        HTTPS_PROXY: address.replace('127.0.0.1', 'localhost'),
        NO_PROXY: '',
        no_proxy: '',
        ...logins(address).env,
      },
    }),
    credentials: () => ({ ...application, clientSecret: secret }),
    otherLogins: ({ address }) => logins(address).secrets,
    nodeIsMachine: true,
    machineClass: {
      name: 'azure-small',
      secret: 'azure-credentials',
      provider: 'Azure',
      nodeTemplate: nodeTemplate('Standard_D4s_v5', 'westeurope', 'westeurope-1'),
      providerSpec: {
        location: 'westeurope',
        resourceGroup: 'rg-mcm',
        subnetInfo: { vnetName: 'vnet-mcm', subnetName: 'nodes' },
        tags: { 'kubernetes.io-cluster-mcm': '1', 'kubernetes.io-role-node': '1' },
        properties: {
          zone: 1,
          hardwareProfile: { vmSize: 'Standard_D4s_v5' },
          osProfile: {
            adminUsername: 'core',
            linuxConfiguration: {
              disablePasswordAuthentication: true,
              ssh: { publicKeys: { path: '/home/core/.ssh/authorized_keys', keyData: 'ssh-ed25519 AAAA none' } },
            },
          },
          storageProfile: {
            imageReference: { communityGalleryImageID: '/CommunityGalleries/g/Images/i/Versions/1.0.0' },
            osDisk: {
              createOption: 'FromImage',
              diskSizeGB: 50,
              caching: 'None',
              managedDisk: { storageAccountType: 'Premium_LRS' },
            },
          },
        },
      },
    },
  };
};

const newKey = (): string =>
  generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

/** Emulates Compute Engine and its token endpoint on the loopback address. */
export const gcpProvider: ProviderFor = (data) => {
  const key = keptSecret(data, 'cloud-token', newKey);
  const project = 'emulated-project';
  const logins = (address: string) => gcpLogins(data, project, address);
  const account = { email: `nodes@${project}.iam.gserviceaccount.com`, key, ...logins('').account };
  return {
    name: 'gcp',
    cloud: emulator(data, 'gcp', account),
    machineController: ({ address }) => ({
      name: 'machine-controller-gcp',
      module: '@mcm/provider-gcp/main',
      args: ['--interruptions'],
      env: {
        GOOGLE_COMPUTE_CUSTOM_ENDPOINT: address,
        MCM_GCP_TOKEN_ENDPOINT: `${address}/token`,
        ...logins(address).env,
      },
    }),
    credentials: () => ({
      serviceAccountJSON: gcpAccount({
        type: 'service_account',
        project_id: project,
        client_email: account.email,
        private_key: key,
      }),
    }),
    otherLogins: ({ address }) => logins(address).secrets,
    nodeIsMachine: true,
    machineClass: {
      name: 'gcp-small',
      secret: 'gcp-credentials',
      provider: 'GCP',
      nodeTemplate: nodeTemplate('n2-standard-4', 'europe-west1', 'europe-west1-b'),
      providerSpec: {
        region: 'europe-west1',
        zone: 'europe-west1-b',
        machineType: 'n2-standard-4',
        canIpForward: true,
        disks: [{ boot: true, autoDelete: true, sizeGb: 50, type: 'pd-balanced', image: 'projects/p/global/images/i' }],
        networkInterfaces: [{ subnetwork: 'nodes', disableExternalIP: true }],
        scheduling: { automaticRestart: true, onHostMaintenance: 'MIGRATE', preemptible: false },
        tags: ['mcm', 'kubernetes-io-cluster-mcm', 'kubernetes-io-role-node'],
      },
    },
  };
};
