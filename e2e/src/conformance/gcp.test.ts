import { GceEndpoint } from '@mcm/cloud-emulators';
import { type ConformanceTarget, runConformance, SCENARIOS } from '@mcm/conformance';
import { VirtualClock } from '@mcm/kube';
import { createGcpDriver } from '@mcm/provider-gcp';
import { expect, test } from 'vitest';

const spec = {
  region: 'europe-north1',
  zone: 'europe-north1-b',
  machineType: 'n2-standard-4',
  disks: [{ boot: true, sizeGb: 42, type: 'pd-balanced', image: 'projects/p/global/images/i' }],
  networkInterfaces: [{ subnetwork: 'nodes', disableExternalIP: true }],
  scheduling: { automaticRestart: true, onHostMaintenance: 'MIGRATE' },
  tags: ['kubernetes-io-cluster-ours', 'kubernetes-io-role-node'],
};

const refusal = (status: number, reason: string, message = '{message}') => ({
  status,
  body: JSON.stringify({ error: { code: status, message, errors: [{ reason, message }] } }),
});

const target: ConformanceTarget = {
  name: 'gcp',
  openCloud: () => {
    const clock = new VirtualClock();
    const cloud = new GceEndpoint({ clock, pageSize: 5 });
    return {
      clock,
      connect: () => cloud.transport,
      inventory: () => cloud.names(),
      runUntil: (done, options) => clock.runUntil(done, options),
    };
  },
  createDriver: (context) =>
    createGcpDriver({
      ...context,
      readFile: async () => undefined,
      authorize: async () => 'Bearer opaque-token-of-the-test',
    }),
  machineClass: { provider: 'GCP', providerSpec: spec },
  secret: {
    serviceAccountJSON: JSON.stringify({ type: 'service_account', project_id: 'p', private_key: 'not-to-be-told' }),
    userData: '#cloud-config of the conformance test',
  },
  dialect: {
    throttled: refusal(429, 'rateLimitExceeded'),
    exhausted: refusal(400, 'invalid', "Machine type 'x' does not exist in zone 'z'. {message}"),
    quota: refusal(403, 'quotaExceeded'),
    unauthorized: refusal(401, 'authError'),
  },
  otherCluster: { ...spec, tags: ['kubernetes-io-cluster-theirs', 'kubernetes-io-role-node'] },
  volumes: [
    { source: { gcePersistentDisk: { pdName: 'd' } }, id: 'd' },
    {
      source: { csi: { driver: 'pd.csi.storage.gke.io', volumeHandle: 'projects/p/zones/z/disks/e' } },
      id: 'projects/p/zones/z/disks/e',
    },
    { source: { csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-1' } }, id: null },
  ],
};

test.each(SCENARIOS.map(({ name }) => name))('the GCP driver conforms: %s', async (name) => {
  const { outcomes } = await runConformance(target, { only: name });
  for (const { scenario, state, why } of outcomes) {
    if (state === 'failed' || (state === 'skipped' && scenario.name !== 'initialize'))
      expect.fail(`${scenario.name}: ${why}`);
  }
  expect(outcomes.length).toBeGreaterThan(0);
});
