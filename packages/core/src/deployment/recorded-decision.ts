import type { Machine, MachineDeployment, MachineSet } from '@mcm/api';
import type { Node } from '@mcm/kube';
import type { Guards } from '../disruption/guards.ts';
import { DisruptionsUnderWay } from '../disruption/under-way.ts';
import type { OpenBreaker } from '../disruption/unreachable.ts';
import { recalling, remembering } from '../journal/answers.ts';
import { type Journal, type OpenEntry, subjectOf } from '../journal/journal.ts';
import type { CanaryPods } from '../rollout/canary-pods.ts';
import { PlanRefused } from './state/guard.ts';
import type { RolloutPlan } from './state/step.ts';
import type { DeploymentSnapshot } from './state/view.ts';

interface GuardAnswers extends Omit<Guards, 'breakerOf' | 'hasClass' | 'classAnnotations'> {
  readonly breakers: ReadonlyMap<string, OpenBreaker | undefined>;
  readonly classes: ReadonlyMap<string, boolean>;
  readonly classAnnotations: ReadonlyMap<string, Readonly<Record<string, string>> | undefined>;
}

export interface DeploymentInput {
  readonly deployment: MachineDeployment;
  readonly sets: readonly MachineSet[];
  readonly machines: ReadonlyMap<string, readonly Machine[]>;
  readonly creating: ReadonlyMap<string, number>;
  readonly leaving: ReadonlySet<string>;
  readonly nodes?: ReadonlyMap<string, Node | undefined> | undefined;
  readonly nodesUnseen?: string | undefined;
  readonly guards?: GuardAnswers | undefined;
  readonly overlaps?: readonly MachineDeployment[] | undefined;
  readonly refusedRollback?: string | undefined;
  readonly canaryPods?: CanaryPods | undefined;
}

function recordedDeployment(seen: DeploymentSnapshot): {
  readonly seen: DeploymentSnapshot;
  readonly input: DeploymentInput;
} {
  const { deployment, sets, machines, nodeOf, nodesUnseen, guards, overlaps, refusedRollback, disruptions } = seen;
  const nodes = new Map<string, Node | undefined>();
  const breakers = new Map<string, OpenBreaker | undefined>();
  const classes = new Map<string, boolean>();
  const annotations = new Map<string, Readonly<Record<string, string>> | undefined>();
  const { namespace } = deployment.metadata;
  const recorded: Guards | undefined = guards && {
    ...guards,
    breakerOf: (machine) => remembering(breakers, () => guards.breakerOf(machine))(machine.metadata.uid),
    hasClass: remembering(classes, guards.hasClass),
    classAnnotations: remembering(annotations, (name) => guards.classAnnotations?.(name, namespace)),
  };
  const { breakerOf: _breakerOf, hasClass: _hasClass, classAnnotations: _annotations, ...settings } = guards ?? {};
  const isGoing = disruptions === undefined || disruptions.leaving.size === 0 ? () => false : disruptions.isLeaving;
  return {
    seen: { ...seen, nodeOf: nodeOf && remembering(nodes, nodeOf), guards: recorded },
    input: {
      deployment,
      sets,
      machines,
      creating: new Map(sets.map(({ metadata: { uid } }) => [uid, seen.creating(uid)])),
      leaving: new Set(
        [...machines.values()].flatMap((all) => all.filter(isGoing).map(({ metadata }) => metadata.uid)),
      ),
      nodes: nodeOf && nodes,
      nodesUnseen,
      guards: guards && {
        ...(settings as Omit<Guards, 'breakerOf' | 'hasClass'>),
        breakers,
        classes,
        classAnnotations: annotations,
      },
      overlaps,
      refusedRollback,
      canaryPods: seen.canaryPods,
    },
  };
}

export function deploymentSnapshot(input: DeploymentInput, now: Date): DeploymentSnapshot {
  const { creating, leaving, nodes, nodesUnseen, guards, overlaps = [], ...rest } = input;
  const disruptions = new DisruptionsUnderWay();
  for (const uid of leaving) disruptions.leaving.add(uid);
  return {
    ...rest,
    creating: (uid) => creating.get(uid) ?? 0,
    nodeOf: nodes && recalling(nodes, 'Node'),
    nodesUnseen,
    guards: guards && snapshotGuards(guards),
    overlaps,
    disruptions,
    now,
  };
}

function snapshotGuards({ breakers, classes, classAnnotations, ...settings }: GuardAnswers): Guards {
  const breakerOf = recalling(breakers, 'circuit breaker of machine');
  return {
    ...settings,
    breakerOf: ({ metadata }) => breakerOf(metadata.uid),
    hasClass: recalling(classes, 'MachineClass'),
    classAnnotations: recalling(classAnnotations, 'annotations of MachineClass'),
  };
}

/** Calls `decide`, and records the decision or the refusal in the journal. */
export function decideRecorded(
  journal: Journal,
  snapshot: DeploymentSnapshot,
  decide: (seen: DeploymentSnapshot) => RolloutPlan,
): { readonly plan: RolloutPlan; readonly entry: OpenEntry } {
  const { seen, input } = recordedDeployment(snapshot);
  const { deployment, now: at } = snapshot;
  const about = { kind: 'machinedeployment', subject: subjectOf('MachineDeployment', deployment), at, input } as const;
  try {
    const plan = decide(seen);
    const entry = journal.record({
      ...about,
      decision: plan,
      because: plan.because,
      actions: actionsOf(plan, snapshot),
    });
    return { plan, entry };
  } catch (error) {
    if (error instanceof PlanRefused)
      journal.record({ ...about, decision: { refused: error.message }, because: error.message, actions: [] });
    throw error;
  }
}

function actionsOf(plan: RolloutPlan, { sets }: DeploymentSnapshot): readonly string[] {
  const { write, create, remove, rollback, pause, nodes, inPlace } = plan;
  const before = new Map(sets.map(({ metadata, spec }) => [metadata.uid, spec.replicas]));
  const marks = [nodes.taint, nodes.untaint, nodes.candidates, nodes.protect, nodes.unprotect];
  return [
    ...(pause ? ['pause'] : []),
    ...(rollback ? ['roll back'] : []),
    ...(create ? [`create ${create.metadata.name}`] : []),
    ...write.map(({ metadata: { uid, name }, spec: { replicas } }) =>
      before.get(uid) === replicas ? `update ${name}` : `scale ${name} to ${replicas ?? 0}`,
    ),
    ...(inPlace.machines.length + inPlace.nodes.length > 0 ? ['update in place'] : []),
    ...remove.map(({ metadata }) => `delete ${metadata.name}`),
    ...(marks.some((each) => each.length > 0) ? ['mark nodes'] : []),
  ];
}
