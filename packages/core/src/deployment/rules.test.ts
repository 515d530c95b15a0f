import {
  ANNOTATIONS_NOT_COPIED,
  Annotations,
  ConditionReasons,
  EventReasons,
  Finalizers,
  Labels,
  MachineDeploymentConditions,
  MachineSetConditions,
  PreserveValues,
  Taints,
} from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { type ConditionChange, setDeploymentCondition, setSetCondition } from '../objects/conditions.ts';
import { limitsOf } from '../objects/limits.ts';
import { deployment, type machine, machinesOf, minutes, NOW, set } from '../set/test-objects.ts';
import { planRollout } from './plan.ts';
import { planScaling } from './scaling/scaling.ts';
import { newSet, syncedSet } from './state/new-set.ts';
import { hasProgressed, pauseCondition, withProgress } from './state/progress.ts';
import { planRollback } from './state/rollback.ts';
import { type CountedSets, deploymentStatus } from './state/status.ts';
import { validateDeployment } from './validation.ts';

const counts = (replicas: number, more: object = {}) => ({
  replicas,
  available: replicas,
  ready: replicas,
  fullyLabeled: replicas,
  preservedFailed: 0,
  autoPreserved: 0,
  failed: [],
  ...more,
});
const failed = (name: string) => [{ name, lastOperation: { description: name } }];
const snapshot = (
  pool: ReturnType<typeof deployment>,
  sets: readonly ReturnType<typeof set>[],
  machines: readonly (readonly ReturnType<typeof machine>[])[] = [],
) => ({
  deployment: pool,
  sets,
  machines: new Map(sets.map((one, index) => [one.metadata.uid, machines[index] ?? []])),
  creating: () => 0,
  nodeOf: () => undefined,
  now: NOW,
});
const former = (replicas: number, options: Parameters<typeof set>[2] = {}) =>
  set('old', replicas, { className: 'former', age: 90, ...options });
const sizes = (plan: ReturnType<typeof planRollout>) =>
  Object.fromEntries(plan.write.map(({ metadata, spec }) => [metadata.name, spec.replicas]));

describe('vocabulary [0]', () => {
  test('keys, values and taints are exactly those of the original', () => {
    expect(Finalizers.MachineControllerManager).toBe('machine.sapcloud.io/machine-controller-manager');
    expect([Labels.TemplateHash, Labels.Node, Labels.DeploymentName, Labels.Freeze]).toEqual([
      'machine-template-hash',
      'node',
      'name',
      'freeze',
    ]);
    const node = 'node.machine.sapcloud.io';
    expect([
      Labels.ScaleUpDisabled,
      Labels.CandidateForUpdate,
      Labels.SelectedForUpdate,
      Labels.UpdateResult,
      Annotations.UpdateFailedReason,
      Annotations.TriggerDeletion,
      Annotations.Preserve,
      Annotations.LastAppliedNodePreserve,
      Annotations.EffectiveCreationTimeout,
    ]).toEqual([
      `${node}/scale-up-disabled`,
      `${node}/candidate-for-update`,
      `${node}/selected-for-update`,
      `${node}/update-result`,
      `${node}/update-failed-reason`,
      `${node}/trigger-deletion-by-mcm`,
      `${node}/preserve`,
      `${node}/last-applied-node-preserve-value`,
      `${node}/effective-creation-timeout`,
    ]);
    expect([
      Annotations.Revision,
      Annotations.RevisionHistory,
      Annotations.DesiredReplicas,
      Annotations.MaxReplicas,
    ]).toEqual([
      'deployment.kubernetes.io/revision',
      'deployment.kubernetes.io/revision-history',
      'deployment.kubernetes.io/desired-replicas',
      'deployment.kubernetes.io/max-replicas',
    ]);
    expect([
      Annotations.PreferNoSchedule,
      Annotations.Unfreeze,
      Annotations.Priority,
      Annotations.MarkedForDeletionTime,
      Annotations.LastReplicaChangeByScaler,
      Annotations.ScaleDownDisabled,
      Annotations.ScaleDownDisabledByMCM,
    ]).toEqual([
      'deployment.machine.sapcloud.io/prefer-no-schedule',
      'safety.machine.sapcloud.io/unfreeze',
      'machinepriority.machine.sapcloud.io',
      'machine.sapcloud.io/marked-for-deletion-time',
      'machine.sapcloud.io/last-deployment-replica-change-by-scaler-time',
      'cluster-autoscaler.kubernetes.io/scale-down-disabled',
      'cluster-autoscaler.kubernetes.io/scale-down-disabled-by-mcm',
    ]);
    expect(Object.values(PreserveValues).toSorted()).toEqual(['auto-preserved', 'false', 'now', 'when-failed']);
    expect(Taints.PreferNoSchedule).toEqual({
      key: 'deployment.machine.sapcloud.io/prefer-no-schedule',
      value: 'True',
      effect: 'PreferNoSchedule',
    });
    expect(Taints.CriticalComponentsNotReady).toEqual({
      key: 'node.gardener.cloud/critical-components-not-ready',
      effect: 'NoSchedule',
    });
  });
});

