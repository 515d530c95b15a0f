import {
  Annotations,
  formatDurationMs,
  Labels,
  type Machine,
  type MachineStatus,
  Taints,
  UpdateResults,
} from '@mcm/api';
import type { Node } from '@mcm/kube';
import type { Blocking } from '../../blocked/blocks.ts';
import { breakerBlock, budgetBlock } from '../../blocked/causes.ts';
import { overridesBreaker } from '../../disruption/override.ts';
import { waitsForMaking } from '../../disruption/replacements.ts';
import { isNodeOf } from '../../node/instance.ts';
import {
  conditionsDiffer,
  describeUnhealthy,
  isHealthy,
  mirrored,
  printConditions,
  readinessTaints,
  waitsForCriticalComponents,
} from '../../settings/conditions.ts';
import { isKeptAfterFailure } from '../../settings/failed-updates.ts';
import { after, healthDeadline, joinDeadline, millis } from '../../values/timestamps.ts';
import { powerOf } from '../../warm/warm-machine.ts';
import { awaitsReadyHooks } from '../hooks/hooks.ts';
import { heldBecause, isHeld } from '../model/breaker.ts';
import { dampingOf, type HealthWrite } from '../model/damping.ts';
import type { MachineObservation } from '../model/observation.ts';
import type { PlannedEvent } from '../model/plan.ts';
import { type Operation, type PhaseChange, withOperation, withPhase } from '../model/status.ts';

export interface HealthPlan {
  readonly status?: MachineStatus;
  readonly event?: PlannedEvent;
  readonly joined?: boolean;
  readonly deadline?: Date | undefined;
  readonly ask?: true;
  readonly writes?: HealthWrite;
  readonly read?: true;
  readonly blockedBy?: readonly Blocking[];
  readonly because: string;
}

/**
 * mcm copies the conditions of a Node to a Pending machine after this delay. The next change of the phase usually
 * includes the conditions of the Node, so the delay saves writes.
 */
const MIRROR_PENDING_AFTER_MS = 30_000;

/**
 * Checks the health of a machine that has a node label and a phase and is not being deleted. Source: machine_util.go,
 * reconcileMachineHealth.
 */
export function planHealth(o: MachineObservation, now: Date): HealthPlan {
  const plan = undamped(o, now);
  const damping = plan.writes && dampingOf(o.healthWrites, plan.writes, now);
  if (damping === undefined) return plan;
  if (damping === 'read')
    return { read: true, because: 'the health of the machine changes often: reading the Node before the next check' };
  return { deadline: damping.until, because: 'the health of the machine changes often: delaying the next check' };
}

function undamped(o: MachineObservation, now: Date): HealthPlan {
  const mirrorChange = o.node && conditionsDiffer(o.machine.status?.conditions ?? [], o.node.status?.conditions ?? []);
  const base = mirrorChange && o.node ? withMirror(o.machine, o.node) : o.machine.status;
  // During an outage, a healthy machine can look unhealthy, but an unhealthy machine cannot look healthy.
  if (o.doubt) {
    const doubted = { deadline: o.doubt.until, because: `${o.doubt.because}: health checks are paused` };
    return checkHealthyMachine(o, base, now) ?? doubted;
  }
  const checked = checkHealth(o, base, now);
  if (checked) return checked;
  if (mirrorChange && base) {
    const due = o.machine.status?.currentStatus?.phase === 'Pending' ? mirrorDue(o) : now;
    if (due <= now) return { status: base, writes: 'mirrored', because: 'node conditions changed' };
    return { ...planTimeouts(o, now, due), because: 'the kubelet registered the Node, and the Node is not Ready yet' };
  }
  return planInPlaceResult(o, now) ?? planTimeouts(o, now);
}

const mirrorDue = (o: MachineObservation): Date => after(o.node?.metadata.creationTimestamp, MIRROR_PENDING_AFTER_MS);

const withMirror = (machine: Machine, node: Node): MachineStatus => ({
  ...machine.status,
  conditions: mirrored(node.status?.conditions ?? []),
});

const nameOf = (o: MachineObservation): string => o.machine.metadata.name;

