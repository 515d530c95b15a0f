import {
  Annotations,
  Labels,
  type Machine,
  type MachineDeployment,
  type MachinePhase,
  type MachineSet,
} from '@mcm/api';
import type { Node, Taint } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { deployment, machine, machinesOf, NOW, set } from '../set/test-objects.ts';
import { planRollout } from './plan.ts';
import { checkPlan } from './state/guard.ts';
import { syncedSet } from './state/new-set.ts';
import { nodeMarks } from './state/node-marks.ts';
import { isActive } from './state/size.ts';

const PREFER: Taint = {
  key: 'deployment.machine.sapcloud.io/prefer-no-schedule',
  value: 'True',
  effect: 'PreferNoSchedule',
};

const snapshot = (pool: MachineDeployment, sets: readonly MachineSet[], machines: readonly (readonly Machine[])[]) => ({
  deployment: pool,
  sets,
  machines: new Map(sets.map((s, i) => [s.metadata.uid, machines[i] ?? []])),
  creating: () => 0,
  nodeOf: () => undefined,
  now: NOW,
});
const former = (replicas: number, options: Parameters<typeof set>[2] = {}) =>
  set('old', replicas, { className: 'former', age: 90, ...options });
const sizesAfter = (
  pool: MachineDeployment,
  sets: readonly MachineSet[],
  machines: readonly (readonly Machine[])[],
) => {
  const { write, create } = planRollout(snapshot(pool, sets, machines));
  const after = new Map([...sets, ...write].map(({ metadata, spec }) => [metadata.name, spec.replicas]));
  return { ...Object.fromEntries(after), ...(create ? { created: create.spec.replicas } : {}) };
};
const strategy = (type: string, block: object = {}): Partial<MachineDeployment['spec']> =>
  ({ strategy: { type, ...block } }) as Partial<MachineDeployment['spec']>;

test.each(['RollingUpdate', 'Recreate'])(
  '2.8 %s: history beyond the limit is removed when the rollout is complete, and not before',
  (type) => {
    const observed = (one: MachineSet): MachineSet => ({ ...one, status: { ...one.status, observedGeneration: 1 } });
    const pool = deployment(2, {
      ...strategy(type, { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }),
      revisionHistoryLimit: 0,
    });
    const sets = [observed(former(0)), observed(set('new', 2, { age: 5 }))];
    const removed = (machines: readonly Machine[]) => {
      const status = { replicas: 2, updatedReplicas: 2, availableReplicas: 2, observedGeneration: 1 };
      const plan = planRollout(snapshot({ ...pool, status }, sets, [[], machines]));
      return plan.remove.map(({ metadata }) => metadata.name);
    };
    expect(removed(machinesOf(2, 'Running'))).toEqual(['old']);
    // One machine of the new template has not joined, so a user may want to return to the old template.
    expect(removed([...machinesOf(1, 'Running'), machine('late', { phase: 'Pending', age: 1 })])).toEqual([]);
    expect(removed(machinesOf(1, 'Running'))).toEqual([]);
  },
);

describe('replicas of a set that is created for five, next to four old machines', () => {
  const inPlace = (orchestrationType: string, maxSurge: number) =>
    strategy('InPlaceUpdate', { inPlaceUpdate: { orchestrationType, maxSurge, maxUnavailable: 1 } });
  test.each<[string, Partial<MachineDeployment['spec']>, number | undefined]>([
    ['U-07 Recreate waits until the old machines are deleted', strategy('Recreate'), undefined],
    ['U-07 Manual: none', inPlace('Manual', 1), 0],
    ['U-09 in place, surge 2: the missing machines and the surge', inPlace('Auto', 2), 3],
    ['U-09 in place, surge 1', inPlace('Auto', 1), 2],
    ['rolling, surge 2', strategy('RollingUpdate', { rollingUpdate: { maxSurge: 2, maxUnavailable: 0 } }), 3],
  ])('%s', (_title, spec, created) => {
    const old = former(4, { annotations: { [Annotations.DesiredReplicas]: '5' } });
    const plan = planRollout(snapshot(deployment(5, spec), [old], [machinesOf(4, 'Running')]));
    expect(plan.create?.spec.replicas).toBe(created);
  });
  test('Recreate creates all when the old ones are gone [U-07]', () => {
    expect(sizesAfter(deployment(5, strategy('Recreate')), [former(0)], [[]])).toEqual({ old: 0, created: 5 });
  });
  test('a set without replicas is not active [U-12]', () => {
    const size = { name: 's', createdAt: 0, actual: 0, available: 0, desired: undefined, max: undefined };
    expect([isActive({ ...size, replicas: 0 }), isActive({ ...size, replicas: 1 })]).toEqual([false, true]);
  });
});