describe('deployment [1]', () => {
  test('an in-place update without an orchestration type is refused [1.2]', () => {
    const strategy = { type: 'InPlaceUpdate', inPlaceUpdate: { maxSurge: 0, maxUnavailable: 1 } } as never;
    expect(validateDeployment(deployment(1, { strategy })).map(({ field }) => field)).toEqual([
      'spec.strategy.inPlaceUpdate.orchestrationType',
    ]);
  });

  test('a pause precedes a rollback, a rollback precedes scaling, and scaling precedes a rollout [1.3]', () => {
    const annotations = { [Annotations.DesiredReplicas]: '2', [Annotations.MaxReplicas]: '3' };
    const sets = [
      former(2, { annotations: { ...annotations, [Annotations.Revision]: '1' } }),
      set('new', 1, { age: 5, annotations: { ...annotations, [Annotations.Revision]: '2' } }),
    ];
    const machines = [machinesOf(2, 'Running', 'o'), machinesOf(1, 'Running', 'n')];
    const all = { paused: true, rollbackTo: { revision: 1 } };
    const paused = planRollout(snapshot(deployment(6, all), sets, machines));
    expect([paused.rollback, paused.because]).toEqual([undefined, 'in proportion']);
    const back = planRollout(snapshot(deployment(6, { ...all, paused: false }), sets, machines));
    expect([back.rollback?.event.reason, sizes(back).old]).toEqual(['DeploymentRollback', undefined]);
    const scaled = planRollout(snapshot(deployment(6), sets, machines));
    expect([scaled.because, sizes(scaled)]).toEqual(['in proportion', { old: 2, new: 5 }]);
    const step = planRollout(snapshot(deployment(2), sets, machines));
    expect(sizes(step)).toEqual({ old: 1 });
  });

  test('a deployment that continues after a pause reports it [1.8]', () => {
    const conditions = [{ type: 'Progressing' as const, status: 'Unknown' as const, reason: 'DeploymentPaused' }];
    const resumed = pauseCondition(deployment(1, { status: { conditions } }), NOW);
    expect(resumed?.map(({ status, reason }) => [status, reason])).toEqual([['Unknown', 'DeploymentResumed']]);
    expect(pauseCondition(deployment(1, { paused: true, status: { conditions } }), NOW)).toBeUndefined();
  });

  test('a paused deployment still copies fields that need no rollout, and trims its history [1.8]', () => {
    const observed = (one: ReturnType<typeof set>) => ({ ...one, status: { observedGeneration: 1 } });
    const pool = deployment(1, { paused: true, revisionHistoryLimit: 0, annotations: { team: 'blue' } });
    const template = { ...pool.spec.template, spec: { ...pool.spec.template.spec, drainTimeout: '5m' } };
    const sets = [observed(former(0)), observed(set('new', 1, { age: 5 }))];
    const plan = planRollout(
      snapshot({ ...pool, spec: { ...pool.spec, template } }, sets, [[], machinesOf(1, 'Running')]),
    );
    const written = plan.write.find(({ metadata }) => metadata.name === 'new');
    expect(written?.spec.template.spec.drainTimeout).toBe('5m');
    expect(written?.metadata.annotations).toMatchObject({ team: 'blue' });
    expect(plan.remove.map(({ metadata }) => metadata.name)).toEqual(['old']);
  });

  test('a rollback to the current template changes nothing and is cleared [1.9]', () => {
    const current = set('new', 1, { annotations: { [Annotations.Revision]: '2' } });
    const pool = deployment(1, { rollbackTo: { revision: 2 } });
    const { deployment: after, event } = planRollback(pool, { current, old: [] }, 2);
    expect([event.type, event.reason]).toEqual(['Warning', 'DeploymentRollbackTemplateUnchanged']);
    const { rollbackTo: _, ...spec } = pool.spec;
    expect(after).toEqual({ ...pool, spec });
  });

  test('a set without a revision is not the previous revision [1.9]', () => {
    const pool = deployment(1, { rollbackTo: { revision: 0 } });
    const { target, event } = planRollback(pool, { current: undefined, old: [former(1)] }, 0);
    expect([target, event.reason]).toEqual([undefined, 'DeploymentRollbackRevisionNotFound']);
  });

  test('a rollback restores template and annotations, except those that are never copied [1.9]', () => {
    const old = former(0, {
      annotations: { [Annotations.Revision]: '1', team: 'red', [Annotations.DesiredReplicas]: '7' },
    });
    const pool = deployment(1, { annotations: { team: 'blue', more: 'x', [Annotations.Revision]: '2' } });
    const { deployment: after } = planRollback(pool, { current: undefined, old: [old] }, 1);
    expect(after.metadata.annotations).toEqual({ team: 'red', [Annotations.Revision]: '2' });
    expect(after.spec.template).toEqual({
      metadata: { labels: { app: 'pool' } },
      spec: { class: { kind: 'MachineClass', name: 'former' } },
    });
  });

  test('a rollback keeps the sizes of the node group, and does not wait for a former configuration', () => {
    const { AutoscalerMinSize: min, AutoscalerMaxSize: max, ConfigAwaitedByPool: awaited } = Annotations;
    const before = { [Annotations.Revision]: '1', [max]: '3', [awaited]: 'worker' };
    const sets = [former(1, { annotations: before }), set('new', 1, { annotations: { [Annotations.Revision]: '2' } })];
    const pool = deployment(2, { rollbackTo: { revision: 1 }, annotations: { [min]: '2', [max]: '10' } });
    const { rollback } = planRollout(snapshot(pool, sets));
    expect(rollback?.event.reason).toBe('DeploymentRollback');
    expect(rollback?.deployment.metadata.annotations).toEqual({ [min]: '2', [max]: '10' });
  });

  test('the target set of a rollback loses its taint [1.9]', () => {
    const marked = { [Annotations.Revision]: '1', [Annotations.PreferNoSchedule]: 'True' };
    const sets = [former(1, { annotations: marked }), set('new', 1, { annotations: { [Annotations.Revision]: '2' } })];
    const plan = planRollout(snapshot(deployment(2, { rollbackTo: { revision: 1 } }), sets));
    expect(plan.nodes.untaint.map(({ metadata }) => metadata.name)).toEqual(['old']);
    const written = plan.write.find(({ metadata }) => metadata.name === 'old');
    expect(written?.metadata.annotations?.[Annotations.PreferNoSchedule]).toBeUndefined();
  });
});

