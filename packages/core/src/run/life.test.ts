import { crds } from '@mcm/api';
import { type RequestLogEntry, startControlPlane } from '@mcm/control-plane';
import { VirtualClock } from '@mcm/kube';
import { afterEach, expect, test } from 'vitest';
import { Rig, type RigOptions, USER_AGENT } from './testing.ts';

const cleanUp: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0)) await clean();
});

/** The rules of the CRDs are tested with them; here they would only cost time. */
const withoutRules = (crd: object): object =>
  JSON.parse(JSON.stringify(crd, (key, value) => (key === 'x-kubernetes-validations' ? undefined : value))) as object;

async function rig(options: Partial<RigOptions> = {}): Promise<{ rig: Rig; requests: RequestLogEntry[] }> {
  const clock = new VirtualClock();
  const requests: RequestLogEntry[] = [];
  const plane = await startControlPlane({
    clock,
    crds: crds.map(withoutRules),
    controllers: false,
    requestLog: (entry) => requests.push(entry),
  });
  const made = new Rig({ clock, plane, ...options });
  cleanUp.push(async () => {
    await made.kill();
    await plane.close();
  });
  return { rig: made, requests };
}

const verb = (entry: RequestLogEntry): string => `${entry.method} ${entry.path}`;
const mine = (requests: readonly RequestLogEntry[]): readonly RequestLogEntry[] =>
  requests.filter((entry) => entry.userAgent?.includes(USER_AGENT));
const writes = (requests: readonly RequestLogEntry[]): string[] =>
  mine(requests)
    .filter((entry) => entry.method !== 'GET')
    .map(verb);

test('a machine is born with three writes of its own and one of its node, without a read', async () => {
  const { rig: r, requests } = await rig();
  await r.createClass();
  r.start();
  await r.until(
    async () => (r.controller?.caches.machines.synced ?? false) && r.controller?.caches.classes.synced === true,
  );
  await r.until(async () => (r.controller?.caches.classes.store.size ?? 0) > 0);
  requests.length = 0;
  await r.createMachine('m-1');
  await r.until(async () => (await r.phase('m-1')) === 'Running');
  await r.clock.advance(10_000);
  const made = writes(requests).filter((line) => line.includes('m-1'));
  expect(made).toEqual([
    'PATCH /apis/machine.sapcloud.io/v1alpha1/namespaces/default/machines/m-1',
    'PATCH /apis/machine.sapcloud.io/v1alpha1/namespaces/default/machines/m-1/status',
    'PATCH /api/v1/nodes/m-1',
    'PATCH /apis/machine.sapcloud.io/v1alpha1/namespaces/default/machines/m-1/status',
  ]);
  const m = await r.machine('m-1');
  expect(m?.spec.providerID).toBe(r.cloud.vms[0]?.providerId);
  expect(m?.metadata.labels?.node).toBe('m-1');
  expect(m?.status?.lastOperation?.description).toMatch(/^Machine m-1 successfully joined the cluster in /);
  expect(r.cloud.vms[0]?.userData).toBe('hello m-1');
  const n = (await r.nodes())[0];
  expect(n?.metadata.labels?.['node.gardener.cloud/machine-name']).toBe('m-1');
  expect(n?.metadata.finalizers).toEqual(['node.machine.sapcloud.io/machine-controller']);
});