describe('sets of a deployment', () => {
  test('another template label gives a second set with another name [N-01]', () => {
    const pool = deployment(1);
    const labelled = {
      ...pool,
      spec: { ...pool.spec, template: { ...pool.spec.template, metadata: { labels: { app: 'pool', a: 'b' } } } },
    };
    const first = planRollout(snapshot(pool, [], [])).create;
    const second = planRollout(snapshot(labelled, [set('first', 1)], [machinesOf(1, 'Running')])).create;
    expect(second?.metadata.name).toMatch(/^pool-.{5}$/);
    expect(second?.metadata.name).not.toBe(first?.metadata.name);
  });
  test('a node template is copied once [N-06]', () => {
    const nodeTemplate = { metadata: { labels: { gen: '2' } } };
    const base = deployment(1);
    const pool = {
      ...base,
      spec: { ...base.spec, template: { ...base.spec.template, spec: { ...base.spec.template.spec, nodeTemplate } } },
    };
    const synced = syncedSet(pool, set('s', 1), 0);
    expect(synced.spec.template.spec.nodeTemplate).toEqual(nodeTemplate);
    expect(syncedSet(pool, synced, 0)).toBe(synced);
  });
  test('a complete deployment is left unchanged [R-01]', () => {
    const annotations = {
      [Annotations.Revision]: '1',
      [Annotations.DesiredReplicas]: '5',
      [Annotations.MaxReplicas]: '6',
    };
    const plan = planRollout(snapshot(deployment(5), [set('ms', 5, { annotations })], [machinesOf(5, 'Running')]));
    expect(plan).toMatchObject({ write: [], create: undefined, remove: [], rollback: undefined, events: [] });
  });
  test('with one more allowed there are never two more [W-10, BUG-4 corrected]', () => {
    const old = former(3, { annotations: { [Annotations.DesiredReplicas]: '3', [Annotations.MaxReplicas]: '4' } });
    const fresh = set('new', 1, { annotations: { [Annotations.DesiredReplicas]: '3' }, className: 'small' });
    expect(sizesAfter(deployment(3), [old], [machinesOf(3, 'Running')])).toEqual({ old: 3, created: 1 });
    expect(sizesAfter(deployment(3), [old, fresh], [machinesOf(3, 'Running'), []])).toEqual({ old: 3, new: 1 });
  });
  test('an unknown strategy deletes no machine [U-10]', () => {
    const old = former(3, { annotations: { [Annotations.DesiredReplicas]: '3' } });
    const plan = planRollout(snapshot(deployment(3, strategy('Dummy')), [old], [machinesOf(3, 'Running')]));
    expect(plan.write.every(({ spec }) => (spec.replicas ?? 0) >= 3)).toBe(true);
    expect(() =>
      checkPlan({ current: undefined, old: [] }, new Map([['s', -1]]), {
        replicas: 1,
        surge: 0,
        unavailable: 0,
        strategy: 'Dummy',
      }),
    ).toThrow('mcm refused to scale MachineSet s to -1');
  });
  test('a complete rollout to a former template removes its taint [W-18]', () => {
    const pool = deployment(2);
    const current = set('ms', 2, {
      annotations: { [Annotations.PreferNoSchedule]: 'True', [Annotations.DesiredReplicas]: '2' },
    });
    const plan = planRollout(snapshot(pool, [current], [machinesOf(2, 'Running')]));
    expect(plan.nodes.untaint.map(({ metadata }) => metadata.name)).toEqual(['ms']);
    expect(plan.write[0]?.metadata.annotations).not.toHaveProperty([Annotations.PreferNoSchedule]);
  });
  test('an old set whose nodes were cleaned keeps no note, so its later nodes get the taint [ODD-24]', () => {
    const emptied = former(0, { annotations: { [Annotations.PreferNoSchedule]: 'True' } });
    const current = set('ms', 2, { annotations: { [Annotations.DesiredReplicas]: '2' } });
    const plan = planRollout(
      snapshot(deployment(2, { className: 'former' }), [emptied, current], [[], machinesOf(2, 'Running')]),
    );
    expect(plan.nodes.taint.map(({ metadata }) => metadata.name)).toEqual(['ms']);
  });
});

