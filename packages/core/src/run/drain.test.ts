import { Annotations, type Machine, type MachineClass, MachineConditions, machineClasses, machines } from '@mcm/api';
import type { RequestLogEntry } from '@mcm/control-plane';
import {
  events,
  type Node,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  podDisruptionBudgets,
  pods,
  type Transport,
} from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { NAMESPACE, type Rig, type RigOptions, USER_AGENT } from './testing/rig.ts';
import { createRig } from './testing/start.ts';

async function started(
  count: number,
  options: Partial<RigOptions> = {},
): Promise<{ rig: Rig; requests: RequestLogEntry[] }> {
  const { rig, requests } = await createRig(options);
  await rig.createClass();
  rig.start();
  for (let i = 0; i < count; i++) await rig.createMachine(`m-${i}`);
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  return { rig, requests };
}

async function budget(rig: Rig, allowed: number, pods_ = 1): Promise<void> {
  const client = rig.admin.resource(podDisruptionBudgets, NAMESPACE);
  await client.create({
    metadata: { name: 'web', namespace: NAMESPACE },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
  });
  await allow(rig, allowed, pods_);
}

async function allow(rig: Rig, allowed: number, pods_ = 1): Promise<void> {
  const status = {
    disruptionsAllowed: allowed,
    currentHealthy: pods_ + allowed,
    desiredHealthy: pods_,
    expectedPods: pods_ + 1,
    observedGeneration: 1,
  };
  await rig.admin
    .resource(podDisruptionBudgets, NAMESPACE)
    .patch('web', { type: 'merge', body: { status } }, { subresource: 'status' });
}

async function endPods(rig: Rig): Promise<void> {
  const client = rig.admin.resource(pods, NAMESPACE);
  for (const pod of (await client.list()).items) {
    if (pod.metadata.deletionTimestamp) await client.delete(pod.metadata.name, { gracePeriodSeconds: 0 });
  }
}

const evictions = (requests: readonly RequestLogEntry[]): RequestLogEntry[] =>
  requests.filter((e) => e.path.includes('/eviction'));

test('pods are evicted, and the VM is deleted when the last one has ended', async () => {
  const { rig } = await started(1);
  await rig.createPod('a', 'm-0');
  await rig.createPod('b', 'm-0');
  await rig.deleteMachine('m-0');
  await rig.until(
    async () => (await rig.admin.resource(pods, NAMESPACE).list()).items.every((p) => p.metadata.deletionTimestamp),
    1_000,
  );
  expect(await rig.description('m-0')).toBe('Evicting default/a, default/b. Initiate node drain');
  await rig.clock.advance(10_000);
  expect(rig.cloud.vms).toHaveLength(1);
  await endPods(rig);
  await rig.until(async () => (await rig.machines()).length === 0, 1_000);
  expect(rig.cloud.vms).toEqual([]);
});

test.each([404, 400])('without an eviction API (%i) pods are deleted, and an event reports it', async (code) => {
  const missing = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code,
    details: {},
    reason: code === 404 ? 'NotFound' : 'BadRequest',
    message: 'the server could not find the requested resource',
  };
  const wrap =
    (transport: Transport): Transport =>
    async (request) =>
      request.path.endsWith('/eviction') ? Response.json(missing, { status: code }) : transport(request);
  const { rig } = await started(1, { wrap });
  await budget(rig, 0);
  await rig.createPod('web-1', 'm-0', { app: 'web' });
  await rig.createPod('other', 'm-0');
  await rig.deleteMachine('m-0');
  const pod = async (name: string) => (await rig.admin.resource(pods, NAMESPACE).get(name)).metadata;
  await rig.until(async () => (await pod('other')).deletionGracePeriodSeconds === 30, 5_000);
  await rig.clock.advance(600_000);
  expect((await pod('web-1')).deletionTimestamp).toBeUndefined();
  await allow(rig, 1);
  await rig.until(async () => (await pod('web-1')).deletionGracePeriodSeconds === 30, 5_000);
  expect(rig.cloud.vms).toHaveLength(1);
  await endPods(rig);
  await rig.until(async () => (await rig.machines()).length === 0, 1_000);
  const reported = (await rig.admin.resource(events, NAMESPACE).list()).items.filter(
    ({ reason }) => reason === 'EvictionUnavailable',
  );
  expect(reported[0]?.message).toContain(
    'Pods deleted without a check of their budgets, because the API server has no eviction API: default/other',
  );
});

