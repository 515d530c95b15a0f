import {
  Annotations,
  formatTime,
  InPlaceUpdateReasons,
  Labels,
  type Machine,
  type MachineClass,
  type MachineDeployment,
  type MachinePhase,
  type MachineSet,
  NodeConditions,
  TRUE,
  TRUE_LOWER,
  UpdateResults,
} from '@mcm/api';
import type { Node } from '@mcm/kube';
import * as fc from 'fast-check';
import { deployment, machine, NOW, set } from '../../set/test-objects.ts';

export type UpdateStage = 'none' | 'candidate' | 'selected' | 'updating' | 'successful' | 'moved' | 'failed' | 'ended';

const CLASSES = ['small', 'large', 'huge'] as const;
const STAGES: readonly UpdateStage[] = [
  'none',
  'candidate',
  'selected',
  'updating',
  'successful',
  'moved',
  'failed',
  'ended',
];
const PHASES: readonly (MachinePhase | 'gone')[] = [
  'Running',
  'Pending',
  'Unknown',
  'Failed',
  'CrashLoopBackOff',
  'Terminating',
];

const limit = fc.oneof(fc.integer({ min: 0, max: 7 }), fc.constantFrom('0%', '25%', '34%', '50%', '100%'));
const often = <T>(usual: T, others: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: others });

const anyMachine = fc.record({
  phase: often<MachinePhase | 'gone'>('Running', fc.constantFrom(...PHASES)),
  deleting: often(false, fc.boolean()),
  stage: often<UpdateStage>('none', fc.constantFrom(...STAGES)),
  selectedFor: fc.constantFrom('current' as const, 'other' as const, undefined),
  priority: often<string | undefined>(undefined, fc.constantFrom('1', '2', '5')),
  preserved: often(false, fc.boolean()),
});

const anySet = fc.record({
  replicas: fc.integer({ min: 0, max: 7 }),
  desired: often<'same' | number | undefined>('same', fc.oneof(fc.nat(7), fc.constant(undefined))),
  max: fc.option(fc.nat(9), { nil: undefined }),
  refills: fc.boolean(),
  tainted: fc.boolean(),
  machines: fc.array(anyMachine, { maxLength: 7 }),
});

export const anyState = fc.record({
  strategy: fc.constantFrom('RollingUpdate' as const, 'Auto' as const, 'Manual' as const, 'Recreate' as const),
  replicas: fc.integer({ min: 0, max: 6 }),
  surge: limit,
  unavailable: limit,
  template: fc.nat(2),
  sets: fc.array(anySet, { maxLength: 3 }),
  paused: often(false, fc.boolean()),
  rollsBack: often(false, fc.boolean()),
  canary: often<string | undefined>(undefined, fc.constantFrom('1', '3', '50%')),
  soak: fc.boolean(),
  batchPause: often(false, fc.boolean()),
  pausesOnFailure: often(false, fc.boolean()),
  lastGood: fc.option(fc.nat(2), { nil: undefined }),
  countsTerminating: often(false, fc.boolean()),
  arrived: fc.boolean(),
  historyLimit: fc.option(fc.nat(1), { nil: undefined }),
});
export type AnyState = typeof anyState extends fc.Arbitrary<infer S> ? S : never;

export interface Objects {
  readonly deployment: MachineDeployment;
  readonly sets: readonly MachineSet[];
  readonly fleet: readonly Machine[];
  readonly nodes: readonly Node[];
  readonly classes: readonly MachineClass[];
}

function strategyOf({ strategy, surge, unavailable }: AnyState): NonNullable<MachineDeployment['spec']['strategy']> {
  const limits = { maxSurge: surge, maxUnavailable: unavailable };
  if (strategy === 'Recreate') return { type: 'Recreate' };
  if (strategy === 'RollingUpdate') return { type: 'RollingUpdate', rollingUpdate: limits };
  return { type: 'InPlaceUpdate', inPlaceUpdate: { ...limits, orchestrationType: strategy } };
}

const definedOnly = (values: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])));