describe('sets [2]', () => {
  test('an annotation that the deployment loses stays on the set [2.3]', () => {
    const current = set('new', 1, { annotations: { gone: 'x', [Annotations.Revision]: '1' } });
    const synced = syncedSet(deployment(1, { annotations: { team: 'blue' } }), current, 1);
    expect(synced.metadata.annotations).toEqual({ gone: 'x', team: 'blue', [Annotations.Revision]: '1' });
  });

  test('minReadySeconds and the maximum of preserved machines are copied to the current set [2.3]', () => {
    const current = set('new', 1, { annotations: { [Annotations.Revision]: '1' } });
    const given = syncedSet(deployment(1, { minReadySeconds: 5, autoPreserveFailedMachineMax: 2 }), current, 1);
    expect(given.spec).toMatchObject({ minReadySeconds: 5, autoPreserveFailedMachineMax: 2 });
    expect(syncedSet(deployment(1), given, 1).spec).toEqual(current.spec);
  });

  test('a deployment without conditions finds its set and takes over its revision [2.3]', () => {
    const current = set('new', 1, {
      annotations: { [Annotations.Revision]: '4', [Annotations.DesiredReplicas]: '1', [Annotations.MaxReplicas]: '2' },
    });
    const plan = planRollout(snapshot(deployment(1), [current], [machinesOf(1, 'Running')]));
    expect([plan.revision, plan.condition?.status, plan.condition?.reason]).toEqual([4, 'True', 'FoundNewMachineSet']);
  });

  test('annotations that are never copied from a deployment to its set [2.5]', () => {
    expect([...ANNOTATIONS_NOT_COPIED].toSorted()).toEqual(
      expect.arrayContaining([
        'deployment.kubernetes.io/desired-replicas',
        'deployment.kubernetes.io/max-replicas',
        'deployment.kubernetes.io/revision',
        'deployment.kubernetes.io/revision-history',
        'deployment.machine.sapcloud.io/prefer-no-schedule',
        'kubectl.kubernetes.io/last-applied-configuration',
        'node.machine.sapcloud.io/trigger-deletion-by-mcm',
        'safety.machine.sapcloud.io/unfreeze',
      ]),
    );
    const annotations = {
      ...Object.fromEntries([...ANNOTATIONS_NOT_COPIED].map((key) => [key, 'x'])),
      [Annotations.LastReplicaChangeByScaler]: minutes(0),
      [Annotations.EffectiveCreationTimeout]: '30m',
    };
    const pool = deployment(1, { annotations });
    const made = newSet(pool, { replicas: 1, revision: 1, limits: limitsOf(pool) });
    expect(made.metadata.annotations).toEqual({
      [Annotations.LastReplicaChangeByScaler]: minutes(0),
      [Annotations.EffectiveCreationTimeout]: '30m',
      [Annotations.Revision]: '1',
      [Annotations.DesiredReplicas]: '1',
      [Annotations.MaxReplicas]: '2',
    });
  });

  test.each([
    ['RollingUpdate', 'a', minutes(0)],
    ['InPlaceUpdate', '', minutes(0)],
    ['InPlaceUpdate', 'a', undefined],
  ] as const)('9.3 %s, named: %j: machines come to a new set with their marks', (type, named, time) => {
    const annotations = { [Annotations.LastReplicaChangeByScaler]: minutes(0), [Annotations.TriggerDeletion]: named };
    const pool = { ...deployment(1, { annotations }) };
    const inPlace = { ...pool, spec: { ...pool.spec, strategy: { type } } };
    const made = newSet(inPlace, { replicas: 1, revision: 1, limits: limitsOf(pool) });
    expect(made.metadata.annotations?.[Annotations.LastReplicaChangeByScaler]).toBe(time);
  });

  test('the creation of a set without replicas is not a scaling [2.7]', () => {
    const events = (replicas: number) =>
      planRollout(snapshot(deployment(replicas), [])).events.map(({ type, reason }) => `${type}/${reason}`);
    expect([events(0), events(2)]).toEqual([[], ['Normal/ScalingMachineSet']]);
  });
});