test('a blocking budget is in the status by name, causes no requests, and ends its block at once', async () => {
  const { rig, requests } = await started(1);
  await budget(rig, 0);
  await rig.createPod('web-1', 'm-0', { app: 'web' });
  await rig.deleteMachine('m-0');
  await rig.until(async () => (await rig.description('m-0')).includes('budget'));
  expect(await rig.description('m-0')).toBe(
    'Waiting: pod default/web-1 waits for pod disruption budget default/web, which allows no disruption now. Initiate node drain',
  );
  requests.length = 0;
  await rig.clock.advance(600_000);
  expect(
    requests.filter((e) => e.userAgent?.includes(USER_AGENT) && e.verb !== 'watch' && e.resource !== 'events'),
  ).toEqual([]);
  await allow(rig, 1);
  await rig.until(async () => evictions(requests).length === 1, 1_000);
  await endPods(rig);
  await rig.until(async () => (await rig.machines()).length === 0, 1_000);
});

test('a relaxed budget wakes its drains once, after its evaluation: one eviction for each pod, none refused', async () => {
  const { rig, requests } = await started(3);
  await budget(rig, 0, 3);
  for (const i of [0, 1, 2]) await rig.createPod(`web-${i}`, `m-${i}`, { app: 'web' });
  for (const i of [0, 1, 2]) await rig.deleteMachine(`m-${i}`);
  await rig.until(async () =>
    (await Promise.all([0, 1, 2].map((i) => rig.description(`m-${i}`)))).every((text) => text.includes('budget')),
  );
  requests.length = 0;
  const budgets = rig.admin.resource(podDisruptionBudgets, NAMESPACE);
  await budgets.patch('web', { type: 'merge', body: { spec: { minAvailable: 0 } } });
  await rig.clock.advance(5_000);
  expect(evictions(requests)).toEqual([]);
  const status = {
    disruptionsAllowed: 3,
    currentHealthy: 3,
    desiredHealthy: 0,
    expectedPods: 3,
    observedGeneration: 2,
  };
  await budgets.patch('web', { type: 'merge', body: { status } }, { subresource: 'status' });
  await rig.until(async () => evictions(requests).length === 3, 1_000);
  expect(evictions(requests).map(({ code }) => code)).toEqual([201, 201, 201]);
});

test('force-deletion ends a blocked drain at once', async () => {
  const { rig } = await started(1);
  await budget(rig, 0);
  await rig.createPod('web-1', 'm-0', { app: 'web' });
  await rig.deleteMachine('m-0');
  await rig.until(async () => (await rig.description('m-0')).includes('budget'));
  const body = { metadata: { labels: { 'force-deletion': 'True' } } };
  await rig.admin.resource(machines, NAMESPACE).patch('m-0', { type: 'merge', body });
  await rig.until(async () => (await rig.machines()).length === 0, 1_000);
  expect(await rig.podNames()).toEqual([]);
  expect(rig.cloud.vms).toEqual([]);
});

test('a budget that needs every pod is reported by an event before any eviction', async () => {
  const { rig, requests } = await started(1);
  await budget(rig, 0);
  const status = {
    expectedPods: 1,
    desiredHealthy: 1,
    currentHealthy: 1,
    disruptionsAllowed: 0,
    observedGeneration: 1,
  };
  await rig.admin
    .resource(podDisruptionBudgets, NAMESPACE)
    .patch('web', { type: 'merge', body: { status } }, { subresource: 'status' });
  await rig.createPod('web-1', 'm-0', { app: 'web' });
  await rig.deleteMachine('m-0');
  await rig.until(async () => (await rig.description('m-0')).includes('misconfigured'));
  expect(evictions(requests)).toEqual([]);
});

test('a pod in a namespace that is being deleted: the 403 is a wait by name, and the drain ends with the pod', async () => {
  const refused =
    (transport: Transport): Transport =>
    async (request) => {
      if (!request.path.includes('/eviction') || !ending) return transport(request);
      const causes = [{ reason: 'NamespaceTerminating', message: 'namespace default is being terminated' }];
      const body = { kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, details: { causes } };
      return Response.json(body, { status: 403 });
    };
  let ending = true;
  const { rig } = await started(1, { wrap: refused });
  await rig.createPod('a', 'm-0');
  await rig.deleteMachine('m-0');
  await rig.until(async () => (await rig.description('m-0')).includes('namespace'));
  expect(await rig.description('m-0')).toBe(
    'Waiting: pod default/a waits for the deletion of its namespace. Initiate node drain',
  );
  ending = false;
  await rig.admin.resource(pods, NAMESPACE).delete('a', { gracePeriodSeconds: 0 });
  await rig.until(async () => (await rig.machines()).length === 0, 1_000);
});