/**
 * A change of the health must not end the preservation of a machine, so the phase change keeps the expiry of the
 * preservation.
 */
const to = (o: MachineObservation, phase: PhaseChange['phase']): PhaseChange => ({
  phase,
  preserveExpiryTime: o.machine.status?.currentStatus?.preserveExpiryTime,
});

const isWell = ({ node, settings }: MachineObservation): boolean =>
  node !== undefined && isHealthy(node.status?.conditions ?? [], settings.unhealthyConditionTypes);

const isUpdating = (phase: string | undefined): boolean =>
  phase === 'InPlaceUpdating' || phase === 'InPlaceUpdateFailed';

/**
 * Returns true if the Node has readiness taints. Clusters without the node readiness controller have no readiness
 * taints.
 */
const waitsForTaints = (node: Node): boolean => waitsForCriticalComponents(node) || readinessTaints(node).length > 0;

export const hasJoined = (o: MachineObservation): boolean =>
  o.node !== undefined && isWell(o) && !waitsForTaints(o.node) && isNodeOf(o.machine, o.node);

const neverJoinedYet = ({ machine: { status } }: MachineObservation): boolean =>
  status?.currentStatus?.phase === 'Pending' ||
  (status?.currentStatus?.phase === 'Failed' && status.lastOperation?.type === 'Create');

function checkHealthyMachine(
  o: MachineObservation,
  base: MachineStatus | undefined,
  now: Date,
): HealthPlan | undefined {
  const phase = o.machine.status?.currentStatus?.phase;
  if (!o.node || isUpdating(phase) || phase === 'Running' || !isWell(o)) return undefined;
  if (phase === 'Failed' && failedInPlace(o)) return undefined;
  if (phase === 'Pending' && !hasJoined(o)) return undefined;
  if (neverJoinedYet(o) && awaitsReadyHooks(o, now)) return undefined;
  return recovered(o, base, now);
}

function checkHealth(o: MachineObservation, base: MachineStatus | undefined, now: Date): HealthPlan | undefined {
  const phase = o.machine.status?.currentStatus?.phase;
  if (isUpdating(phase)) return undefined;
  // A Node can become unhealthy or disappear after a successful in-place update. In the original, the machine then keeps
  // the phase `InPlaceUpdateSuccessful` forever.
  const runs = phase === 'Running' || phase === 'InPlaceUpdateSuccessful';
  if (!o.node) return runs ? lost(o, base, now) : undefined;
  if (isWell(o)) return checkHealthyMachine(o, base, now);
  return runs ? sick(o, base, now) : undefined;
}

/**
 * Returns true if an in-place update failed. An in-place update that exceeds its timeout sets the machine to Failed,
 * and a healthy Node does not change this result. In the original, the next health check may set the machine with a
 * failed update to Running.
 */
function failedInPlace({ machine, node }: MachineObservation): boolean {
  const labels = node?.metadata.labels;
  return (
    machine.status?.lastOperation?.type === 'InPlaceUpdate' &&
    labels?.[Labels.SelectedForUpdate] !== undefined &&
    labels[Labels.UpdateResult] !== UpdateResults.Successful
  );
}

function recovered(o: MachineObservation, base: MachineStatus | undefined, now: Date): HealthPlan {
  const last = o.machine.status?.lastOperation;
  const joined = last?.type === 'Create' && last.state !== 'Successful';
  const power = powerOf(o.machine);
  const since = power?.is === 'Starting' ? power.since.getTime() : millis(o.machine.metadata.creationTimestamp);
  const took = formatDurationMs(Math.max(now.getTime() - since, 0));
  const operation: Operation = joined
    ? {
        description: `Machine ${nameOf(o)} successfully joined the cluster in ${took}`,
        state: 'Successful',
        type: 'Create',
      }
    : {
        description: `Machine ${nameOf(o)} successfully re-joined the cluster`,
        state: 'Successful',
        type: 'HealthCheck',
      };
  const { description: message } = operation;
  const event = joined ? {} : { event: { type: 'Normal', reason: 'NodeHealthy', message } as const };
  // The description contains no duration, so a retry writes the same text.
  const because = joined ? `Machine ${nameOf(o)} successfully joined the cluster` : message;
  return { status: withPhase(base, to(o, 'Running'), operation, now), joined, because, ...event };
}

