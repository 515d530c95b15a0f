import { Annotations, Labels, type MachineSet } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { describe, expect, test } from 'vitest';
import { controllerReference } from '../objects/claim.ts';
import { deployment, machine, machinesOf, NOW, set } from '../set/test-objects.ts';
import { planRollout } from './plan.ts';
import { nodeMarks } from './state/node-marks.ts';
import { World, type WorldOptions } from './testing/world.ts';

const start = (options: WorldOptions = {}) => World.start(startControlPlane, options);
const refusal = (code: number, reason: string) => () =>
  Response.json(
    { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, code, message: reason },
    { status: code },
  );

function refusing(path: RegExp, times: number, refuse: () => Response) {
  const seen = { count: 0 };
  const fault: WorldOptions['fault'] = async (request, answer) => {
    if (request.method === 'GET' || !path.test(new URL(request.url).pathname)) return answer();
    return seen.count++ < times ? refuse() : answer();
  };
  return { seen, fault };
}

describe('failures of the server', () => {
  test('the caches are frozen: a failed write leaves them unchanged, and the change is retried [BUG-8]', async () => {
    let refuses = false;
    const fault: WorldOptions['fault'] = async (request, answer) =>
      refuses && request.method === 'PATCH' && /\/machines\//.test(request.url)
        ? refusal(500, 'InternalError')()
        : answer();
    await using world = await start({ fault });
    await world.deploy(2);
    await world.until(() => world.complete(), 60);
    refuses = true;
    await world.change({ spec: { template: { spec: { drainTimeout: '30m' } } } });
    await world.pass(3);
    expect(world.context.machines.store.list().map(({ spec }) => spec.drainTimeout)).toEqual([undefined, undefined]);
    const [cached] = world.context.machines.store.list();
    expect(() => Object.assign(cached?.spec ?? {}, { drainTimeout: '1m' })).toThrow(TypeError);
    refuses = false;
    await world.until(async () => (await world.machines()).every(({ spec }) => spec.drainTimeout === '30m'), 60);
  });

  test('a finalizer that is always refused is retried with a back-off [BUG-12]', async () => {
    const { seen, fault } = refusing(/\/machinedeployments\/pool$/, 1_000_000, refusal(500, 'InternalError'));
    await using world = await start({ fault });
    await world.deploy(1);
    await world.pass(60);
    expect(seen.count).toBeGreaterThan(3);
    expect(seen.count).toBeLessThan(30);
  });

  test('a node that another client changed is still marked [BUG-13]', async () => {
    const { seen, fault } = refusing(/\/nodes\//, 2, refusal(409, 'Conflict'));
    await using world = await start({ fault, birthMs: (m) => (m.spec.class.name === 'large' ? undefined : 100) });
    await world.deploy(1);
    await world.until(() => world.complete(), 60);
    await world.changeClass('large');
    await world.pass(3);
    const [node] = await world.nodes();
    expect([node?.spec.taints?.map(({ effect }) => effect), seen.count]).toEqual([['PreferNoSchedule'], 3]);
  });

  test('refused deletions of sets are retried [ODD-23]', async () => {
    const { seen, fault } = refusing(/\/machinesets\//, 3, refusal(500, 'InternalError'));
    let armed = false;
    await using world = await start({
      fault: (request, answer, clock) =>
        armed && request.method === 'DELETE' ? fault(request, answer, clock) : answer(),
    });
    await world.deploy(1);
    await world.until(() => world.complete(), 60);
    armed = true;
    await world.remove();
    await world.until(async () => (await world.sets()).length === 0, 60);
    expect(seen.count).toBe(4);
  });
});

describe('rollouts', () => {
  const snapshot = (
    pool: ReturnType<typeof deployment>,
    sets: readonly MachineSet[],
    machines: readonly (readonly ReturnType<typeof machine>[])[],
  ) => ({
    deployment: pool,
    sets,
    machines: new Map(sets.map((s, i) => [s.metadata.uid, machines[i] ?? []])),
    creating: () => 0,
    now: NOW,
  });
  const names = (sets: readonly MachineSet[]) => sets.map(({ metadata }) => metadata.name).sort();

  test('an old set with machines counts even if none is available [ODD-6]', () => {
    const old = set('old', 3, { className: 'former', age: 90, annotations: { [Annotations.DesiredReplicas]: '3' } });
    const current = set('new', 1, { annotations: { [Annotations.DesiredReplicas]: '3' } });
    const { nodes: marks } = planRollout(snapshot(deployment(3), [old, current], [machinesOf(3, 'Unknown'), []]));
    expect([names(marks.protect), names(marks.taint)]).toEqual([['new', 'old'], ['old']]);
  });

  test('a node that joins an old set later is tainted too [ODD-7, corrected]', () => {
    const old = set('old', 1, {
      className: 'former',
      age: 90,
      annotations: { [Annotations.PreferNoSchedule]: 'True' },
    });
    const plan = planRollout(snapshot(deployment(1), [old], [machinesOf(1, 'Running')]));
    expect(names(plan.nodes.taint)).toEqual(['old']);
  });

  test('the scaler time and the new size reach the set in one write [ODD-9]', async () => {
    await using world = await start();
    await world.deploy(3);
    await world.until(() => world.complete(), 60);
    await world.pass(3);
    const [victim] = (await world.machines()).map(({ metadata }) => metadata.name);
    const T = '2026-01-01T12:00:30Z';
    world.writes.clear();
    const seen: string[] = [];
    world.context.sets.onChange(({ object }) => {
      const { [Annotations.LastReplicaChangeByScaler]: time } = object.metadata.annotations ?? {};
      seen.push(`${object.spec.replicas}/${time === undefined ? 'none' : 'time'}`);
    });
    seen.length = 0;
    await world.change({
      metadata: {
        annotations: {
          [Annotations.TriggerDeletion]: `${victim}~${T}`,
          [Annotations.LastReplicaChangeByScaler]: T,
        },
      },
      spec: { replicas: 2 },
    });
    await world.until(() => world.complete(), 60);
    expect(seen).not.toContain('3/time');
    expect([world.writes.get('POST machines'), world.writes.get('DELETE machines')]).toEqual([undefined, 1]);
    expect((await world.machines()).map(({ metadata }) => metadata.name)).not.toContain(victim);
  });

  test('a template that is reverted leaves no candidates [ODD-20]', async () => {
    await using world = await start();
    await world.deploy(2, {
      strategy: {
        type: 'InPlaceUpdate',
        inPlaceUpdate: { maxSurge: 0, maxUnavailable: 1, orchestrationType: 'Manual' },
      },
    });
    await world.until(() => world.complete(), 60);
    const candidates = async () =>
      (await world.nodes()).filter(({ metadata }) => metadata.labels?.[Labels.CandidateForUpdate] !== undefined).length;
    await world.changeClass('large');
    await world.pass(3);
    expect(await candidates()).toBe(2);
    await world.changeClass('small');
    await world.pass(3);
    expect(await candidates()).toBe(0);
  });

  test('a label that a user removes from a set stays removed [ODD-21]', async () => {
    await using world = await start();
    await world.deploy(2, {
      strategy: {
        type: 'InPlaceUpdate',
        inPlaceUpdate: { maxSurge: 0, maxUnavailable: 1, orchestrationType: 'Manual' },
      },
    });
    await world.until(() => world.complete(), 60);
    await world.changeClass('large');
    await world.pass(3);
    const old = (await world.sets()).find((s) => s.spec.template.spec.class.name === 'small');
    expect(old?.metadata.labels).toMatchObject({ [Labels.ScaleUpDisabled]: 'true' });
    expect(Object.keys(old?.metadata.labels ?? {}).sort()).toEqual(
      ['app', Labels.TemplateHash, Labels.ScaleUpDisabled].sort(),
    );
  });
});

test('machines count by the uid of their owner, not by its name [ODD-2]', async () => {
  await using world = await start();
  await world.deploy(1);
  await world.until(() => world.complete(), 60);
  const [ours] = await world.sets();
  if (ours === undefined) throw new Error('no set');
  const { metadata } = ours;
  for (let i = 0; i < 8; i++) {
    await world.addMachine({
      name: `foreign-${i}`,
      labels: { ...ours.spec.template.metadata?.labels },
      ownerReferences: [{ ...controllerReference(ours), name: metadata.name, uid: 'of-a-namesake' }],
    });
  }
  await world.pass(70);
  expect((await world.sets())[0]?.metadata.labels?.freeze).toBeUndefined();
  expect((await world.machines()).filter((m) => m.metadata.name.startsWith('foreign'))).toHaveLength(8);
});

test('marks of nodes need caches only: no claim is made, and no cached node changes [ODD-17, ODD-18]', () => {
  const node = Object.freeze({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: Object.freeze({ name: 'n', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' }),
    spec: Object.freeze({ taints: Object.freeze([]) as never }),
  });
  const old = set('old', 1);
  const marks = nodeMarks(
    { taint: [old], untaint: [], candidates: [old], protect: [old], unprotect: [] },
    () => [machine('m', { phase: 'Running', labels: { [Labels.Node]: 'n' } })],
    () => node,
    { protection: true },
  );
  expect(marks).toHaveLength(1);
  expect(node.spec.taints).toEqual([]);
});