test('undrainable policy Hold: after the deadline the VM stays and the status gives the reason; force-deletion ends it', async () => {
  const { rig } = await started(0);
  const annotations = { 'node.machine.sapcloud.io/undrainable-policy': 'Hold' };
  await rig.createMachine('m-0', { drainTimeout: '30m' }, { annotations });
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  await budget(rig, 0);
  await rig.createPod('web-1', 'm-0', { app: 'web' });
  await rig.deleteMachine('m-0');
  await rig.clock.advance(3 * 60 * 60_000);
  expect(await rig.podNames()).toEqual(['web-1']);
  expect(await rig.description('m-0')).toContain('undrainable policy Hold continues to wait for the pod');
  const body = { metadata: { labels: { 'force-deletion': 'True' } } };
  await rig.admin.resource(machines, NAMESPACE).patch('m-0', { type: 'merge', body });
  await rig.until(async () => (await rig.machines()).length === 0, 1_000);
  expect(rig.cloud.vms).toEqual([]);
});

test('undrainable policy Quarantine: no eviction is retried until the budget changes; the machine reports it is undrained', async () => {
  const { rig, requests } = await started(0);
  const annotations = { [Annotations.UndrainablePolicy]: 'Quarantine' };
  await rig.createMachine('m-0', { drainTimeout: '30m' }, { annotations });
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  await budget(rig, 0);
  await rig.createPod('web-1', 'm-0', { app: 'web' });
  await rig.deleteMachine('m-0');
  const undrained = async () => (await rig.machines())[0]?.metadata.annotations?.[Annotations.Undrained];
  await rig.clock.advance(29 * 60_000);
  expect(await undrained()).toBeUndefined();
  await rig.clock.advance(2 * 60_000);
  expect(await undrained()).toBe('Quarantine');
  const asked = requests.length;
  await rig.clock.advance(3 * 60 * 60_000);
  expect(evictions(requests.slice(asked))).toEqual([]);
  await allow(rig, 1);
  await rig.until(
    async () => (await rig.admin.resource(pods, NAMESPACE).get('web-1')).metadata.deletionTimestamp !== undefined,
    1_000,
  );
  await endPods(rig);
  await rig.until(async () => (await rig.machines()).length === 0, 1_000);
  expect(rig.cloud.vms).toEqual([]);
});

describe('undrainable policy Fail', () => {
  async function failed(options: Partial<RigOptions> = {}) {
    const { rig, requests } = await started(0, options);
    const annotations = { [Annotations.UndrainablePolicy]: 'Fail' };
    await rig.createMachine('m-0', { drainTimeout: '30m' }, { annotations });
    await rig.until(async () => (await rig.phase('m-0')) === 'Running');
    await budget(rig, 0);
    await rig.createPod('web-1', 'm-0', { app: 'web' });
    await rig.deleteMachine('m-0');
    await rig.clock.advance(29 * 60_000);
    expect(await condition(rig)).toBeUndefined();
    await rig.clock.advance(2 * 60_000);
    return { rig, requests };
  }

  const condition = async (rig: Rig) =>
    (await rig.machine('m-0'))?.status?.conditions?.find(({ type }) => type === MachineConditions.DrainFailed);

  test('the drain fails with a condition and one event, the VM stays, and a changed budget evicts no pod', async () => {
    const { rig, requests } = await failed();
    const message =
      'drain timeout expired before pod default/web-1 ended; undrainable policy Fail ends the drain and keeps the VM';
    const since = (await condition(rig))?.lastTransitionTime;
    expect(await condition(rig)).toMatchObject({ status: 'True', reason: 'DrainTimeoutExpired', message });
    const { metadata, status } = (await rig.machine('m-0')) ?? {};
    expect(status?.currentStatus?.phase).toBe('Terminating');
    expect(status?.lastOperation).toMatchObject({ state: 'Failed', type: 'Delete' });
    expect(metadata?.annotations?.[Annotations.Undrained]).toBe('Fail');
    const asked = requests.length;
    await allow(rig, 1);
    await rig.clock.advance(3 * 60 * 60_000);
    await rig.kill();
    rig.start();
    await rig.clock.advance(60 * 60_000);
    expect(evictions(requests.slice(asked))).toEqual([]);
    expect([rig.cloud.vms.length, (await condition(rig))?.lastTransitionTime]).toEqual([1, since]);
    const reported = (await rig.admin.resource(events, NAMESPACE).list()).items.filter(
      ({ reason }) => reason === 'DrainFailed',
    );
    expect(reported.map((event) => event.message)).toEqual([
      `D${message.slice(1)}; delete the pods by hand, or set the label force-deletion=true`,
    ]);
  });

  test('the deletion continues when the pods have ended, without the condition', async () => {
    const { promise: never } = Promise.withResolvers<void>();
    const { rig } = await failed({ cloud: { gate: (method) => (method === 'delete' ? never : undefined) } });
    await rig.admin.resource(pods, NAMESPACE).delete('web-1', { gracePeriodSeconds: 0 });
    await rig.until(async () => (await rig.description('m-0')).includes('Drain successful'), 60_000);
    expect(await condition(rig)).toBeUndefined();
  });

  test('another policy or the label force-deletion continues the drain', async () => {
    const { rig } = await failed();
    const api = rig.admin.resource<Machine>(machines, NAMESPACE);
    const body = { metadata: { annotations: { [Annotations.UndrainablePolicy]: 'Hold' } } };
    await api.patch('m-0', { type: 'merge', body });
    await rig.until(async () => (await condition(rig)) === undefined, 60_000);
    expect(rig.cloud.vms).toHaveLength(1);
    await api.patch('m-0', { type: 'merge', body: { metadata: { labels: { 'force-deletion': 'true' } } } });
    await rig.until(async () => (await rig.machines()).length === 0, 60_000);
    expect(rig.cloud.vms).toEqual([]);
  });
});

