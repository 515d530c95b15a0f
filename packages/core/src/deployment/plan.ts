import { Annotations, ConditionReasons, counted, type MachineDeployment, MachineDeploymentConditions } from '@mcm/api';
import { withoutUndefined } from '@mcm/kube';
import { hasFailures, type RepairPlan } from '../disruption/repairs.ts';
import { type ConditionChange, findCondition } from '../objects/conditions.ts';
import { mustSeePods, unreadyCanaries, unreadyText } from '../rollout/canary-pods.ts';
import { firstEnd, whyPostponed } from '../rollout/postponement.ts';
import { hadMachines, revisionOf } from '../rollout/revisions.ts';
import { isLastRolloutComplete } from '../rollout/rollout-completion.ts';
import {
  type AutomaticPause,
  failuresOf,
  hasRolloutSettings,
  isReturn,
  notedNames,
  pauseOn,
  soakEndOf,
  stopsOnFailure,
} from '../rollout/rollout-gate.ts';
import { nextLook } from '../rollout/windows/state.ts';
import { listedNames } from '../values/texts.ts';
import { endOfUpdates } from './in-place/in-place-end.ts';
import { inPlaceStep, movedStep } from './in-place/in-place-step.ts';
import { withProtection, withTaints } from './rollout/node-protection.ts';
import {
  createStep,
  historyOf,
  recreateStep,
  rollbackStep,
  rollingStep,
  scalingStep,
} from './rollout/strategy-steps.ts';
import { windowStep } from './rollout/window-step.ts';
import { isScalingEvent } from './scaling/scaling.ts';
import { whyAwaited } from './state/awaited-config.ts';
import { checkPlan } from './state/guard.ts';
import { NO_WORK } from './state/in-place-snapshot.ts';
import { missingClass, overlappedBy, problemsOf } from './state/problems.ts';
import type { PlannedEvent } from './state/rollback.ts';
import { allOf, type Resize, sum } from './state/size.ts';
import type { CountedSet } from './state/status.ts';
import { NO_MARKS, ROLLOUT_BLOCKED, type RolloutPlan, type Step, scaledEvent } from './state/step.ts';
import { type DeploymentSnapshot, gateInputOf, rolling, type View, viewOf } from './state/view.ts';
import { setWrites } from './writes/set-writes.ts';
import { shortageOf } from './zones/shortage.ts';
import { standbyOf } from './zones/standby.ts';
import { zoneStep } from './zones/zone-step.ts';

/**
 * Decides the next step of a deployment.
 * @throws PlanRefused if the plan would break a limit because of a defect in the planner; the caller must then write
 * nothing
 */
export function planRollout(snapshot: DeploymentSnapshot): RolloutPlan {
  const view = viewOf(snapshot);
  const step = nextStep(view);
  const { deployment } = snapshot;
  const resize = step.resize ?? new Map<string, number>();
  const standby = standbyOf(view);
  const short = shortageOf(view);
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
    inPlace: step.inPlace ?? endOfUpdates(view),
    condition: step.condition ?? foundCondition(view),
    events: [...(step.events ?? []), ...scaleEvents(view, resize), ...standby.events, ...short.events],
    measureProgress: step.measureProgress ?? true,
    soakEnd: soakEndOf(gateInputOf(view)),
    lookAgainAt: [view.repairs.lookAgainAt, standby.lookAgainAt, short.lookAgainAt].reduce(earliest, step.lookAgainAt),
    pause: step.pause,
    forgetPause: pauseIsOver(view),
    lastGood: lastGoodOf(view),
    unfinished: isUnfinished(view),
    standby: standby.text,
    short: short.text,
    podsSeen: podsSeenBy(view),
    problems: problemsOf(view, step),
    repairs: view.repairs,
    because: step.because,
  };
}

const isUnfinished = ({ deployment, counted, complete }: View): boolean =>
  rolling(counted.old) || (counted.old.length > 0 && !complete && !isLastRolloutComplete(deployment));

const earliest = (a: Date | undefined, b: Date | undefined): Date | undefined =>
  a === undefined || (b !== undefined && b < a) ? b : a;

/** A user can still scale down a deployment whose rollout is blocked. */
function blockedStep(view: View): Step | undefined {
  const [older] = overlappedBy(view);
  if (older) {
    return {
      because: `waiting: spec.selector overlaps with the selector of the older deployment ${older.metadata.name}`,
    };
  }
  const name = missingClass(view);
  return name === undefined ? undefined : { because: `waiting: MachineClass "${name}" does not exist` };
}

