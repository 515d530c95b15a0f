import {
  Annotations,
  ConditionReasons,
  EventReasons,
  Labels,
  type Machine,
  type MachineDeployment,
  MachineDeploymentConditions,
  type MachineSet,
  TRUE,
  TRUE_LOWER,
} from '@mcm/api';
import type { Draft, Node } from '@mcm/kube';
import { type ConditionChange, findCondition } from '../set/conditions.ts';
import { phaseOf } from '../set/machines.ts';
import { semanticEqual } from '../set/semantic-equal.ts';
import { countMachines } from '../set/status.ts';
import { checkPlan } from './guard.ts';
import { surplusHistory } from './history.ts';
import { type InPlaceWork, NO_WORK, planInPlaceUpdate } from './in-place.ts';
import { type Limits, limitsOf } from './limits.ts';
import { newSet, scaleAnnotations, syncedSet } from './new-set.ts';
import { isComplete } from './progress.ts';
import { planRecreate } from './recreate.ts';
import { highestRevision, revisionOf, type Sets, splitSets } from './revisions.ts';
import { type PlannedEvent, planRollback, type Rollback } from './rollback.ts';
import { currentReplicas, planRollingUpdate } from './rolling-update.ts';
import { type AutomaticPause, careOf, failuresOf, type Gate, gateOf, notedNames, pauseOn } from './rollout-gate.ts';
import { isScalingEvent, planScaling } from './scaling.ts';
import { type Resize, type SetSize, sizeOf } from './size.ts';
import { type CountedSet, type CountedSets, deploymentStatus } from './status.ts';

/** Everything that the decision about a deployment looks at: one reading of the caches. */
export interface DeploymentSnapshot {
  /** Valid, with a selector that selects something, and not being deleted. */
  readonly deployment: MachineDeployment;
  /** The sets that it controls. */
  readonly sets: readonly MachineSet[];
  /** Machines by the uid of the set that controls them. */
  readonly machines: ReadonlyMap<string, readonly Machine[]>;
  /** Machines of a set, by its uid, that are being made and are not among the machines yet. */
  readonly creating: (setUid: string) => number;
  /** A node of the target cluster, if the cache has it. */
  readonly nodeOf?: (name: string) => Node | undefined;
  readonly now: Date;
}

/** Sets whose nodes get or lose a rollout's marks. */
export interface NodeMarks {
  /** Prefer-no-schedule taint on. */
  readonly taint: readonly MachineSet[];
  /** Prefer-no-schedule taint off. */
  readonly untaint: readonly MachineSet[];
  /** Candidates for an in-place update: labelled as such. */
  readonly candidates: readonly MachineSet[];
  /** Scale-down-disabled annotations on. */
  readonly protect: readonly MachineSet[];
  /** Scale-down-disabled annotations off where they are ours. */
  readonly unprotect: readonly MachineSet[];
}

/** What is to be done for a deployment now. Everything in it may be done twice without harm. */
export interface RolloutPlan {
  readonly sets: CountedSets;
  /** Sets to write, as they should be. */
  readonly write: readonly MachineSet[];
  readonly create: Draft<MachineSet> | undefined;
  readonly remove: readonly MachineSet[];
  readonly rollback: Rollback | undefined;
  /** The revision that the deployment should carry. */
  readonly revision: number | undefined;
  readonly nodes: NodeMarks;
  /** What an in-place update asks for beyond sizes. */
  readonly inPlace: InPlaceWork;
  /** A condition that this step sets by itself. */
  readonly condition: ConditionChange | undefined;
  readonly events: readonly PlannedEvent[];
  /** Whether progress is measured: not while paused or scaling. */
  readonly measureProgress: boolean;
  /** When to look again though nothing has happened. */
  readonly lookAgainAt: Date | undefined;
  /** The note of a former pause has served. */
  readonly forgetPause: boolean;
  /** The rollout pauses itself. */
  readonly pause: AutomaticPause | undefined;
  /** Why it is this step, as a sentence. */
  readonly because: string;
}