describe('drain rules of the class', () => {
  const RULES = [
    { name: 'agents', behavior: 'Skip', pods: { matchLabels: { app: 'agent' } } },
    { name: 'jobs', behavior: 'WaitCompleted', pods: { matchLabels: { app: 'job' } } },
    { name: 'databases', behavior: 'Drain', order: 10, pods: { matchLabels: { app: 'db' } } },
  ];

  async function draining(text: string, spec: Partial<Machine['spec']> = {}) {
    const { rig, requests } = await started(0);
    const ofClass = { metadata: { annotations: { [Annotations.DrainRules]: text } } };
    await rig.admin.resource<MachineClass>(machineClasses, NAMESPACE).patch('small', { type: 'merge', body: ofClass });
    await rig.createMachine('m-0', { drainTimeout: '2h', ...spec });
    await rig.until(async () => (await rig.phase('m-0')) === 'Running');
    for (const app of ['agent', 'job', 'db', 'web']) await rig.createPod(app, 'm-0', { app });
    await rig.deleteMachine('m-0');
    const asked = (): string[] => evictions(requests).map(({ name }) => name);
    return { rig, asked };
  }

  test('evictions have an order, a job completes first, and a skipped pod stays until the VM is deleted', async () => {
    const { rig, asked } = await draining(JSON.stringify(RULES));
    await rig.clock.advance(60_000);
    expect(asked()).toEqual(['web']);
    await endPods(rig);
    await rig.until(async () => asked().length === 2, 5_000);
    expect(asked()).toEqual(['web', 'db']);
    await endPods(rig);
    await rig.clock.advance(30 * 60_000);
    expect(await rig.description('m-0')).toBe(
      'Waiting: drain rule jobs waits until pod default/job has completed. Initiate node drain',
    );
    expect([rig.cloud.vms.length, asked()]).toEqual([1, ['web', 'db']]);
    const body = { status: { phase: 'Succeeded' } };
    await rig.admin.resource(pods, NAMESPACE).patch('job', { type: 'merge', body }, { subresource: 'status' });
    await rig.until(async () => asked().length === 3, 5_000);
    await endPods(rig);
    await rig.until(async () => (await rig.machines()).length === 0, 60_000);
    expect([await rig.podNames(), rig.cloud.vms]).toEqual([['agent'], []]);
  });

  test('the drain timeout ends the wait for an order and a completion', async () => {
    const { rig, asked } = await draining(JSON.stringify(RULES), { drainTimeout: '10m' });
    await rig.clock.advance(9 * 60_000);
    expect(asked()).toEqual(['web']);
    await rig.until(async () => (await rig.machines()).length === 0, 5 * 60_000);
    expect(await rig.podNames()).toEqual(['agent']);
  });

  test('the eviction timeout ends the wait for an order and a completion', async () => {
    const { rig } = await draining(JSON.stringify(RULES), { maxEvictRetries: 6 });
    await rig.clock.advance(119_000);
    expect(await rig.podNames()).toEqual(['agent', 'db', 'job', 'web']);
    await rig.until(async () => (await rig.machines()).length === 0, 10 * 60_000);
    expect(await rig.podNames()).toEqual(['agent']);
  });

  test('an invalid list has no effect, and an event names the field', async () => {
    const { rig, asked } = await draining('[{"name": "jobs"}]');
    await rig.until(async () => asked().length === 4, 60_000);
    await rig.clock.advance(10_000);
    const said = (await rig.admin.resource(events, NAMESPACE).list()).items.filter(
      ({ reason }) => reason === 'InvalidInput',
    );
    expect(said[0]?.message).toContain(
      `MachineClass small: metadata.annotations[${Annotations.DrainRules}][0].behavior`,
    );
  });
});

