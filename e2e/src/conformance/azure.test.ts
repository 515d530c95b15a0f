import { ArmEndpoint } from '@mcm/cloud-emulators';
import { type ConformanceTarget, runConformance, SCENARIOS } from '@mcm/conformance';
import { VirtualClock } from '@mcm/kube';
import { createAzureDriver } from '@mcm/provider-azure';
import { expect, test } from 'vitest';

const tags = (cluster: string) => ({ [`kubernetes.io-cluster-${cluster}`]: '1', 'kubernetes.io-role-node': '1' });
const spec = {
  location: 'northeurope',
  resourceGroup: 'rg',
  subnetInfo: { vnetName: 'net', subnetName: 'nodes' },
  tags: tags('ours'),
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
      dataDisks: [{ name: 'seed', lun: 0, diskSizeGB: 20, storageAccountType: 'Premium_LRS', imageRef: { id: '/i' } }],
    },
  },
};

const refusal = (status: number, code: string, message = '{message}') => ({
  status,
  body: JSON.stringify({ error: { code, message } }),
});

const target: ConformanceTarget = {
  name: 'azure',
  openCloud: () => {
    const clock = new VirtualClock();
    const cloud = new ArmEndpoint({ clock, pageSize: 5 });
    return {
      clock,
      connect: () => cloud.transport,
      inventory: () => cloud.ids(),
      runUntil: (done, options) => clock.runUntil(done, options),
    };
  },
  createDriver: (context) =>
    createAzureDriver({
      ...context,
      readFile: async () => undefined,
      authorize: async () => 'Bearer opaque-token-of-the-test',
    }),
  machineClass: { provider: 'Azure', providerSpec: spec },
  secret: {
    clientID: 'client-of-the-test',
    clientSecret: 'secret-of-the-test',
    subscriptionID: 'sub-0001',
    tenantID: 'tenant-1',
    userData: '#cloud-config of the conformance test',
  },
  dialect: {
    throttled: refusal(429, 'TooManyRequests'),
    exhausted: refusal(409, 'ZonalAllocationFailed'),
    quota: refusal(409, 'OperationNotAllowed', 'Operation results in exceeding approved cores quota. {message}'),
    unauthorized: refusal(401, 'InvalidAuthenticationToken'),
    writes: '^(PUT|PATCH|DELETE) .*/(virtualMachines|disks)/',
  },
  otherCluster: { ...spec, tags: tags('theirs') },
  volumes: [
    { source: { azureDisk: { diskName: 'd' } }, id: 'd' },
    {
      source: { csi: { driver: 'disk.csi.azure.com', volumeHandle: '/subscriptions/s/disks/e' } },
      id: '/subscriptions/s/disks/e',
    },
    { source: { csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-1' } }, id: null },
  ],
};

test.each(SCENARIOS.map(({ name }) => name))('the Azure driver conforms: %s', async (name) => {
  const { outcomes } = await runConformance(target, { only: name });
  for (const { scenario, state, why } of outcomes) {
    if (state === 'failed' || (state === 'skipped' && scenario.name !== 'initialize'))
      expect.fail(`${scenario.name}: ${why}`);
  }
  expect(outcomes.length).toBe(1);
});