const ROLLOUT_BLOCKED = MachineDeploymentConditions.RolloutBlocked;

const NO_MARKS: NodeMarks = { taint: [], untaint: [], candidates: [], protect: [], unprotect: [] };

type Step = Pick<RolloutPlan, 'because'> &
  Partial<
    Pick<
      RolloutPlan,
      | 'create'
      | 'remove'
      | 'rollback'
      | 'nodes'
      | 'inPlace'
      | 'condition'
      | 'events'
      | 'measureProgress'
      | 'lookAgainAt'
      | 'pause'
    >
  > & {
    readonly resize?: Resize;
    /** Names of sets whose scale annotations are written even if the size stays. */
    readonly annotate?: readonly string[];
    /** Annotations of sets by name; null removes. */
    readonly mark?: ReadonlyMap<string, string | null>;
  };

/** The snapshot, counted and with the current set synced: what the steps decide on. */
interface View extends DeploymentSnapshot {
  readonly split: Sets;
  readonly counted: CountedSets;
  readonly sizes: { readonly current: SetSize | undefined; readonly old: readonly SetSize[] };
  readonly limits: Limits;
  readonly replicas: number;
  readonly nextRevision: number;
  readonly complete: boolean;
  /** Holds the rollout back; undefined: nothing does. */
  readonly gate: Gate | undefined;
}

function viewOf(snapshot: DeploymentSnapshot): View {
  const { deployment, sets, machines, now } = snapshot;
  const split = splitSets(deployment, sets);
  const nextRevision = highestRevision(split.old) + 1;
  const current = split.current && syncedSet(deployment, split.current, nextRevision);
  const count = (set: MachineSet): CountedSet => ({
    set,
    counts: countMachines(set, machines.get(set.metadata.uid) ?? []),
  });
  const counted = { current: current && count(current), old: split.old.map(count) };
  const size = ({ set, counts }: CountedSet) =>
    sizeOf(set, { available: counts.available, replicas: counts.replicas + snapshot.creating(set.metadata.uid) });
  const limits = limitsOf(deployment);
  const staff = current ? (machines.get(current.metadata.uid) ?? []) : [];
  const status = deploymentStatus(deployment, counted, limits.unavailable, now);
  return {
    ...snapshot,
    split: { current, old: split.old },
    counted,
    sizes: { current: counted.current && size(counted.current), old: counted.old.map(size) },
    limits,
    replicas: deployment.spec.replicas ?? 0,
    nextRevision,
    complete: isComplete(deployment, status),
    gate: rolling(counted.old) ? gateOf(careOf(deployment), current?.spec.replicas ?? 0, staff, now) : undefined,
  };
}

/**
 * Decides the next step of a deployment. Pure and total: any snapshot gives a plan, and a plan that would break a bound
 * is refused rather than carried out.
 * @throws PlanRefused when a planner went wrong; nothing may then be written.
 */
export function planRollout(snapshot: DeploymentSnapshot): RolloutPlan {
  const view = viewOf(snapshot);
  const step = nextStep(view);
  const { deployment } = snapshot;
  const resize = step.resize ?? new Map<string, number>();
  checkPlan(view.sizes, resize, {
    replicas: view.replicas,
    surge: view.limits.surge,
    unavailable: view.limits.unavailable,
    strategy: deployment.spec.strategy?.type,
  });
  return {
    sets: view.counted,
    write: setWrites(view, step, snapshot.sets),
    create: step.create,
    remove: step.remove ?? [],
    rollback: step.rollback,
    revision: step.create ? view.nextRevision : view.split.current && revisionOf(view.split.current),
    nodes: step.nodes ?? NO_MARKS,
    inPlace: step.inPlace ?? NO_WORK,
    condition: step.condition ?? foundCondition(view),
    events: [...(step.events ?? []), ...scaleEvents(view, resize)],
    measureProgress: step.measureProgress ?? true,
    lookAgainAt: step.lookAgainAt,
    pause: step.pause,
    forgetPause: pauseIsOver(view),
    because: step.because,
  };
}