test.each([
  ['Rollout', Annotations.RolloutDrainTimeout],
  ['ScaleIn', Annotations.ScaleInDrainTimeout],
])('the drain timeout of cause %s forces the drain earlier', async (cause, key) => {
  const { rig } = await started(0);
  for (const name of ['m-0', 'm-1']) await rig.createMachine(name, { drainTimeout: '2h' });
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  const ofClass = { metadata: { annotations: { [key]: '10m' } } };
  await rig.admin.resource<MachineClass>(machineClasses, NAMESPACE).patch('small', { type: 'merge', body: ofClass });
  await budget(rig, 0, 2);
  for (const i of [0, 1]) await rig.createPod(`web-${i}`, `m-${i}`, { app: 'web' });
  const record = `${cause} ${rig.clock.now().toISOString().replace('.000Z', 'Z')}`;
  const body = { metadata: { annotations: { [Annotations.DeletionCause]: record } } };
  await rig.admin.resource<Machine>(machines, NAMESPACE).patch('m-0', { type: 'merge', body });
  for (const name of ['m-0', 'm-1']) await rig.deleteMachine(name);
  await rig.clock.advance(9 * 60_000);
  expect(await rig.machines()).toHaveLength(2);
  await rig.clock.advance(2 * 60_000);
  expect((await rig.machines()).map(({ metadata }) => metadata.name)).toEqual(['m-1']);
});

test('repair-drain-timeout of the class: the drain of an unhealthy machine is forced earlier, also after a restart', async () => {
  const { rig } = await started(0);
  for (const name of ['m-0', 'm-1']) await rig.createMachine(name, { drainTimeout: '2h' });
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  await rig.conditions('m-0', [
    { type: 'Ready', status: 'True', reason: 'KubeletReady', lastTransitionTime: '2026-01-01T00:00:00Z' },
    { type: 'DiskPressure', status: 'True', reason: 'Full', lastTransitionTime: '2026-01-01T00:00:00Z' },
  ]);
  await rig.until(async () => (await rig.phase('m-0')) === 'Failed');
  await budget(rig, 0);
  for (const name of ['m-0', 'm-1']) {
    await rig.createPod(`pod-of-${name}`, name, { app: 'web' });
    await rig.deleteMachine(name);
  }
  await rig.clock.advance(10 * 60_000);
  await rig.kill();
  rig.start();
  await rig.clock.advance(10 * 60_000 + 50_000);
  expect(await rig.podNames()).toEqual(['pod-of-m-0', 'pod-of-m-1']);
  // The drains of both machines have run for about 21 min, so the new drain timeout of the unhealthy machine has
  // expired.
  const body = { metadata: { annotations: { [Annotations.RepairDrainTimeout]: '15m' } } };
  await rig.admin.resource(machineClasses, NAMESPACE).patch('small', { type: 'merge', body });
  await rig.clock.advance(500);
  expect(await rig.podNames()).toEqual(['pod-of-m-1']);
  await rig.clock.advance(90 * 60_000);
  expect(await rig.podNames()).toEqual(['pod-of-m-1']);
  await rig.clock.advance(12 * 60_000);
  expect(await rig.podNames()).toEqual([]);
});

test('undrainable policy Hold: an unhealthy machine of the group waits for the drain only until its deadline', async () => {
  const { rig } = await started(0);
  const labels = { name: 'pool' };
  const annotations = { [Annotations.UndrainablePolicy]: 'Hold' };
  await rig.createMachine('m-0', { drainTimeout: '1h' }, { annotations, labels });
  for (const name of ['m-1', 'm-2']) await rig.createMachine(name, {}, { labels });
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  await budget(rig, 0);
  await rig.createPod('web-1', 'm-0', { app: 'web' });
  await rig.deleteMachine('m-0');
  await rig.conditions('m-1', [
    { type: 'Ready', status: 'False', reason: 'KubeletDown', lastTransitionTime: '2026-01-01T00:00:00Z' },
  ]);
  await rig.clock.advance(59 * 60_000);
  expect(await rig.phase('m-1')).toBe('Unknown');
  await rig.clock.advance(2 * 60_000);
  expect(await rig.phase('m-1')).toBe('Failed');
});