describe('rolling update [3]', () => {
  test('a current set that is too large gets the requested size [3.4]', () => {
    const sets = [former(1), set('new', 5, { age: 5 })];
    const plan = planRollout(snapshot(deployment(3), sets, [machinesOf(1, 'Running', 'o'), machinesOf(5, 'Running')]));
    expect(sizes(plan).new).toBe(3);
  });

  test('a scaling writes both annotations, and its event names the direction [3.4]', () => {
    const annotations = { [Annotations.DesiredReplicas]: '3', [Annotations.MaxReplicas]: '4' };
    const scaled = (replicas: number) => {
      const plan = planRollout(
        snapshot(deployment(replicas), [set('new', 3, { annotations })], [machinesOf(3, 'Running')]),
      );
      const [written] = plan.write;
      return {
        annotations: [Annotations.DesiredReplicas, Annotations.MaxReplicas].map(
          (key) => written?.metadata.annotations?.[key],
        ),
        said: plan.events.map(({ reason, message }) => `${reason}: ${message.split(' ')[1]}`),
      };
    };
    expect(scaled(5)).toEqual({ annotations: ['5', '6'], said: ['ScalingMachineSet: up'] });
    expect(scaled(2)).toEqual({ annotations: ['2', '3'], said: ['ScalingMachineSet: down'] });
  });

  test('a shared scaling rounds halves up [3.8]', () => {
    const size = (name: string, createdAt: number, replicas: number) => ({
      name,
      createdAt,
      replicas,
      actual: replicas,
      available: 0,
      desired: 10,
      max: 10,
    });
    const current = size('c', 3, 1);
    const old = [size('a', 1, 5), size('b', 2, 5)];
    const limits = { surge: 0, annotatedSurge: 0, unavailable: 10 };
    // The shares are rounded: 5 × 5 / 10 = 2.5 becomes 3, and 1 × 5 / 10 = 0.5 becomes 1.
    const { resize } = planScaling(
      { current, old },
      { replicas: 5, limits, strategy: 'RollingUpdate', statusReplicas: 11 },
    );
    expect(Object.fromEntries(resize)).toEqual({ a: 1, b: 3, c: 1 });
  });

  test('Recreate taints no node [4]', () => {
    const pool = deployment(2, { strategy: { type: 'Recreate' } });
    const plan = planRollout(snapshot(pool, [former(2)], [machinesOf(2, 'Running')]));
    expect([plan.nodes.taint, sizes(plan)]).toEqual([[], { old: 0 }]);
  });
});