function nextStep(view: View): Step {
  const { deployment, sizes, replicas } = view;
  if (deployment.spec.paused) {
    const remove = deployment.spec.rollbackTo ? [] : historyOf(view);
    return { ...scalingStep(view), ...pausedByFailure(deployment), remove, measureProgress: false };
  }
  if (deployment.spec.rollbackTo) return rollbackStep(view, deployment.spec.rollbackTo.revision ?? 0);
  if (isScalingEvent(sizes, replicas) && !betweenSets(view)) return { ...scalingStep(view), measureProgress: false };
  const pause = automaticPause(view);
  if (pause) return { pause, measureProgress: false, because: pause.message };
  return held(view, strategyStep(view));
}

function strategyStep(view: View): Step {
  const { deployment, split } = view;
  switch (deployment.spec.strategy?.type) {
    case 'Recreate':
      return withProtection(view, recreateStep(view));
    case 'InPlaceUpdate':
      return withTaints(view, withProtection(view, inPlaceStep(view)));
    default:
      return withTaints(view, withProtection(view, split.current ? rollingStep(view) : createStep(view)));
  }
}

/** Whether machines of an older template stand: the birth of a deployment is no rollout. */
const rolling = (old: readonly CountedSet[]): boolean => old.some(hasMachines);

/** A rollout pauses itself when a machine of its new template fails, if it was asked to. */
function automaticPause({ deployment, counted, machines }: View): AutomaticPause | undefined {
  if (!rolling(counted.old) || !careOf(deployment).pauseOnFailure) return undefined;
  const of = ({ set }: CountedSet) => machines.get(set.metadata.uid) ?? [];
  return pauseOn(deployment, failuresOf(counted.current ? of(counted.current) : [], counted.old.flatMap(of)));
}

const pauseIsOver = ({ deployment: { metadata, spec }, complete, counted }: View): boolean =>
  metadata.annotations?.[Annotations.RolloutPausedBy] !== undefined &&
  !spec.paused &&
  complete &&
  !rolling(counted.old);

/** Says on a deployment that paused itself that it did. */
function pausedByFailure({ metadata }: MachineDeployment): Partial<Step> {
  const note = metadata.annotations?.[Annotations.RolloutPausedBy];
  if (note === undefined) return {};
  const message = `The rollout paused itself because ${notedNames(note)} failed with the new template. Correct the template, or set spec.paused to false to go on.`;
  return { condition: { type: ROLLOUT_BLOCKED, status: 'True', reason: 'PausedOnFailure', message } };
}

/** A rollout that is held back makes no progress, and is looked at again when it may. */
function held({ gate, replicas, sizes }: View, step: Step): Step {
  if (!gate || (sizes.current?.replicas ?? 0) < Math.min(gate.ceiling, replicas)) return step;
  const { resize, inPlace = NO_WORK, create } = step;
  const idle = !resize?.size && !create && inPlace.machines.length + inPlace.nodes.length === 0;
  return {
    ...step,
    measureProgress: false,
    lookAgainAt: gate.opensAt,
    ...(idle ? { because: gate.because } : {}),
  };
}

/** The last old machine is going and the current set has none yet: the rollout itself waits for the one and makes the other. */
const betweenSets = ({ deployment, sizes }: View): boolean =>
  deployment.spec.strategy?.type === 'RollingUpdate' &&
  sizes.current?.replicas === 0 &&
  sizes.old.every((size) => size.replicas === 0) &&
  sizes.old.some((size) => size.actual > 0);

function scalingStep({ deployment, sizes, limits, replicas }: View): Step {
  return planScaling(sizes, {
    replicas,
    limits,
    strategy: deployment.spec.strategy?.type,
    statusReplicas: deployment.status?.replicas ?? 0,
  });
}

