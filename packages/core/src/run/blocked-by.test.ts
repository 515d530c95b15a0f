import {
  Annotations,
  type Block,
  crds,
  Labels,
  type Machine,
  type MachineClass,
  machineClasses,
  machines,
} from '@mcm/api';
import type { RequestLogEntry } from '@mcm/control-plane';
import { podDisruptionBudgets } from '@mcm/kube';
import { expect, test } from 'vitest';
import { Cuts } from './testing/cuts.ts';
import { NAMESPACE, type Rig, USER_AGENT } from './testing/rig.ts';
import { createRig, type StartOptions } from './testing/start.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

async function started(options: StartOptions = {}): Promise<{ rig: Rig; requests: RequestLogEntry[] }> {
  const made = await createRig({ eventTtlMs: 0, ...options, controller: options.controller ?? { blockedBy: true } });
  await made.rig.createClass();
  made.rig.start();
  return made;
}

const blocks = async (rig: Rig, name = 'm-0'): Promise<readonly Block[] | undefined> =>
  (await rig.machine(name))?.status?.blockedBy;

const blockedFor = (rig: Rig, cause: string, maxMs = HOUR) =>
  rig.until(async () => (await blocks(rig))?.some((block) => block.cause === cause) === true, maxMs);

const runs = async (rig: Rig, count = 1, labels: Record<string, string> = {}): Promise<void> => {
  for (let i = 0; i < count; i++) await rig.createMachine(`m-${i}`, {}, { labels });
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
};

const writes = (requests: readonly RequestLogEntry[]): string[] =>
  requests
    .filter(
      ({ userAgent, method, resource }) =>
        userAgent?.includes(USER_AGENT) && method !== 'GET' && resource === 'machines',
    )
    .map(({ method, path }) => `${method} ${path}`);

const annotateClass = (rig: Rig, annotations: Record<string, string>) =>
  rig.admin
    .resource<MachineClass>(machineClasses, NAMESPACE)
    .patch('small', { type: 'merge', body: { metadata: { annotations } } });

const budgets = (rig: Rig) => rig.admin.resource(podDisruptionBudgets, NAMESPACE);

async function allow(rig: Rig, allowed: number): Promise<void> {
  const status = { disruptionsAllowed: allowed, currentHealthy: 1 + allowed, desiredHealthy: 1, expectedPods: 2 };
  const body = { status: { ...status, observedGeneration: 1 } };
  await budgets(rig).patch('web', { type: 'merge', body }, { subresource: 'status' });
}

async function drainBlocked(options: StartOptions = {}) {
  const made = await started(options);
  const { rig } = made;
  await runs(rig);
  await budgets(rig).create({
    metadata: { name: 'web', namespace: NAMESPACE },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
  });
  await allow(rig, 0);
  for (const name of ['web-1', 'web-2']) await rig.createPod(name, 'm-0', { app: 'web' });
  await rig.deleteMachine('m-0');
  await rig.until(async () => (await rig.description('m-0')).includes('budget'));
  return made;
}

test('a drain names the budget that blocks it, with one entry for all its pods, and without another write', async () => {
  const { rig, requests } = await drainBlocked();
  const entry = {
    cause: 'Drain',
    object: { kind: 'PodDisruptionBudget', namespace: NAMESPACE, name: 'web' },
    reason: 'pod default/web-1 waits for pod disruption budget default/web, which allows no disruption now',
    since: expect.stringMatching(/^2026-01-01T00:/),
  };
  expect(await blocks(rig)).toEqual([entry]);
  requests.length = 0;
  await rig.clock.advance(10 * MINUTE);
  expect([await blocks(rig), writes(requests)]).toEqual([[entry], []]);
});

test('the entry disappears when the pods can be evicted', async () => {
  const { rig } = await drainBlocked();
  await allow(rig, 2);
  await rig.until(async () => (await blocks(rig)) === undefined, MINUTE);
  expect((await rig.machine('m-0'))?.status?.currentStatus?.phase).toBe('Terminating');
});

test('a hook is an entry until its owner ends it', async () => {
  const { rig } = await started();
  await annotateClass(rig, { [Annotations.Hooks]: 'before-create check owner 1h Block' });
  await rig.createMachine('m-0');
  await blockedFor(rig, 'Hook');
  expect(await blocks(rig)).toMatchObject([
    {
      cause: 'Hook',
      object: { kind: 'Hook', name: 'before-create/check' },
      reason: 'the machine waits for before-create hook check of owner',
    },
  ]);
});