function deploymentOf(state: AnyState): MachineDeployment {
  const { canary, soak, batchPause, pausesOnFailure, lastGood, countsTerminating, historyLimit } = state;
  const annotations = definedOnly({
    [Annotations.RolloutCanary]: canary,
    [Annotations.RolloutCanarySoak]: canary !== undefined && soak ? '10m' : undefined,
    [Annotations.RolloutBatchPause]: batchPause ? '5m' : undefined,
    [Annotations.RolloutPauseOnFailure]: pausesOnFailure ? 'true' : undefined,
    [Annotations.RolloutLastGood]: lastGood === undefined ? undefined : `set-${lastGood}`,
    [Annotations.CountTerminating]: countsTerminating ? 'true' : undefined,
  });
  const progressing = { type: 'Progressing', status: 'True', reason: 'NewMachineSetAvailable' } as const;
  return deployment(state.replicas, {
    className: CLASSES[state.template] ?? 'small',
    annotations,
    strategy: strategyOf(state),
    ...(state.paused ? { paused: true } : {}),
    ...(state.rollsBack ? { rollbackTo: { revision: 0 } } : {}),
    ...(historyLimit === undefined ? {} : { revisionHistoryLimit: historyLimit }),
    ...(state.arrived ? { status: { conditions: [progressing] } as MachineDeployment['status'] } : {}),
  });
}

const REASONS: Readonly<Partial<Record<UpdateStage, string>>> = {
  candidate: InPlaceUpdateReasons.CandidateForUpdate,
  selected: InPlaceUpdateReasons.SelectedForUpdate,
  updating: InPlaceUpdateReasons.ReadyForUpdate,
  successful: InPlaceUpdateReasons.UpdateSuccessful,
  moved: InPlaceUpdateReasons.UpdateSuccessful,
  failed: InPlaceUpdateReasons.UpdateFailed,
  ended: InPlaceUpdateReasons.CandidateForUpdate,
};
const UPDATE_PHASES: Readonly<Partial<Record<UpdateStage, MachinePhase>>> = {
  updating: 'InPlaceUpdating',
  successful: 'InPlaceUpdateSuccessful',
  failed: 'InPlaceUpdateFailed',
};

type AnyMachine = AnyState['sets'][number]['machines'][number];

function nodeOf(name: string, { stage, selectedFor }: AnyMachine, hash: string): Node {
  const isSelected = ['selected', 'updating', 'successful', 'moved', 'failed'].includes(stage);
  const result = {
    successful: UpdateResults.Successful,
    moved: UpdateResults.Successful,
    failed: UpdateResults.Failed,
  }[stage as string];
  const template = { current: hash, other: 'another', none: undefined }[selectedFor ?? 'none'];
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      uid: `node-${name}`,
      resourceVersion: '1',
      creationTimestamp: formatTime(NOW),
      labels: definedOnly({
        [Labels.CandidateForUpdate]: stage === 'none' ? undefined : TRUE_LOWER,
        [Labels.SelectedForUpdate]: isSelected ? TRUE_LOWER : undefined,
        [Labels.UpdateResult]: result,
      }),
      annotations: definedOnly({
        [Annotations.SelectedForTemplate]: stage === 'ended' ? '' : isSelected ? template : undefined,
      }),
    },
    spec: {},
  };
}

function machineOf(name: string, owner: MachineSet, one: AnyMachine): Machine {
  const { phase, deleting, stage, priority, preserved } = one;
  const made = machine(name, {
    phase: (phase === 'Running' ? UPDATE_PHASES[stage] : undefined) ?? (phase as MachinePhase),
    deleting: deleting || phase === 'Terminating',
    owner,
    labels: {
      ...owner.spec.template.metadata?.labels,
      ...(phase === 'Pending' || phase === 'CrashLoopBackOff' ? {} : { [Labels.Node]: name }),
      ...(stage === 'moved' ? { [Labels.UpdateResult]: UpdateResults.Successful } : {}),
    },
    ...(priority === undefined ? {} : { priority }),
    ...(preserved && phase === 'Failed' ? { preservedUntil: 30 } : {}),
  });
  const reason = phase === 'Running' ? REASONS[stage] : undefined;
  const conditions = reason ? [{ type: NodeConditions.InPlaceUpdate, status: 'True', reason }] : [];
  return { ...made, status: { ...made.status, conditions } } as Machine;
}

