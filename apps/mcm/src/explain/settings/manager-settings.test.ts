import { crds } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { SAFEGUARD_DEFAULTS } from '@mcm/core';
import { createClient, handlerTransport, type Lease, leases, VirtualClock } from '@mcm/kube';
import { expect, onTestFinished, test } from 'vitest';
import { managerSettings, readManagerSettings } from './manager-settings.ts';

const NAME = 'machine-controller-manager';

async function plane() {
  const clock = new VirtualClock();
  const started = await startControlPlane({ clock, crds, controllers: false });
  onTestFinished(() => started.close());
  const client = createClient({ transport: handlerTransport(started.fetch), userAgent: 'test', clock });
  const lease = (holder: string, annotation?: string): Promise<Lease> => {
    const annotations = annotation === undefined ? {} : { 'holder-settings': annotation };
    const metadata = { name: NAME, namespace: 'default', annotations };
    return client.resource<Lease>(leases, 'default').create({ metadata, spec: { holderIdentity: holder } } as never);
  };
  return { client, lease };
}

test('flags and features come from the Lease of the manager', async () => {
  const { client, lease } = await plane();
  const reported = { 'silence-minimum-count': 7, 'feature-gates': { RolloutAnnotations: false } };
  await lease('me', `me ${JSON.stringify(reported)}`);
  const { safeguards, remark } = await readManagerSettings(client, 'default');
  expect(safeguards.rolloutAnnotations).toBe(false);
  expect(safeguards.breaker).toEqual({ ...SAFEGUARD_DEFAULTS.breaker, minimumCount: 7 });
  expect(remark).toMatch(
    /^of the manager: feature gate RolloutAnnotations is disabled: .*--silence-minimum-count is 7, not \d+$/,
  );
});

test('a remark names the rollout budget of a fleet', () => {
  const { remark } = managerSettings({ 'fleet-rollout-budget': 'rollouts' });
  expect(remark).toContain('--fleet-rollout-budget=rollouts: rollouts may wait for the rollout budget of the fleet');
});

test('a manager with default flags has no remark', () => {
  const settings = managerSettings({ 'feature-gates': { RolloutAnnotations: true } });
  expect(settings).toEqual({ safeguards: SAFEGUARD_DEFAULTS, remark: undefined });
});

test.each([
  ['nobody has led yet', undefined, /Lease default\/machine-controller-manager does not exist$/],
  ['it was given up', ['', 'me {}'], /Lease \S+ has no holder/],
  ['the leader is the original', ['go'], /does not contain the flags of go$/],
  [
    'it is what another left behind',
    ['go', 'me {"feature-gates":{"RolloutAnnotations":false}}'],
    /does not contain the flags/,
  ],
  ['it is rubbish', ['me', 'me {'], /does not contain the flags/],
] as const)('%s: assumes the defaults and says why', async (_title, given, why) => {
  const { client, lease } = await plane();
  if (given) await lease(given[0], given[1]);
  const { safeguards, remark } = await readManagerSettings(client, 'default');
  expect(safeguards).toEqual(SAFEGUARD_DEFAULTS);
  expect(remark).toMatch(/^assuming the default flags of the manager: /);
  expect(remark).toMatch(why);
});

test('values of a wrong type are ignored', () => {
  const odd = { 'silence-window': 'long', 'feature-gates': 'all', 'count-terminating-towards-surge': 1 };
  expect(managerSettings(odd).safeguards).toEqual(SAFEGUARD_DEFAULTS);
});