function createStep(view: View, size = initialReplicas(view)): Step {
  const { deployment, limits, nextRevision } = view;
  const create = newSet(deployment, { replicas: size, revision: nextRevision, limits });
  const name = create.metadata.name ?? '';
  return {
    create,
    condition: {
      type: MachineDeploymentConditions.Progressing,
      status: 'True',
      reason: ConditionReasons.NewMachineSetCreated,
      message: `Created new machine set "${name}"`,
    },
    events: size > 0 ? [scaledEvent(name, 0, size)] : [],
    because: `there is no set for the template yet: ${name} is made with ${size}`,
  };
}

const ceilingOf = (gate: Gate | undefined): { readonly ceiling?: number } => (gate ? { ceiling: gate.ceiling } : {});

function initialReplicas({ deployment, sizes, limits, replicas, gate }: View): number {
  return deployment.spec.strategy?.type === 'RollingUpdate'
    ? currentReplicas(sizes, { replicas, ...limits, ...ceilingOf(gate) })
    : replicas;
}

function rollingStep(view: View): Step {
  const { sizes, replicas, limits, gate } = view;
  const { current } = sizes;
  if (!current) return createStep(view);
  const target = { replicas, ...limits, ...ceilingOf(gate) };
  return { ...planRollingUpdate({ ...sizes, current }, target), ...completion(view) };
}

/** What is tidied up when a rollout has arrived. */
function completion(view: View): Partial<Step> {
  return view.complete ? { remove: historyOf(view) } : {};
}

function recreateStep(view: View): Step {
  const step = planRecreate(view.sizes, view.replicas);
  if (step.kind === 'create') return createStep(view);
  return { ...step, ...completion(view) };
}

/** Said of a deployment whose machines cannot be updated in place, because nobody sees their nodes (P-25). */
export const NO_NODES: ConditionChange = {
  type: ROLLOUT_BLOCKED,
  status: 'True',
  reason: 'NoTargetCluster',
  message:
    'Machines are updated in place on their nodes, and there is no target cluster: nothing is done. Start the manager with --target-kubeconfig, or set spec.strategy.type to RollingUpdate or Recreate.',
};

function noNodesStep({ status }: MachineDeployment): Step {
  const { message, reason } = NO_NODES;
  const said = findCondition(status?.conditions ?? [], ROLLOUT_BLOCKED)?.reason === reason;
  return { condition: NO_NODES, events: said ? [] : [{ type: 'Warning', reason, message }], because: message };
}

const MOST_NAMES = 3;

/** Says which updates in place have failed, as long as they have. Nothing else is selected while they use the budget up. */
function failedUpdates(
  machines: readonly Machine[],
  nodeOf: View['nodeOf'],
): (ConditionChange & { readonly reason: string; readonly message: string }) | undefined {
  const failed = machines.filter((machine) => phaseOf(machine) === 'InPlaceUpdateFailed');
  if (failed.length === 0) return undefined;
  const told = failed
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .slice(0, MOST_NAMES)
    .map(({ metadata: { name, labels } }) => {
      const node = nodeOf?.(labels?.[Labels.Node] ?? '');
      const why = node?.metadata.annotations?.[Annotations.UpdateFailedReason];
      const silent = node?.metadata.labels?.[Labels.UpdateResult] === undefined;
      return `${name} (${why ?? (silent ? 'no result within its timeout' : 'no reason given')})`;
    });
  const more = failed.length > MOST_NAMES ? ` and ${failed.length - MOST_NAMES} more` : '';
  return {
    type: ROLLOUT_BLOCKED,
    status: 'True',
    reason: 'InPlaceUpdateFailed',
    message: `Updates in place failed: ${told.join(', ')}${more}. A late success is accepted; after the health timeout, unless it is disabled, the machine is replaced; a corrected template starts it anew.`,
  };
}

