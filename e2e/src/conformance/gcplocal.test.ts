import { type ConformanceTarget, runConformance, SCENARIOS } from '@mcm/conformance';
import { undiciTransport } from '@mcm/kube';
import { createGcpDriver } from '@mcm/provider-gcp';
import { expect, test } from 'vitest';
import { quickClock } from './network/quick-clock.ts';

/**
 * The GCP driver against somebody else's Compute Engine: a running gcplocal, `MCM_GCPLOCAL_URL=http://127.0.0.1:8400`;
 * skipped without one. See `providers/gcp/README.md`.
 */
const url = process.env.MCM_GCPLOCAL_URL;
/** What only a clock moved by hand proves, what the driver does not have, and pages: gcplocal tells all on one. */
const SKIPPED = [
  'throttling with Retry-After',
  'initialize',
  'listing over all pages',
  'a call ends when it is told to',
  'a call ends at its deadline',
];

const specOf = (cluster: string) => ({
  region: 'europe-north1',
  zone: 'europe-north1-b',
  machineType: 'n2-standard-4',
  disks: [{ boot: true, sizeGb: 42, type: 'pd-balanced', image: 'projects/p/global/images/i' }],
  networkInterfaces: [{ subnetwork: 'nodes', disableExternalIP: true }],
  scheduling: { automaticRestart: true, onHostMaintenance: 'MIGRATE' },
  tags: [`kubernetes-io-cluster-${cluster}`, 'kubernetes-io-role-node'],
});

const refusal = (status: number, reason: string, message = '{message}') => ({
  status,
  body: JSON.stringify({ error: { code: status, message, errors: [{ reason, message }] } }),
});

const target = (server: string): ConformanceTarget => ({
  name: 'gcp on gcplocal',
  openCloud: () => {
    const { clock, watch } = quickClock();
    return { clock, connect: watch(() => undiciTransport({ server })) };
  },
  createDriver: (context) =>
    createGcpDriver({
      ...context,
      readFile: async () => undefined,
      authorize: async () => 'Bearer opaque-token-of-the-test',
    }),
  machineClass: { provider: 'GCP', providerSpec: specOf('ours') },
  otherCluster: specOf('theirs'),
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
  volumes: [{ source: { gcePersistentDisk: { pdName: 'd' } }, id: 'd' }],
  machines: 3,
  listed: 3,
});

test.skipIf(!url)('the GCP driver conforms on gcplocal', { timeout: 600_000 }, async () => {
  const { outcomes } = await runConformance(target(url ?? ''));
  const of = (state: string) => outcomes.filter((each) => each.state === state);
  expect(of('failed').map(({ scenario, why }) => `${scenario.name}: ${why}`)).toEqual([]);
  expect(of('skipped').map(({ scenario }) => scenario.name)).toEqual(SKIPPED);
  expect(of('passed')).toHaveLength(SCENARIOS.length - SKIPPED.length);
});