test.each([
  ['an update in place', 'update'],
  ['a preservation', 'preserve'],
] as const)(
  'undrainable policy Hold for %s: the deadline passes, the pod stays; force-drain ends it',
  async (_, why) => {
    const { rig } = await started(0);
    const annotations = { 'node.machine.sapcloud.io/undrainable-policy': 'Hold' };
    await rig.createMachine('m-0', { drainTimeout: '30m' }, { annotations });
    await rig.until(async () => (await rig.phase('m-0')) === 'Running');
    await budget(rig, 0);
    await rig.createPod('web-1', 'm-0', { app: 'web' });
    const node = rig.admin.resource(nodes);
    const mark = (metadata: object) => node.patch('m-0', { type: 'merge', body: { metadata } });
    if (why === 'update') {
      await mark({ labels: { 'node.machine.sapcloud.io/candidate-for-update': 'true' } });
      await mark({ labels: { 'node.machine.sapcloud.io/selected-for-update': 'true' } });
    } else {
      await mark({ annotations: { 'node.machine.sapcloud.io/preserve': 'when-failed' } });
      await rig.conditions('m-0', [
        { type: 'Ready', status: 'False', reason: 'KubeletDown', lastTransitionTime: '2026-01-01T00:00:00Z' },
      ]);
      await rig.until(async () => (await rig.phase('m-0')) === 'Failed');
    }
    await rig.clock.advance(3 * 60 * 60_000);
    expect(await rig.podNames()).toEqual(['web-1']);
    const body = { metadata: { labels: { 'force-drain': 'True' } } };
    await rig.admin.resource(machines, NAMESPACE).patch('m-0', { type: 'merge', body });
    await rig.until(async () => (await rig.podNames()).length === 0, 1_000);
    expect(rig.cloud.vms).toHaveLength(1);
  },
);

test('a drain is forced at its deadline, which counts time and not attempts [incident 2]', async () => {
  const { rig } = await started(0);
  await rig.createMachine('m-0', { drainTimeout: '30m', maxEvictRetries: 1_000 });
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  await budget(rig, 0);
  await rig.createPod('web-1', 'm-0', { app: 'web' });
  await rig.deleteMachine('m-0');
  await rig.clock.advance(29 * 60_000);
  expect(await rig.podNames()).toEqual(['web-1']);
  await rig.until(async () => (await rig.machines()).length === 0, 61_000);
});

test('a drain whose every request is throttled ends at its deadline, however often the controller restarts [incident 2]', async () => {
  const tooMany = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'TooManyRequests', code: 429 };
  const wrap =
    (transport: Transport): Transport =>
    (request) =>
      request.path.includes('/pods/') && request.method !== 'GET'
        ? Promise.resolve(Response.json(tooMany, { status: 429, headers: { 'retry-after': '10' } }))
        : transport(request);
  const { rig } = await started(0, { wrap });
  await rig.createMachine('m-0', { drainTimeout: '30m' });
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  await rig.createPod('web-1', 'm-0');
  await rig.deleteMachine('m-0');
  for (let restart = 0; restart < 4; restart++) {
    await rig.clock.advance(7 * 60_000);
    await rig.kill();
    rig.start();
  }
  await rig.clock.advance(60_000);
  expect(rig.cloud.vms).toHaveLength(1);
  await rig.until(async () => (await rig.machines()).length === 0, 3 * 60_000);
  expect(rig.cloud.vms).toEqual([]);
});

test.each<[what: string, change: object, goesAfterMs: number]>([
  ['a shorter drain timeout', { drainTimeout: '15m' }, 15 * 60_000],
  ['a longer drain timeout', { drainTimeout: '45m' }, 45 * 60_000],
  ['a lower limit of evictions', { maxEvictRetries: 40 }, 40 * 20_000],
])('§5.4 %s that is written during a drain counts from then on', async (_what, change, goesAfterMs) => {
  const { rig } = await started(0);
  await rig.createMachine('m-0', { drainTimeout: '30m' });
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  await budget(rig, 0);
  await rig.createPod('web-1', 'm-0', { app: 'web' });
  await rig.deleteMachine('m-0');
  await rig.clock.advance(60_000);
  await rig.admin.resource(machines, NAMESPACE).patch('m-0', { type: 'merge', body: { spec: change } });
  await rig.clock.advance(goesAfterMs - 65_000);
  const client = rig.admin.resource(pods, NAMESPACE);
  expect((await client.get('web-1')).metadata.deletionTimestamp).toBeUndefined();
  await rig.until(async () => (await client.list()).items.length === 0, 10_000);
});