/** The next step of a deployment whose machines are updated where they are (sheet 5). */
function inPlaceStep(view: View): Step {
  const { deployment, sizes, counted, replicas, limits } = view;
  const { current, old } = counted;
  if (!current || !sizes.current) {
    const manual = deployment.spec.strategy?.inPlaceUpdate?.orchestrationType === 'Manual';
    if (!old.some(hasMachines)) return createStep(view);
    return createStep(view, manual ? 0 : currentReplicas(sizes, { replicas, ...limits, ...ceilingOf(view.gate) }));
  }
  const { nodeOf } = view;
  if (!nodeOf && old.some(hasMachines)) return noNodesStep(deployment);
  const withMachines = ({ set }: CountedSet) => ({ set, machines: view.machines.get(set.metadata.uid) ?? [] });
  const step = planInPlaceUpdate({
    current: withMachines(current),
    old: old.map(withMachines),
    replicas,
    surge: limits.surge,
    unavailable: limits.unavailable,
    ceiling: view.gate?.ceiling,
    manual: deployment.spec.strategy?.inPlaceUpdate?.orchestrationType === 'Manual',
    nodeOf: nodeOf ?? (() => undefined),
  });
  const candidates = old.filter(hasMachines).map(({ set }) => set);
  const failed = failedUpdates(
    [...old, current].flatMap(({ set }) => view.machines.get(set.metadata.uid) ?? []),
    nodeOf,
  );
  const said = findCondition(deployment.status?.conditions ?? [], ROLLOUT_BLOCKED as never)?.message;
  const news = failed && failed.message !== said;
  return {
    ...(failed ? { condition: failed } : {}),
    events: news ? [{ type: 'Warning', reason: failed.reason, message: failed.message }] : [],
    resize: step.resize,
    inPlace: step.work,
    nodes: { ...NO_MARKS, candidates },
    because: step.because,
    ...completion(view),
  };
}

function rollbackStep(view: View, revision: number): Step {
  // The present template gets a revision first, so that one can come back to it; without machines, which the rollback
  // would only take away again.
  if (!view.split.current) return createStep(view, 0);
  const rollback = planRollback(view.deployment, view.split, revision);
  const { target } = rollback;
  const wasOld = target?.metadata.annotations?.[Annotations.PreferNoSchedule] !== undefined;
  const untaint = target && wasOld ? [target] : [];
  return {
    rollback,
    nodes: { ...NO_MARKS, untaint },
    mark: new Map(untaint.map((set) => [set.metadata.name, null])),
    events: [rollback.event],
    measureProgress: false,
    because: rollback.event.message,
  };
}

const hasMachines = ({ set, counts }: CountedSet): boolean => counts.replicas > 0 || (set.spec.replicas ?? 0) > 0;

/** The autoscaler keeps its hands off the nodes while machines of two templates stand (sheet 3.6). */
function withProtection(view: View, step: Step): Step {
  const { counted, complete } = view;
  const all = [...counted.old, ...(counted.current ? [counted.current] : [])].map(({ set }) => set);
  const nodes = step.nodes ?? NO_MARKS;
  if (counted.old.some(hasMachines)) return { ...step, nodes: { ...nodes, protect: all } };
  return complete ? { ...step, nodes: { ...nodes, unprotect: all } } : step;
}

/** New pods go to new nodes, if they can (sheet 3.5 and 3.7). */
function withTaints(view: View, step: Step): Step {
  const { counted, complete } = view;
  const marked = (set: MachineSet) => set.metadata.annotations?.[Annotations.PreferNoSchedule] !== undefined;
  const taint = counted.old.filter(hasMachines).map(({ set }) => set);
  const current = counted.current?.set;
  const untaint = complete && current && marked(current) ? [current] : [];
  const mark = new Map<string, string | null>(untaint.map((set) => [set.metadata.name, null]));
  for (const set of taint) if (!marked(set)) mark.set(set.metadata.name, TRUE);
  return { ...step, mark, nodes: { ...(step.nodes ?? NO_MARKS), taint, untaint } };
}