describe('status [6]', () => {
  const sets = (
    ...all: readonly { readonly counts: ReturnType<typeof counts>; readonly spec: number }[]
  ): CountedSets => {
    const [current, ...old] = all.map(({ counts: of, spec }, index) => ({ set: set(`s${index}`, spec), counts: of }));
    return { current, old };
  };

  test('the status sums up its sets, and lists the failed machines of the current set last [6.1]', () => {
    const counted = sets(
      { spec: 2, counts: counts(2, { available: 1, ready: 1, failed: failed('new') }) },
      { spec: 4, counts: counts(3, { available: 3, ready: 2, preservedFailed: 1, failed: failed('old') }) },
    );
    expect(deploymentStatus(deployment(5, { status: { collisionCount: 2 } }), counted, 0, NOW)).toMatchObject({
      observedGeneration: 1,
      replicas: 5,
      updatedReplicas: 2,
      readyReplicas: 3,
      availableReplicas: 4,
      preservedFailedReplicas: 1,
      unavailableReplicas: 2,
      collisionCount: 2,
      failedMachines: [{ name: 'old' }, { name: 'new' }],
    });
  });

  test('Available takes preserved failed machines into account [6.1]', () => {
    const available = (preservedFailed: number) =>
      deploymentStatus(deployment(3), sets({ spec: 3, counts: counts(3, { available: 2, preservedFailed }) }), 0, NOW)
        .conditions[0]?.status;
    expect([available(0), available(1)]).toEqual(['False', 'True']);
  });

  test('ReplicaFailure comes from the current set, or from the first other set that has it [6.2]', () => {
    const failing = (one: ReturnType<typeof set>, reason: string) => ({
      ...one,
      status: {
        machineSetCondition: [
          { type: 'ReplicaFailure' as const, status: 'True' as const, reason, lastTransitionTime: minutes(-3) },
        ],
      },
    });
    const pool = deployment(3);
    const said = (counted: CountedSets) =>
      withProgress(pool, counted, deploymentStatus(pool, counted, 0, NOW), { now: NOW }).conditions.find(
        ({ type }) => type === 'ReplicaFailure',
      );
    const [a, b, c] = [set('a', 1), set('b', 1), set('c', 1)].map((one) => ({ set: one, counts: counts(1) }));
    if (!a || !b || !c) throw new Error('three sets');
    const old = [b, { ...c, set: failing(c.set, 'FailedDelete') }];
    expect(said({ current: { ...a, set: failing(a.set, 'FailedCreate') }, old })).toMatchObject({
      reason: 'FailedCreate',
      lastUpdateTime: minutes(-3),
      lastTransitionTime: minutes(-3),
    });
    expect(said({ current: a, old })?.reason).toBe('FailedDelete');
    expect(said({ current: a, old: [b] })).toBeUndefined();
  });

  test.each([
    ['updatedReplicas', true],
    ['readyReplicas', true],
    ['availableReplicas', true],
    ['unavailableReplicas', false],
  ])('6.4 more updated, ready or available machines are progress, fewer are not: %s', (field, progress) => {
    const before = { replicas: 5, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2, unavailableReplicas: 2 };
    expect(hasProgressed(before, before)).toBe(false);
    expect(hasProgressed(before, { ...before, [field]: 3 })).toBe(progress);
    expect(hasProgressed(before, { ...before, [field]: 1 })).toBe(false);
  });

  test('without a deadline there is no timeout [6.5]', () => {
    const conditions = [
      {
        type: 'Progressing' as const,
        status: 'True' as const,
        reason: 'MachineSetUpdated',
        lastUpdateTime: minutes(-9999),
      },
    ];
    const status = { replicas: 2, updatedReplicas: 2, readyReplicas: 1, availableReplicas: 1, conditions };
    const counted = sets({ spec: 2, counts: counts(2, { available: 1, ready: 1 }) });
    const reasonOf = (spec: object) => {
      const pool = deployment(2, { status, ...spec });
      return withProgress(pool, counted, deploymentStatus(pool, counted, 0, NOW), { now: NOW }).conditions.find(
        ({ type }) => type === 'Progressing',
      )?.reason;
    };
    expect([reasonOf({}), reasonOf({ progressDeadlineSeconds: 60 })]).toEqual([
      'MachineSetUpdated',
      'ProgressDeadlineExceeded',
    ]);
  });

  test('the same status and reason keep message and times; another reason keeps the transition [6.7]', () => {
    const old = {
      type: 'Progressing' as const,
      status: 'True' as const,
      reason: 'MachineSetUpdated',
      message: 'a',
      lastUpdateTime: minutes(-9),
      lastTransitionTime: minutes(-9),
    };
    const other = { type: 'Available' as const, status: 'True' as const };
    const change = (wanted: ConditionChange) => setDeploymentCondition([old, other], wanted, NOW);
    const [reported, reason] = [{ type: 'Progressing', message: 'b' }, 'NewMachineSetAvailable'] as const;
    expect(change({ ...reported, status: 'True', reason: 'MachineSetUpdated' })).toEqual([old, other]);
    expect(change({ ...reported, status: 'True', reason })).toEqual([
      other,
      { ...old, reason, message: 'b', lastUpdateTime: minutes(0), lastTransitionTime: minutes(-9) },
    ]);
    expect(change({ ...reported, status: 'False', reason: 'ProgressDeadlineExceeded' }).at(-1)).toMatchObject({
      lastTransitionTime: minutes(0),
    });
    const failed = { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate' } as const;
    const changed = { ...failed, reason: 'FailedDelete', message: '' } as const;
    const next = setSetCondition([{ ...failed, lastTransitionTime: minutes(-9) }], changed, NOW);
    expect(next).toEqual([{ ...changed, lastTransitionTime: minutes(0) }]);
  });

  test('types, reasons and events are byte for byte those of the original [6.8]', () => {
    expect(Object.values(MachineDeploymentConditions)).toEqual(
      expect.arrayContaining(['Available', 'Progressing', 'ReplicaFailure', 'Frozen']),
    );
    expect(Object.values(MachineSetConditions)).toEqual(expect.arrayContaining(['ReplicaFailure', 'Frozen']));
    expect(Object.values(ConditionReasons)).toEqual(
      expect.arrayContaining([
        ...['MinimumReplicasAvailable', 'MinimumReplicasUnavailable', 'NewMachineSetCreated', 'FoundNewMachineSet'],
        ...['MachineSetUpdated', 'NewMachineSetAvailable', 'MachineSetCreateError', 'ProgressDeadlineExceeded'],
        ...['DeploymentPaused', 'DeploymentResumed', 'OverShootingReplicaCount', 'MachineDeploymentStateSync'],
        ...['FailedCreate', 'FailedDelete'],
      ]),
    );
    expect(Object.values(EventReasons)).toEqual(
      expect.arrayContaining([
        ...['SelectingAll', 'ScalingMachineSet', 'MachineSetCreateError', 'DeploymentRollback'],
        ...['DeploymentRollbackRevisionNotFound', 'DeploymentRollbackTemplateUnchanged', 'SuccessfulCreate'],
        ...['FailedCreate', 'SuccessfulDelete', 'FailedDelete', 'FrozeMachineSet', 'UnfrozeMachineSet'],
      ]),
    );
  });
});