describe('marks of nodes', () => {
  const node = (given: { taints?: Taint[]; annotations?: Record<string, string> } = {}): Node => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: 'node-0',
      uid: 'u',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...(given.annotations ? { annotations: given.annotations } : {}),
    },
    spec: given.taints ? { taints: given.taints } : {},
  });
  const ms = set('ms', 1);
  const NONE = { taint: [], untaint: [], candidates: [], protect: [], unprotect: [] };
  const changes = (marks: Partial<typeof NONE> | object, given: Node | undefined, options: object = {}) =>
    nodeMarks(
      { ...NONE, ...marks },
      () => [machine('m', { phase: 'Running', labels: { [Labels.Node]: 'node-0' }, ...options })],
      () => given,
      { protection: true },
    ).map(({ change }) => change);
  const both = {
    'cluster-autoscaler.kubernetes.io/scale-down-disabled': 'true',
    'cluster-autoscaler.kubernetes.io/scale-down-disabled-by-mcm': 'true',
  };
  const off = Object.fromEntries(Object.keys(both).map((key) => [key, null]));

  test.each<[string, object, Node | undefined, readonly object[]]>([
    ['W-03 the taint is removed', { untaint: [ms] }, node({ taints: [PREFER] }), [{ spec: { taints: null } }]],
    ['W-03 there is no taint to remove', { untaint: [ms] }, node(), []],
    ['the taint is added to other taints', { taint: [ms] }, node(), [{ spec: { taints: [PREFER] } }]],
    ['the taint already exists', { taint: [ms] }, node({ taints: [PREFER] }), []],
    [
      'W-04 annotations are added to others',
      { protect: [ms] },
      node({ annotations: { anno1: '1' } }),
      [{ metadata: { annotations: both } }],
    ],
    ['W-04 the annotations already exist', { protect: [ms] }, node({ annotations: both }), []],
    [
      'W-04 another value is overwritten',
      { protect: [ms] },
      node({ annotations: { ...both, 'cluster-autoscaler.kubernetes.io/scale-down-disabled': 'false' } }),
      [{ metadata: { annotations: both } }],
    ],
    ['W-05 no node', { protect: [ms], taint: [ms] }, undefined, []],
    ['X-09 a node without any annotation', { protect: [ms] }, node(), [{ metadata: { annotations: both } }]],
    ['X-09 no node', { protect: [ms] }, undefined, []],
    [
      'X-10 annotations of mcm are removed, and others stay',
      { unprotect: [ms] },
      node({ annotations: { ...both, a: 'b' } }),
      [{ metadata: { annotations: off } }],
    ],
    ['X-10 there are no annotations', { unprotect: [ms] }, node({ annotations: { a: 'b' } }), []],
    [
      'X-10 with any value',
      { unprotect: [ms] },
      node({ annotations: { 'cluster-autoscaler.kubernetes.io/scale-down-disabled-by-mcm': 'x' } }),
      [{ metadata: { annotations: off } }],
    ],
    ['X-10 no node', { unprotect: [ms] }, undefined, []],
    [
      'a protection that another client added stays',
      { unprotect: [ms] },
      node({ annotations: { 'cluster-autoscaler.kubernetes.io/scale-down-disabled': 'true' } }),
      [],
    ],
  ])('%s', (_title, marks, given, want) => expect(changes(marks, given)).toEqual(want));

  test.each<[string, phase: MachinePhase, annotations: Record<string, string>, count: number]>([
    ['the machine controller protects the Node of a machine that joins', 'Pending', {}, 0],
    [
      'another machine controller has synchronized the Node',
      'Pending',
      { [Annotations.LastAppliedNodeTemplate]: '{}' },
      1,
    ],
    ['the machine has joined', 'Running', {}, 1],
  ])('%s', (_title, phase, annotations, count) => {
    const { metadata, ...rest } = machine('m', { phase, labels: { [Labels.Node]: 'node-0' } });
    const joining = { ...rest, metadata: { ...metadata, annotations: { [Annotations.ProtectNewNode]: 'true' } } };
    const given = node({ annotations });
    const marks = nodeMarks(
      { ...NONE, protect: [ms] },
      () => [joining],
      () => given,
      { protection: true },
    );
    expect(marks).toHaveLength(count);
  });

  test('the end of a rollout keeps the protection of a preserved machine [9.5]', () => {
    const given = node({ annotations: both });
    expect(changes({ unprotect: [ms] }, given, { preservedUntil: 60 })).toEqual([]);
    expect(changes({ unprotect: [ms] }, given)).toHaveLength(1);
  });
});

test('a terminating machine uses the surge of a rollout, if terminating machines count [incident 24]', () => {
  const grownTo = (counts: string) => {
    const old = [...machinesOf(2, 'Running', 'o'), machine('gone', { phase: 'Terminating', deleting: true })];
    const sets = [set('old', 3, { className: 'former', age: 90 }), set('new', 0, { age: 5 })];
    const machines = new Map([['uid-old', old]]);
    const pool = deployment(3, { annotations: { [Annotations.CountTerminating]: counts } });
    const { write } = planRollout({ deployment: pool, sets, machines, creating: () => 0, now: NOW });
    return write.find(({ metadata }) => metadata.name === 'new')?.spec.replicas;
  };
  expect([grownTo('true') ?? 0, grownTo('false')]).toEqual([0, 1]);
});