const lost = (o: MachineObservation, base: MachineStatus | undefined, now: Date): HealthPlan =>
  toUnknown(
    o,
    base,
    now,
    `Node object went missing. Machine ${nameOf(o)} is unhealthy - changing MachinePhase to Unknown${contradiction(o)}`,
    {
      reason: 'NodeMissing',
      message: `${missing(o)}. ${prospect(o)}`,
    },
  );

/** Describes a conflict between the Node label of the machine and the Nodes, which a user can cause by an edit. */
function contradiction({ machine, conflictingNode, nodeOfOther }: MachineObservation): string {
  if (nodeOfOther) {
    const { node, ownedBy, own } = nodeOfOther;
    const hint = own
      ? `Node ${own} belongs to the machine: set the label node=${own} on the machine`
      : 'delete one of the two machines, and make the VM names in the cloud unique';
    return `. Node ${node} already belongs to machine ${ownedBy}; ${hint}`;
  }
  return conflictingNode
    ? `. Node ${conflictingNode.metadata.name} has spec.providerID "${conflictingNode.spec.providerID ?? ''}", but the machine has "${machine.spec.providerID ?? ''}". If a user edited spec.providerID of the machine, restore the field. If the field was not edited, delete the machine`
    : '';
}

const missing = (o: MachineObservation): string =>
  contradiction(o).replace(/^\. /, 'The machine has no Node. ') ||
  `Node ${o.machine.metadata.labels?.[Labels.Node] ?? ''} went missing`;

const sick = (o: MachineObservation, base: MachineStatus | undefined, now: Date): HealthPlan =>
  toUnknown(
    o,
    base,
    now,
    `Machine ${nameOf(o)} is unhealthy - changing MachinePhase to Unknown. Node conditions: ${printConditions(base?.conditions ?? [])}`,
    {
      reason: 'NodeUnhealthy',
      message: `The machine is unhealthy: ${unhealthyText(o, base?.conditions)}. ${prospect(o)}`,
    },
  );

/** Users read events, so an event lists only unhealthy conditions. */
const unhealthyText = (
  { settings }: MachineObservation,
  conditions: Parameters<typeof describeUnhealthy>[0] = [],
): string => describeUnhealthy(conditions, settings.unhealthyConditionTypes);

const prospect = ({ settings }: MachineObservation): string =>
  settings.healthTimeoutDisabled
    ? 'The machine does not become Failed, because spec.disableHealthTimeout is true'
    : `The machine becomes Failed after ${formatDurationMs(settings.healthTimeoutMs)} without recovery`;

function toUnknown(
  o: MachineObservation,
  base: MachineStatus | undefined,
  now: Date,
  description: string,
  event: Pick<PlannedEvent, 'reason' | 'message'>,
): HealthPlan {
  const operation: Operation = { description, state: 'Processing', type: 'HealthCheck' };
  return {
    status: withPhase(base, to(o, 'Unknown'), operation, now),
    writes: 'unknown',
    event: { type: 'Warning', ...event },
    because: description,
  };
}

/**
 * Returns true if a healthy Node is no longer selected for an in-place update and reports no update result. The manager
 * can withdraw an update at the moment at which the machine controller writes the phase. The result is false for a
 * cordoned candidate, because the candidate waits for its next update.
 */
function isWithdrawn(o: MachineObservation): boolean {
  const { machine, node } = o;
  if (!node || !isWell(o) || !isNodeOf(machine, node)) return false;
  const { labels = {} } = node.metadata;
  if (labels[Labels.SelectedForUpdate] !== undefined || labels[Labels.UpdateResult] !== undefined) return false;
  return labels[Labels.CandidateForUpdate] === undefined || !node.spec.unschedulable;
}

function withdrawn(o: MachineObservation, now: Date): HealthPlan {
  const description = `The in-place update of machine ${nameOf(o)} was withdrawn`;
  const operation: Operation = { description, state: 'Successful', type: 'HealthCheck' };
  return { status: withPhase(o.machine.status, to(o, 'Running'), operation, now), because: description };
}