const historyOf = ({ counted, split, deployment }: View): readonly MachineSet[] => {
  const machines = new Map(counted.old.map(({ set, counts }) => [set, counts.replicas]));
  return surplusHistory(split.old, (set) => machines.get(set) ?? 0, deployment.spec.revisionHistoryLimit);
};

function foundCondition({ deployment, split }: View): ConditionChange | undefined {
  const type = MachineDeploymentConditions.Progressing;
  if (!split.current || findCondition(deployment.status?.conditions ?? [], type)) return undefined;
  const message = `Found new machine set "${split.current.metadata.name}"`;
  return { type, status: 'True', reason: ConditionReasons.FoundNewMachineSet, message };
}

const scaledEvent = (name: string, from: number, to: number): PlannedEvent => ({
  type: 'Normal',
  reason: EventReasons.ScalingMachineSet,
  message: `Scaled ${to > from ? 'up' : 'down'} machine set ${name} to ${to}`,
});

function scaleEvents({ sizes }: View, resize: Resize): PlannedEvent[] {
  const all = [...(sizes.current ? [sizes.current] : []), ...sizes.old];
  return all.flatMap((size) => {
    const to = resize.get(size.name) ?? size.replicas;
    return to === size.replicas ? [] : [scaledEvent(size.name, size.replicas, to)];
  });
}

/** Folds all that a step does to a set into one write; sets that end up as they are stored are left out. */
function setWrites(view: View, step: Step, stored: readonly MachineSet[]): MachineSet[] {
  const byName = new Map(stored.map((set) => [set.metadata.name, set]));
  const all = view.split.current ? [...view.split.old, view.split.current] : view.split.old;
  return all.flatMap((set) => {
    const { name } = set.metadata;
    const wanted = folded(view, step, set);
    const before = byName.get(name);
    const same =
      semanticEqual(wanted.metadata.annotations, before?.metadata.annotations) &&
      semanticEqual(wanted.metadata.labels, before?.metadata.labels) &&
      semanticEqual(wanted.spec, before?.spec);
    return same ? [] : [wanted];
  });
}

/**
 * An old set of an in-place update must not refill what was moved away. The original never takes the label off again, so
 * a set that one comes back to could not grow (BUG-7 of the sheet).
 */
function refillLabels({ deployment, split }: View, set: MachineSet): Record<string, string> | undefined {
  const { [Labels.ScaleUpDisabled]: label, ...labels } = set.metadata.labels ?? {};
  const inPlace = deployment.spec.strategy?.type === 'InPlaceUpdate';
  const off = inPlace && !deployment.spec.paused && set !== split.current && (set.spec.replicas ?? 0) > 0;
  if (off) return { ...labels, [Labels.ScaleUpDisabled]: label ?? TRUE_LOWER };
  const stays = label !== undefined && inPlace && set !== split.current;
  return label === undefined || stays ? set.metadata.labels : labels;
}

function folded(view: View, step: Step, set: MachineSet): MachineSet {
  const { deployment, limits } = view;
  const labels = refillLabels(view, set);
  const { name } = set.metadata;
  const size = step.resize?.get(name);
  const scaled = (size !== undefined && size !== (set.spec.replicas ?? 0)) || step.annotate?.includes(name) === true;
  const mark = step.mark?.get(name);
  const { [Annotations.PreferNoSchedule]: taint, ...annotations } = set.metadata.annotations ?? {};
  const marked = mark === undefined ? taint : (mark ?? undefined);
  return {
    ...set,
    metadata: {
      ...set.metadata,
      ...(labels ? { labels } : {}),
      annotations: {
        ...annotations,
        ...(marked === undefined ? {} : { [Annotations.PreferNoSchedule]: marked }),
        ...(scaled ? scaleAnnotations(deployment.spec.replicas ?? 0, limits) : {}),
      },
    },
    spec: size === undefined ? set.spec : { ...set.spec, replicas: size },
  };
}
