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

test('flags and features of the manager that leads are those that its Lease tells', async () => {
  const { client, lease } = await plane();
  const told = { 'silence-minimum-count': 7, 'feature-gates': { RolloutAnnotations: false } };
  await lease('me', `me ${JSON.stringify(told)}`);
  const { safeguards, remark } = await readManagerSettings(client, 'default');
  expect(safeguards.rolloutAnnotations).toBe(false);
  expect(safeguards.breaker).toEqual({ ...SAFEGUARD_DEFAULTS.breaker, minimumCount: 7 });
  expect(remark).toMatch(
    /^of the manager: feature RolloutAnnotations is off: .*--silence-minimum-count is 7, not \d+$/,
  );
});

test('a manager with all at its defaults has nothing to remark', () => {
  const settings = managerSettings({ 'feature-gates': { RolloutAnnotations: true } });
  expect(settings).toEqual({ safeguards: SAFEGUARD_DEFAULTS, remark: undefined });
});

test.each([
  ['nobody has led yet', undefined, /there is no Lease default\/machine-controller-manager$/],
  ['it was given up', ['', 'me {}'], /nobody holds Lease/],
  ['the leader is the original', ['go'], /does not say which go has$/],
  ['it is what another left behind', ['go', 'me {"feature-gates":{"RolloutAnnotations":false}}'], /does not say/],
  ['it is rubbish', ['me', 'me {'], /does not say/],
] as const)('%s: the defaults are assumed, and it is said why', async (_title, given, why) => {
  const { client, lease } = await plane();
  if (given) await lease(given[0], given[1]);
  const { safeguards, remark } = await readManagerSettings(client, 'default');
  expect(safeguards).toEqual(SAFEGUARD_DEFAULTS);
  expect(remark).toMatch(/^the manager runs with its default flags: /);
  expect(remark).toMatch(why);
});

test('values of another type are not taken', () => {
  const odd = { 'silence-window': 'long', 'feature-gates': 'all', 'count-terminating-towards-surge': 1 };
  expect(managerSettings(odd).safeguards).toEqual(SAFEGUARD_DEFAULTS);
});