function planInPlaceResult(o: MachineObservation, now: Date): HealthPlan | undefined {
  const phase = o.machine.status?.currentStatus?.phase;
  if (phase !== 'InPlaceUpdating' && phase !== 'InPlaceUpdateFailed') return undefined;
  if (phase === 'InPlaceUpdating' && isWithdrawn(o)) return withdrawn(o, now);
  const result = o.node?.metadata.labels?.[Labels.UpdateResult];
  if (result === UpdateResults.Successful) {
    const description = `Machine ${nameOf(o)} successfully updated dependencies`;
    const operation: Operation = { description, state: 'Successful', type: 'InPlaceUpdate' };
    return {
      status: withPhase(o.machine.status, { phase: 'InPlaceUpdateSuccessful' }, operation, now),
      because: description,
    };
  }
  if (result === UpdateResults.Failed && phase !== 'InPlaceUpdateFailed') {
    const reason = o.node?.metadata.annotations?.[Annotations.UpdateFailedReason] ?? '';
    const description = `Machine ${nameOf(o)} failed to update dependencies: ${reason}`;
    const operation: Operation = { description, state: 'Failed', type: 'InPlaceUpdate' };
    return {
      status: withPhase(o.machine.status, { phase: 'InPlaceUpdateFailed' }, operation, now),
      event: { type: 'Warning', reason: 'InPlaceUpdateFailed', message: description },
      because: description,
    };
  }
  return undefined;
}

function planTimeouts(o: MachineObservation, now: Date, also?: Date): HealthPlan {
  const current = o.machine.status?.currentStatus;
  switch (current?.phase) {
    case 'Pending': {
      const deadline = joinDeadline(o.machine, o.settings);
      return now <= deadline
        ? { deadline: earliest(deadline, also), because: 'the machine waits until its node joins' }
        : neverJoined(o, now);
    }
    case 'InPlaceUpdating': {
      const deadline = after(current.lastUpdateTime, o.settings.inPlaceUpdateTimeoutMs);
      return now <= deadline
        ? { deadline, because: 'the machine waits for the end of the in-place update' }
        : updateTimedOut(o, now);
    }
    case 'Unknown':
    case 'InPlaceUpdateFailed': {
      if (o.settings.healthTimeoutDisabled)
        return { because: 'the machine is unhealthy, and its health timeout is disabled' };
      if (current.phase === 'InPlaceUpdateFailed' && isKeptAfterFailure(o.node))
        return { because: 'the in-place update failed, and the MachineDeployment keeps the machine' };
      const deadline = healthDeadline(o.machine, o.settings);
      return now <= deadline
        ? { deadline, because: 'the machine is unhealthy and may still recover' }
        : markFailed(o, now);
    }
    default:
      return { because: 'nothing to check', deadline: also };
  }
}

const earliest = (a: Date, b: Date | undefined): Date => (b && b < a ? b : a);

function neverJoined(o: MachineObservation, now: Date): HealthPlan {
  const description = `Machine ${nameOf(o)} failed to join the cluster in ${formatDurationMs(o.settings.creationTimeoutMs)} minutes.`;
  const message = `The machine is Failed, because it did not join within ${formatDurationMs(o.settings.creationTimeoutMs)}: ${missingForJoin(o, now)}`;
  return toFailed(o, now, description, { reason: 'FailedToJoin', message });
}

function missingForJoin(o: MachineObservation, now: Date): string {
  if (!o.node) return `no Node has registered for the machine${contradiction(o)}`;
  const wrong = unhealthyText(o, o.node.status?.conditions);
  if (wrong || waitsForCriticalComponents(o.node)) {
    return wrong || `the Node of the machine still has the taint ${Taints.CriticalComponentsNotReady.key}`;
  }
  if (hasJoined(o) && awaitsReadyHooks(o, now)) return 'the after-ready hooks of the machine have not finished';
  const keys = readinessTaints(o.node);
  return `the Node of the machine still has the ${keys.length === 1 ? 'taint' : 'taints'} ${keys.join(', ')}`;
}