function nextStep(view: View): Step {
  const { deployment, sizes, replicas } = view;
  const blocked = blockedStep(view);
  const mayScale = !blocked || replicas < sum(allOf(sizes), (size) => size.replicas);
  if (deployment.spec.paused) {
    const remove = deployment.spec.rollbackTo ? [] : historyOf(view);
    const step = movedStep(view) ?? (mayScale ? scalingStep(view) : blocked);
    return { ...step, ...pausedByFailure(deployment), remove, measureProgress: false };
  }
  if (deployment.spec.rollbackTo) return rollbackStep(view, deployment.spec.rollbackTo.revision ?? 0);
  const scales = isScalingEvent(sizes, replicas) && !betweenSets(view);
  if (blocked && !(scales && mayScale)) return blocked;
  // mcm pauses a failed rollout before it creates more machines of the failed template.
  const pause = blocked ? undefined : automaticPause(view);
  if (pause) return { pause, measureProgress: false, because: pause.message };
  const waits = blocked
    ? undefined
    : windowStep(view, { moved: () => movedStep(view), complete: () => inPlaceStep(view) });
  if (waits) return waits;
  if (scales) return { ...(movedStep(view) ?? scalingStep(view)), measureProgress: false };
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
      return (
        zoneStep(view) ?? withTaints(view, withProtection(view, split.current ? rollingStep(view) : createStep(view)))
      );
  }
}

function automaticPause({
  deployment,
  rolloutSettings,
  counted,
  machines,
  split,
  good,
  canaryPods,
  refusedRollback,
}: View): AutomaticPause | undefined {
  if (!rolling(counted.old) || !stopsOnFailure(rolloutSettings) || isReturn(deployment, split.current))
    return undefined;
  const of = ({ set }: CountedSet) => machines.get(set.metadata.uid) ?? [];
  const mine = counted.current ? of(counted.current) : [];
  const unready = unreadyCanaries(deployment, canaryPods, mine);
  const failures = [...new Set([...failuresOf(mine, counted.old.flatMap(of)), ...unready])];
  // The controller requests a refused rollback only once.
  const undoes = rolloutSettings.undoOnFailure && refusedRollback === undefined;
  const goodSet = undoes ? split.old.find(({ metadata }) => metadata.name === good) : undefined;
  const why = unready.length > 0 ? unreadyText(canaryPods) : '';
  return pauseOn(deployment, failures, (goodSet && revisionOf(goodSet)) || undefined, why);
}

/**
 * Returns the new value of the annotation that names the set whose canary pods were checked. The value is null if the
 * recorded set is no longer current, and undefined for no change.
 */
function podsSeenBy(view: View): string | null | undefined {
  const { canaryPods, deployment } = view;
  const recorded = deployment.metadata.annotations?.[Annotations.RolloutCanaryPodsSeen];
  const current = view.split.current?.metadata.name;
  const outdated = recorded !== undefined && current !== undefined && recorded !== current ? null : undefined;
  if (canaryPods === undefined || canaryPods.unseen !== undefined) return outdated;
  const input = gateInputOf(view);
  if (!mustSeePods(input) || unreadyCanaries(deployment, canaryPods, input.machines).length > 0) return outdated;
  return input.current?.metadata.name;
}

const pauseIsOver = ({ deployment: { metadata, spec }, complete, counted }: View): boolean =>
  metadata.annotations?.[Annotations.RolloutPausedBy] !== undefined &&
  !spec.paused &&
  complete &&
  !rolling(counted.old);

/**
 * A user can add the annotations together with a new template, before mcm has recorded a last good set. If the previous
 * rollout was complete, its set then becomes the last good set.
 */
function lastGoodOf(view: View): string | undefined {
  const { deployment, rolloutSettings, complete, counted, replicas, split } = view;
  if (!hasRolloutSettings(rolloutSettings) || deployment.spec.strategy?.type === 'Recreate') return undefined;
  const noted = deployment.metadata.annotations?.[Annotations.RolloutLastGood];
  const { current, old } = split;
  const carries = complete && replicas > 0 && !rolling(counted.old) ? current?.metadata.name : undefined;
  const revision = revisionOf(deployment);
  const carried =
    noted === undefined && current === undefined && isLastRolloutComplete(deployment)
      ? old.find((set) => revision !== 0 && revisionOf(set) === revision && hadMachines(set))?.metadata.name
      : undefined;
  const name = carries ?? carried;
  return name === noted ? undefined : name;
}