test('a pod that is not ready is evicted at once if the policy of its budget allows it', async () => {
  const { rig } = await started(1);
  const client = rig.admin.resource(podDisruptionBudgets, NAMESPACE);
  await client.create({
    metadata: { name: 'web', namespace: NAMESPACE },
    spec: { minAvailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow', selector: { matchLabels: { app: 'web' } } },
  });
  await allow(rig, 0, 2);
  for (const name of ['well', 'ill']) await rig.createPod(name, 'm-0', { app: 'web' });
  const conditions = [
    { type: 'PodScheduled', status: 'True' },
    { type: 'Ready', status: 'False' },
  ];
  const body = { status: { phase: 'Running', conditions } };
  await rig.admin.resource(pods, NAMESPACE).patch('ill', { type: 'merge', body }, { subresource: 'status' });
  await rig.deleteMachine('m-0');
  await rig.clock.advance(5_000);
  const leaving = (await rig.admin.resource(pods, NAMESPACE).list()).items.filter(
    ({ metadata }) => metadata.deletionTimestamp,
  );
  expect(leaving.map(({ metadata }) => metadata.name)).toEqual(['ill']);
});

test('a volume that only the node reports is detached before its VM is deleted', async () => {
  const { rig } = await started(1);
  const { admin } = rig;
  await admin.resource(persistentVolumes).create({
    metadata: { name: 'pv-1' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      awsElasticBlockStore: { volumeID: 'aws://eu/vol-1' },
    },
  });
  await admin.resource(persistentVolumeClaims, NAMESPACE).create({
    metadata: { name: 'data', namespace: NAMESPACE },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeName: 'pv-1' },
  });
  const attach = (volumesAttached: object[]): Promise<Node> =>
    admin
      .resource(nodes)
      .patch('m-0', { type: 'merge', body: { status: { volumesAttached } } }, { subresource: 'status' });
  await attach([{ name: 'kubernetes.io/aws-ebs/aws://eu/vol-1', devicePath: '/dev/xvdba' }]);
  await rig.createPod('db', 'm-0', {}, [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]);
  await rig.deleteMachine('m-0');
  await rig.clock.advance(1_000);
  await endPods(rig);
  await rig.clock.advance(60_000);
  expect(await rig.description('m-0')).toBe(
    'Waiting: volume pv-1 of pod default/db is still attached; mcm waits until 2026-01-01T00:02:01Z. Initiate node drain',
  );
  expect(rig.cloud.calls.delete).toBe(0);
  await attach([]);
  await rig.until(async () => (await rig.machines()).length === 0, 1_000);
});

test('a volume without an attachment that the kubelet reports as in use is not detached [incident 21]', async () => {
  const { rig } = await started(1);
  const { admin } = rig;
  const spec = { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } };
  const csi = { driver: 'foreign.csi', volumeHandle: 'vol-1' };
  await admin.resource(persistentVolumes).create({ metadata: { name: 'pv-1' }, spec: { ...spec, csi } });
  await admin.resource(persistentVolumeClaims, NAMESPACE).create({
    metadata: { name: 'data', namespace: NAMESPACE },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeName: 'pv-1' },
  });
  const inUse = (volumesInUse: string[]): Promise<Node> =>
    admin
      .resource(nodes)
      .patch('m-0', { type: 'merge', body: { status: { volumesInUse } } }, { subresource: 'status' });
  await inUse(['kubernetes.io/csi/foreign.csi^vol-12', 'kubernetes.io/csi/foreign.csi^vol-1']);
  await rig.createPod('db', 'm-0', {}, [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]);
  await rig.deleteMachine('m-0');
  await rig.clock.advance(1_000);
  await endPods(rig);
  await rig.clock.advance(60_000);
  expect(await rig.description('m-0')).toBe(
    'Waiting: volume pv-1 of pod default/db is still in use; mcm waits until 2026-01-01T00:02:01Z. Initiate node drain',
  );
  expect(rig.cloud.calls.delete).toBe(0);
  await inUse(['kubernetes.io/csi/foreign.csi^vol-12']);
  await rig.until(async () => (await rig.machines()).length === 0, 1_000);
});

test('a dead kubelet keeps its volumes in use only until the detach timeout or the end of its VM [incident 21]', async () => {
  const { rig } = await started(1);
  const { admin } = rig;
  const spec = { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } };
  const csi = { driver: 'local.csi', volumeHandle: 'vol-1' };
  await admin.resource(persistentVolumes).create({ metadata: { name: 'pv-1' }, spec: { ...spec, csi } });
  await admin.resource(persistentVolumeClaims, NAMESPACE).create({
    metadata: { name: 'data', namespace: NAMESPACE },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeName: 'pv-1' },
  });
  const body = { status: { volumesInUse: ['kubernetes.io/csi/local.csi^vol-1'] } };
  await admin.resource(nodes).patch('m-0', { type: 'merge', body }, { subresource: 'status' });
  await rig.createPod('db', 'm-0', {}, [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]);
  await rig.deleteMachine('m-0');
  await rig.clock.advance(1_000);
  await endPods(rig);
  await rig.clock.advance(110_000);
  expect(rig.cloud.calls.delete).toBe(0);
  await rig.until(async () => (await rig.machines()).length === 0, 15_000);
});

test('machines with blocked drains delay neither a creation nor the deletion of an empty machine [incident 32]', async () => {
  // The number of machines is three times the number of workers, so the drains need several rounds.
  const [count, concurrency] = [12, 4];
  const { rig } = await started(count + 1, { controller: { concurrency } });
  await budget(rig, 0, count);
  for (let i = 0; i < count; i++) await rig.createPod(`web-${i}`, `m-${i}`, { app: 'web' });
  for (let i = 0; i < count; i++) await rig.deleteMachine(`m-${i}`);
  await rig.until(
    async () =>
      (await rig.machines()).filter((m) => m.status?.lastOperation?.description?.includes('budget')).length === count,
  );
  await rig.deleteMachine(`m-${count}`);
  await rig.until(async () => (await rig.machine(`m-${count}`)) === undefined, 3_000);
  await rig.createMachine('new');
  await rig.until(async () => (await rig.phase('new')) === 'Running', 1_000);
});