function updateTimedOut(o: MachineObservation, now: Date): HealthPlan {
  const description = `Machine ${nameOf(o)} failed to in-place update in ${formatDurationMs(o.settings.inPlaceUpdateTimeoutMs)} minutes.`;
  const operation: Operation = { description, state: 'Failed', type: 'InPlaceUpdate' };
  return {
    status: withPhase(o.machine.status, { phase: 'InPlaceUpdateFailed' }, operation, now),
    event: { type: 'Warning', reason: 'InPlaceUpdateFailed', message: description },
    because: description,
  };
}

/** Marks a machine as Failed if its deployment may replace a machine now. */
function markFailed(o: MachineObservation, now: Date): HealthPlan {
  if (o.breaker && isHeld(o, now)) {
    const { lookAgainAt, scope } = o.breaker;
    return { deadline: lookAgainAt, because: heldBecause(o.breaker), blockedBy: [breakerBlock(scope)] };
  }
  if (o.unconfirmed && !overridesBreaker(o.machine, o.machineClass, now)) {
    const because =
      'the machine is unreachable, and the cluster is too small for a circuit breaker: checking the VM in the cloud';
    if ('ask' in o.unconfirmed) return { ask: true, because };
    return { deadline: o.unconfirmed.waitUntil, because };
  }
  if (o.replacementsInProgress >= (o.replacementsAllowed ?? 1)) {
    const until = waitsForMaking(o.machine.status?.currentStatus?.lastUpdateTime, o.settings.healthTimeoutMs);
    return {
      ...sayWaits(o, now),
      deadline: now <= until ? until : undefined,
      blockedBy: [budgetBlock],
      because: `machine "${nameOf(o)}" couldn't be marked FAILED, other machines are getting replaced`,
    };
  }
  const conditions = printConditions(o.machine.status?.conditions ?? []);
  const description = `Machine ${nameOf(o)} health checks failing since last ${formatDurationMs(o.settings.healthTimeoutMs)} minutes. Updating machine phase to Failed. Node Conditions: ${conditions}`;
  const said = o.cloudSays === undefined ? '' : `. ${o.cloudSays}`;
  const message = `The machine has been unhealthy for ${formatDurationMs(o.settings.healthTimeoutMs)} and is Failed: ${lastingConditions(o)}${said}`;
  return toFailed(o, now, description, { reason: 'HealthTimeout', message });
}

function lastingConditions(o: MachineObservation): string {
  if (!o.node) return missing(o);
  const { currentStatus, conditions, lastOperation } = o.machine.status ?? {};
  const failed = currentStatus?.phase === 'InPlaceUpdateFailed' ? lastOperation?.description?.replace(WAITS, '') : '';
  return [failed, unhealthyText(o, conditions)].filter(Boolean).join('; ');
}

const WAITS = 'Waiting: other machines are getting replaced (--max-unhealthy-replacements). ';

/**
 * Adds the reason of the wait to the start of the last description. The original only logs the reason. The reason
 * contains no names or numbers of machines, because each change of a machine would then cause a status write.
 */
function sayWaits({ machine: { status } }: MachineObservation, now: Date): Pick<HealthPlan, 'status'> {
  const { description = '', state = 'Processing', type = 'HealthCheck' } = status?.lastOperation ?? {};
  if (description.startsWith(WAITS)) return {};
  return { status: withOperation(status, { description: `${WAITS}${description}`, state, type }, now) };
}

function toFailed(
  o: MachineObservation,
  now: Date,
  description: string,
  event: Pick<PlannedEvent, 'reason' | 'message'>,
): HealthPlan {
  const type = o.machine.status?.lastOperation?.type ?? 'HealthCheck';
  return {
    status: withPhase(o.machine.status, to(o, 'Failed'), { description, state: 'Failed', type }, now),
    event: { type: 'Warning', ...event },
    because: description,
  };
}

/** Restarts the health timeout, so that the time of an outage does not count. */
export const afterOutage = (machine: Machine, now: Date): MachineStatus => {
  const description = 'Machine Health Timeout was reset due to APIServer being unreachable';
  const operation: Operation = { description, state: 'Successful', type: 'HealthCheck' };
  const preserveExpiryTime = machine.status?.currentStatus?.preserveExpiryTime;
  return withPhase(machine.status, { phase: 'Running', preserveExpiryTime }, operation, now);
};