test('a shortage stays one entry with its first time while mcm tries again, without more writes than without the flag', async () => {
  const during = async (blockedBy: boolean) => {
    const { rig, requests } = await started({ cloud: { room: () => false }, controller: { blockedBy } });
    await rig.createMachine('m-0', { creationTimeout: '10h' });
    await rig.until(async () => (await rig.description('m-0')).includes('ResourceExhausted'), HOUR);
    await rig.clock.advance(1_000);
    const before = await blocks(rig);
    requests.length = 0;
    const tried = rig.cloud.calls.create;
    await rig.clock.advance(3 * HOUR);
    expect(rig.cloud.calls.create).toBeGreaterThan(tried);
    return { before, after: await blocks(rig), count: writes(requests).length };
  };
  const on = await during(true);
  expect(on.before).toMatchObject([{ cause: 'Capacity', object: { kind: 'MachineClass', name: 'small' } }]);
  expect(on.after).toEqual(on.before);
  const off = await during(false);
  expect([off.before, off.count]).toEqual([undefined, on.count]);
});

async function silent(rig: Rig, names: readonly string[]): Promise<void> {
  const lastTransitionTime = rig.clock.now().toISOString();
  const unknown = { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown', lastTransitionTime };
  for (const name of names) await rig.conditions(name, [unknown]);
}

test('an unreachable machine names the circuit breaker', async () => {
  const { rig } = await started();
  await runs(rig, 4);
  await silent(rig, ['m-0', 'm-1', 'm-2']);
  await blockedFor(rig, 'Breaker');
  expect((await blocks(rig))?.[0]?.reason).toBe(
    'too many machines of the cluster became unreachable at the same time, so mcm replaces no unreachable machine',
  );
});

test('an unreachable machine names the limit of replacements', async () => {
  const { rig } = await started();
  await runs(rig, 12, { [Labels.DeploymentName]: 'workers' });
  await silent(rig, ['m-0', 'm-1']);
  const isBudget = async () => {
    const found = await Promise.all(['m-0', 'm-1'].map((name) => blocks(rig, name)));
    return found.some((list) => list?.[0]?.cause === 'Budget');
  };
  await rig.until(isBudget, HOUR);
});

async function touch(rig: Rig, name: string): Promise<void> {
  const body = { metadata: { annotations: { example: 'changed' } } };
  await rig.admin.resource<Machine>(machines, NAMESPACE).patch(name, { type: 'merge', body });
}

test('paused health checks are an entry only of machines that need an action', async () => {
  let now = (): number => 0;
  const cuts = new Cuts(() => now());
  const { rig, requests } = await started({ wrap: cuts.wrap });
  now = () => rig.clock.monotonic();
  await runs(rig, 3);
  cuts.cut('target', 'refused');
  await rig.until(async () => rig.controller?.frozen() === true, 5 * MINUTE);
  requests.length = 0;
  await rig.createMachine('m-3');
  await touch(rig, 'm-0');
  await rig.clock.advance(MINUTE);
  expect(await blocks(rig, 'm-3')).toMatchObject([{ cause: 'Frozen' }]);
  expect(writes(requests).filter((write) => !write.includes('m-3'))).toEqual([]);
  cuts.restore();
  await rig.until(async () => (await blocks(rig, 'm-3')) === undefined, 10 * MINUTE);
});

test('without the flag, a process removes the entries of an earlier process', async () => {
  const controller = { blockedBy: true };
  const { rig } = await drainBlocked({ controller });
  expect(await blocks(rig)).toHaveLength(1);
  await rig.kill();
  controller.blockedBy = false;
  rig.start();
  await rig.until(async () => (await blocks(rig)) === undefined, MINUTE);
});

test('with a CRD that drops the field, mcm stops its writes', async () => {
  const original = JSON.parse(JSON.stringify(crds).replaceAll('"blockedBy":', '"otherName":')) as typeof crds;
  const { rig, requests } = await started({ crds: original });
  await runs(rig, 4);
  await silent(rig, ['m-0', 'm-1', 'm-2']);
  await rig.clock.advance(15 * MINUTE);
  expect([await rig.phase('m-0'), await blocks(rig)]).toEqual(['Unknown', undefined]);
  requests.length = 0;
  await touch(rig, 'm-0');
  await rig.clock.advance(MINUTE);
  expect(writes(requests)).toEqual([]);
});