function pausedByFailure({ metadata }: MachineDeployment): Partial<Step> {
  const note = metadata.annotations?.[Annotations.RolloutPausedBy];
  if (note === undefined) return {};
  const message = `mcm paused the rollout because ${notedNames(note)} failed with the new template. Undo the rollout, correct the template, or set spec.paused to false to continue.`;
  return { condition: { type: ROLLOUT_BLOCKED, status: 'True', reason: 'PausedOnFailure', message } };
}

const idleStep = ({ resize, inPlace = NO_WORK, create }: Step): boolean =>
  !resize?.size && !create && inPlace.machines.length + inPlace.nodes.length === 0;

const whyFirst = ({ go, waiting }: RepairPlan): string =>
  `replacing failed machines first: ${listedNames([...go, ...waiting])}`;

function held(view: View, step: Step): Step {
  const { gate, replicas, sizes, repairs } = view;
  const unreachable = sum(sizes.old, (size) => size.held ?? 0);
  if (unreachable > 0 && !step.resize?.size && !step.create) {
    return {
      ...step,
      because: `waiting: the circuit breaker prevents the deletion of ${counted(unreachable, 'unreachable old machine')}`,
    };
  }
  if (hasFailures(repairs) && idleStep(step) && sizes.old.some((size) => size.replicas > 0)) {
    return { ...step, because: `waiting: ${whyFirst(repairs)}` };
  }
  if (view.awaited.length > 0 && idleStep(step) && sizes.old.some((one) => one.replicas > 0)) {
    return { ...step, because: whyAwaited(view.deployment, view.awaited) };
  }
  if (waitsForNodes(view, step)) {
    return {
      ...step,
      measureProgress: false,
      lookAgainAt: nextLook(firstEnd(view.postponed), view.now),
      waits: { reason: 'NodePostponed' },
      because: whyPostponed(view.postponed),
    };
  }
  const size = sizes.current?.replicas ?? 0;
  if (!gate || size < Math.min(gate.ceiling, replicas)) return step;
  // mcm reports the soak time as the reason of the wait only if nothing else stops the rollout.
  const moves = () => !idleStep(strategyStep({ ...view, gate: undefined }));
  const isCause = gate.opensAt === undefined || !idleStep(step) || moves();
  if (!isCause) return { ...step, lookAgainAt: gate.opensAt };
  const waits = idleStep(step) && gate.waits ? { waits: { reason: gate.waits } } : {};
  return {
    ...step,
    measureProgress: gate.needsMachines === true,
    lookAgainAt: gate.opensAt,
    ...waits,
    ...withoutUndefined({ because: idleStep(step) ? gate.because : undefined }),
  };
}

function waitsForNodes(view: View, step: Step): boolean {
  if (view.postponed.length === 0 || !idleStep(step)) return false;
  const old = view.sizes.old.map((size) => ({ ...size, postponed: 0 }));
  return !idleStep(strategyStep({ ...view, postponed: [], sizes: { ...view.sizes, old } }));
}

/** Returns true if the last old machine is being deleted and the current set does not have a machine yet. */
const betweenSets = ({ deployment, sizes }: View): boolean =>
  deployment.spec.strategy?.type === 'RollingUpdate' &&
  sizes.current?.replicas === 0 &&
  sizes.old.every((size) => size.replicas === 0) &&
  sizes.old.some((size) => size.actual > 0);

function foundCondition({ deployment, split }: View): ConditionChange | undefined {
  const type = MachineDeploymentConditions.Progressing;
  if (!split.current || findCondition(deployment.status?.conditions ?? [], type)) return undefined;
  const message = `Found new machine set "${split.current.metadata.name}"`;
  return { type, status: 'True', reason: ConditionReasons.FoundNewMachineSet, message };
}

function scaleEvents({ sizes }: View, resize: Resize): PlannedEvent[] {
  const all = [...(sizes.current ? [sizes.current] : []), ...sizes.old];
  return all.flatMap((size) => {
    const to = resize.get(size.name) ?? size.replicas;
    return to === size.replicas ? [] : [scaledEvent(size.name, size.replicas, to)];
  });
}