export function objectsOf(state: AnyState): Objects {
  const pool = deploymentOf(state);
  const sets = state.sets.map((one, index) => {
    const desired = one.desired === 'same' ? state.replicas : one.desired;
    return set(`set-${index}`, one.replicas, {
      age: 100 - index,
      className: CLASSES[index] ?? 'small',
      annotations: definedOnly({
        [Annotations.Revision]: String(index + 1),
        [Annotations.DesiredReplicas]: desired?.toString(),
        [Annotations.MaxReplicas]: one.max?.toString(),
        [Annotations.PreferNoSchedule]: one.tainted ? TRUE : undefined,
      }),
      ...(one.refills ? {} : { labels: { [Labels.ScaleUpDisabled]: TRUE_LOWER } }),
    });
  });
  const fleet: Machine[] = [];
  const nodes: Node[] = [];
  sets.forEach((owner, at) => {
    state.sets[at]?.machines.forEach((one, index) => {
      const made = machineOf(`${owner.metadata.name}-${index}`, owner, one);
      fleet.push(made);
      const name = made.metadata.labels?.[Labels.Node];
      if (name) nodes.push(nodeOf(name, one, `set-${state.template}`));
    });
  });
  const classes = CLASSES.map(
    (name) => ({ kind: 'MachineClass', metadata: { name, namespace: 'test' } }) as MachineClass,
  );
  return { deployment: pool, sets, fleet, nodes, classes };
}

type AnySet = AnyState['sets'][number];

const CALM: AnyState = {
  strategy: 'Auto',
  replicas: 1,
  surge: 0,
  unavailable: 0,
  template: 0,
  sets: [],
  paused: false,
  rollsBack: false,
  canary: undefined,
  soak: false,
  batchPause: false,
  pausesOnFailure: false,
  lastGood: undefined,
  countsTerminating: false,
  arrived: false,
  historyLimit: undefined,
};
const runs = (stage: UpdateStage = 'none', selectedFor: AnyMachine['selectedFor'] = 'current'): AnyMachine => ({
  phase: 'Running',
  deleting: false,
  stage,
  selectedFor,
  priority: undefined,
  preserved: false,
});
const setOf = (replicas: number, machines: readonly AnyMachine[], more: Partial<AnySet> = {}): AnySet => ({
  replicas,
  desired: 'same',
  max: undefined,
  refills: true,
  tainted: false,
  machines: [...machines],
  ...more,
});

/** Deployments for which older versions of the controller made no progress. */
export const FORMER_DEAD_ENDS: Readonly<Record<string, AnyState>> = {
  'the old set may not refill and has no machine': {
    ...CALM,
    replicas: 2,
    sets: [setOf(0, []), setOf(2, [], { refills: false })],
  },
  'nothing may be unavailable, and the set that one comes back to has no machine of the surge': {
    ...CALM,
    surge: 1,
    sets: [setOf(0, []), setOf(1, [runs()])],
  },
  'scaled to 0 while a machine moves': { ...CALM, replicas: 0, sets: [setOf(0, [runs('moved')])] },
  'scaled while a machine moves': { ...CALM, sets: [setOf(0, [runs('moved')], { desired: 0 })] },
  'another strategy while a machine moves': {
    ...CALM,
    strategy: 'RollingUpdate',
    replicas: 0,
    sets: [setOf(0, [runs('moved')])],
  },
  'another strategy and the former template once a node is updated': {
    ...CALM,
    strategy: 'RollingUpdate',
    sets: [setOf(1, [runs('successful')])],
  },
  'a machine of the current set is updated to another template beside the surplus': {
    ...CALM,
    surge: 1,
    template: 1,
    sets: [setOf(1, [runs()]), setOf(1, [runs('successful', 'other')])],
  },
  'sets ask for more than the surge allows, and terminating machines count': {
    ...CALM,
    strategy: 'RollingUpdate',
    canary: '1',
    countsTerminating: true,
    sets: [setOf(1, []), setOf(1, [])],
  },
  'the same with a machine of the old set': {
    ...CALM,
    strategy: 'RollingUpdate',
    canary: '1',
    countsTerminating: true,
    sets: [setOf(1, []), setOf(1, [runs()])],
  },
};
