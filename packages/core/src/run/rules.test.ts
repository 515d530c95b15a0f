import { machines } from '@mcm/api';
import { type EventObject, events, nodes, secrets, type Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { NAMESPACE, type Rig } from './testing/rig.ts';
import { startRig } from './testing/start.ts';

/** docs/compatibility/rules-machines.md refers to the titles of these tests. */

const MINUTE = 60_000;

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

function recording() {
  const sent: Sent[] = [];
  const wrap =
    (transport: Transport): Transport =>
    (request) => {
      const { method = 'GET', path, body } = request;
      if (method !== 'GET') sent.push({ method, path, body: typeof body === 'string' ? JSON.parse(body) : undefined });
      return transport(request);
    };
  return { sent, wrap };
}

const running = (rig: Rig, name: string) => rig.until(async () => (await rig.phase(name)) === 'Running');

test('pods are evicted by policy/v1 with their own grace period, and deleted without grace if forced', async () => {
  const { sent, wrap } = recording();
  const rig = await startRig({ wrap });
  await rig.createMachine('m');
  await running(rig, 'm');
  await rig.createPod('web', 'm');
  await rig.deleteMachine('m');
  await rig.until(async () => sent.some(({ path }) => path.endsWith('/eviction')), MINUTE);
  const eviction = sent.find(({ path }) => path.endsWith('/eviction'))?.body;
  expect(eviction).toMatchObject({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'web' } });
  expect(JSON.stringify(eviction)).not.toContain('gracePeriodSeconds');
  const labels = { 'force-deletion': 'True' };
  await rig.admin.resource(machines, NAMESPACE).patch('m', { type: 'merge', body: { metadata: { labels } } });
  await rig.until(async () => (await rig.machine('m')) === undefined, 5 * MINUTE);
  const removal = sent.find(({ method, path }) => method === 'DELETE' && path.includes('/pods/web'));
  expect(removal?.body ?? removal?.path).toMatchObject({ gracePeriodSeconds: 0 });
});

test('without a target cluster VMs without a machine are found and deleted', async () => {
  const rig = await startRig({ target: false });
  await rig.createMachine('m');
  await rig.until(async () => (await rig.phase('m')) === 'Available');
  rig.cloud.plant('nobody', rig.clock.now().toISOString());
  await rig.until(async () => rig.cloud.vms.length === 1, 60 * MINUTE);
  expect(rig.cloud.vms[0]?.machineName).toBe('m');
});

test('a bootstrap token lives as long as the creation timeout, and its name is unique to the machine', async () => {
  const rig = await startRig({ joinAfterMs: undefined });
  await rig.createClass('joining', 'join <<BOOTSTRAP_TOKEN>>');
  const spec = { class: { kind: 'MachineClass', name: 'joining' }, creationTimeout: '2h' } as const;
  // The original uses only a part of each name. This part is equal in the first two names.
  for (const name of ['a-same1', 'b-same1', 'x']) await rig.createMachine(name, spec);
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Pending'));
  const tokens = (await rig.admin.resource(secrets, 'kube-system').list()).items;
  expect(new Set(tokens.map(({ metadata }) => metadata.name)).size).toBe(3);
  for (const { data, type } of tokens) {
    const text = (key: string) => Buffer.from(data?.[key] ?? '', 'base64').toString();
    expect(type).toBe('bootstrap.kubernetes.io/token');
    expect([text('usage-bootstrap-authentication'), text('usage-bootstrap-signing')]).toEqual(['true', 'true']);
    expect(text('token-id')).toMatch(/^[a-z0-9]{6}$/);
    expect(text('token-secret')).toMatch(/^[a-z0-9]{16}$/);
    expect(Date.parse(text('expiration')) - rig.clock.now().getTime()).toBeGreaterThan(115 * MINUTE);
  }
});

test('a machine without the finalizer gets it by one write before anything is created', async () => {
  const { sent, wrap } = recording();
  const rig = await startRig({ wrap });
  await rig.createMachine('m', {}, { finalizers: [] });
  await running(rig, 'm');
  const first = sent.find(({ path }) => path.includes('/machines/m'));
  expect(JSON.stringify(first?.body)).toContain('machine.sapcloud.io/machine-controller-manager');
  expect((await rig.machine('m'))?.metadata.finalizers).toEqual(['machine.sapcloud.io/machine-controller-manager']);
});

test('a Node with the label of unmanaged Nodes is ignored: its deletion deletes no machine', async () => {
  const rig = await startRig();
  await rig.createMachine('m');
  await running(rig, 'm');
  const annotations = { 'node.machine.sapcloud.io/not-managed-by-mcm': '1' };
  await rig.admin.resource(nodes).create({ metadata: { name: 'stranger', annotations }, spec: {} });
  await rig.admin.resource(nodes).delete('stranger');
  await rig.clock.advance(5 * MINUTE);
  expect(await rig.phase('m')).toBe('Running');
});

test('the reason for which a machine waits is a Warning event, once for each cause', async () => {
  const rig = await startRig();
  rig.cloud.fail('create', ...Array(3).fill({ code: 'Internal', message: 'no image' }));
  await rig.createMachine('m');
  await rig.until(async () => (await rig.phase('m')) === 'CrashLoopBackOff');
  await rig.clock.advance(5 * MINUTE);
  const reported: readonly EventObject[] = (await rig.admin.resource(events, NAMESPACE).list()).items.filter(
    ({ reason }) => reason === 'CreationFailed',
  );
  expect(reported.map(({ count, type }) => [count, type])).toEqual([[1, 'Warning']]);
});