test('the next process continues after a kill in the middle of a drain', async () => {
  const { rig } = await started(1);
  await rig.createPod('a', 'm-0');
  await rig.deleteMachine('m-0');
  await rig.until(async () =>
    (await rig.admin.resource(pods, NAMESPACE).list()).items.every((p) => p.metadata.deletionTimestamp),
  );
  await rig.kill();
  await endPods(rig);
  rig.start();
  await rig.until(async () => (await rig.machines()).length === 0, 5_000);
  expect(rig.cloud.vms).toEqual([]);
});

test.each<[why: string, spec: object, after: (rig: Rig) => Promise<unknown>, because: string]>([
  [
    'the label',
    {},
    (rig) =>
      rig.admin.resource(machines, NAMESPACE).patch('m-0', {
        type: 'merge',
        body: { metadata: { labels: { 'force-deletion': 'True' } } },
      }),
    'because of label force-deletion=true',
  ],
  [
    'the time to drain',
    { drainTimeout: '40s' },
    (rig) => rig.clock.advance(36_000),
    'because the drain timeout expired',
  ],
  [
    'the tries',
    { drainTimeout: '1h', maxEvictRetries: 3 },
    (rig) => rig.clock.advance(61_000),
    'because the eviction timeout expired (maxEvictRetries, drainTimeout)',
  ],
  [
    'a silent node',
    {},
    async (rig) => {
      const lastTransitionTime = rig.clock.now().toISOString();
      await rig.conditions('m-0', [{ type: 'Ready', status: 'Unknown', lastTransitionTime }]);
      await rig.clock.advance(301_000);
    },
    'because the node is unreachable',
  ],
])('a deleted pod is explained by its budget: %s', async (_why, spec, after, because) => {
  const { rig } = await started(1);
  await rig.admin.resource(machines, NAMESPACE).patch('m-0', { type: 'merge', body: { spec } });
  await budget(rig, 0);
  await rig.createPod('web-1', 'm-0', { app: 'web' });
  await rig.deleteMachine('m-0');
  await rig.clock.advance(5_000);
  await after(rig);
  await rig.clock.advance(40_000);
  const { items } = await rig.admin.resource(events, NAMESPACE).list();
  expect(items.filter(({ reason }) => reason === 'PodsForcedOff')).toMatchObject([
    { message: `Pods deleted without a grace period or a check of their budgets, ${because}: default/web-1`, count: 1 },
  ]);
});

test('the status names both the pods with errors and the slow ones', async () => {
  const { rig } = await started(1);
  await budget(rig, 0, 1);
  await rig.admin
    .resource(podDisruptionBudgets, NAMESPACE)
    .patch('web', { type: 'merge', body: { spec: { minAvailable: null, maxUnavailable: 0 } } });
  const status = {
    observedGeneration: 2,
    expectedPods: 1,
    currentHealthy: 1,
    desiredHealthy: 1,
    disruptionsAllowed: 0,
  };
  await rig.admin
    .resource(podDisruptionBudgets, NAMESPACE)
    .patch('web', { type: 'merge', body: { status } }, { subresource: 'status' });
  await rig.createPod('web-1', 'm-0', { app: 'web' });
  await rig.createPod('stuck', 'm-0');
  await rig.deleteMachine('m-0');
  await rig.clock.advance(120_000);
  expect(await rig.description('m-0')).toMatch(
    /^Drain failed due to - .*budget default\/web is misconfigured.*; waiting: pod default\/stuck does not terminate\. Will retry in next sync\. Initiate node drain$/,
  );
});

test('pods that do not end are reported by an event on the machine, once, also after a restart', async () => {
  const { rig } = await started(1);
  await rig.createPod('stuck-1', 'm-0');
  await rig.createPod('stuck-2', 'm-0');
  await rig.deleteMachine('m-0');
  await rig.clock.advance(120_000);
  await rig.kill();
  await rig.start();
  await rig.clock.advance(180_000);
  const { items } = await rig.admin.resource(events, NAMESPACE).list();
  expect(items.filter(({ reason }) => reason === 'PodDoesNotEnd')).toMatchObject([
    {
      count: 1,
      involvedObject: { kind: 'Machine', name: 'm-0' },
      message:
        'Pods default/stuck-1, default/stuck-2 do not terminate. Check the finalizers of the pods and the kubelet. The label force-deletion=true on the machine ends the wait',
    },
  ]);
});
