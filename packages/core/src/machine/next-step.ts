import { Finalizers } from '@mcm/api';
import { isNodeOf } from '../node/instance.ts';
import { planNodeSync } from '../node/sync.ts';
import { joinDeadline } from '../values/timestamps.ts';
import { isBeingCreated, planCreation, planLateInitialization } from './creation/creation.ts';
import { planDeletion } from './deletion/deletion.ts';
import { keepEvidenceFirst } from './health/evidence-first.ts';
import { planHealth } from './health/health.ts';
import { planNameConflict } from './health/name-conflict.ts';
import { planInPlace } from './in-place/in-place.ts';
import { reportHeld } from './model/breaker.ts';
import type { MachineObservation } from './model/observation.ts';
import { type Action, act, nextAt, type Plan, wait } from './model/plan.ts';
import { planPreservation } from './preservation/preservation.ts';

/** Decides the next actions for a machine, and the time of the next reconcile. It reads only the observation and `now`. */
export const nextStep = (o: MachineObservation, now: Date): Plan => keepEvidenceFirst(o, decide(o, now), now);

function decide(o: MachineObservation, now: Date): Plan {
  const { machine } = o;
  const told = o.frozen ? undefined : reportHeld(o, now);
  if (told) return act('the breaker holds it back, or lets it go', told);
  const warnings = o.warnings ?? [];
  if (warnings.join('; ') !== (o.warned ?? '')) return act('it asks for what cannot be', { do: 'warn', warnings });
  if (machine.metadata.deletionTimestamp) return planDeletion(o, now);
  if (o.frozen) return wait('API servers were out of reach: nothing is judged until they are back');
  if (!machine.metadata.finalizers?.includes(Finalizers.MachineControllerManager)) {
    return act('nothing is made that could be left behind', { do: 'addFinalizer' });
  }
  if (o.nodesUnseen !== undefined) return withoutNodes(o, o.nodesUnseen, now);
  if (machine.metadata.labels?.node && (o.nodeWasDeleted || isOwnNodeDeleting(o))) {
    return { actions: [{ do: 'deleteMachine' }], next: { kind: 'wait' }, because: 'its Node is being deleted' };
  }
  const conflictingNode = planNameConflict(o, now);
  if (conflictingNode && conflictingNode.actions.length > 0) return conflictingNode;
  const token = planToken(o, now);
  if (token) return act('its bootstrap token would expire before its time to join', token);
  const upkeep = planUpkeep(o, now);
  if (upkeep.actions.length > 0) return upkeep;
  const update = planInPlace(o, now);
  if (update && update.actions.length > 0) return update;
  const preservation = planPreservation(o, now);
  if (preservation && preservation.actions.length > 0) return preservation;
  const rest = isBeingCreated(o) ? planCreation(o, now) : (planLateInitialization(o, now) ?? upkeep);
  return [update, preservation, conflictingNode].reduce<Plan>(
    (plan, other) => (other ? withWait(plan, other) : plan),
    rest,
  );
}

/** mcm still creates VMs. Without the Nodes it cannot know whether a machine has joined or is healthy. */
function withoutNodes(o: MachineObservation, unseen: string, now: Date): Plan {
  const token = planToken(o, now);
  if (token) return act('its bootstrap token would expire before its time to join', token);
  const plan = isBeingCreated(o) ? planCreation(o, now) : planLateInitialization(o, now);
  return plan ?? wait(`its node cannot be seen: ${unseen}`);
}

/** The plan, with the next reconcile no later than that of `other`. */
function withWait(plan: Plan, other: Plan): Plan {
  if (plan.next.kind === 'continue' || other.next.kind !== 'waitUntil') return plan;
  const own = plan.next.kind === 'waitUntil' ? plan.next.instant : undefined;
  return {
    ...plan,
    next: nextAt(own, other.next.instant),
    ...(other.budgets ? { budgets: [...(plan.budgets ?? []), ...other.budgets] } : {}),
  };
}

const isOwnNodeDeleting = ({ machine, node }: MachineObservation): boolean =>
  node?.metadata.deletionTimestamp !== undefined && isNodeOf(machine, node);

/**
 * Extends the bootstrap token if the creation timeout was raised before the machine joined (incident 25). A token of an
 * earlier process is verified once, because its expiry is not known.
 */
function planToken({ machine, hasTarget, asksForToken, tokenLivesUntil, settings }: MachineObservation, now: Date) {
  if (!hasTarget || !asksForToken || machine.status?.currentStatus?.phase !== 'Pending') return undefined;
  const until = joinDeadline(machine, settings);
  if (until <= now || (tokenLivesUntil && tokenLivesUntil >= until)) return undefined;
  return { do: 'extendToken', until } as const;
}

/** Checks the health of a machine with a node and a phase, and syncs its Node. */
function planUpkeep(o: MachineObservation, now: Date): Plan {
  const { machine, node } = o;
  if (!o.hasTarget || !machine.metadata.labels?.node || !machine.status?.currentStatus?.phase)
    return wait('no node yet');
  const health = planHealth(o, now);
  const patch = node && isNodeOf(machine, node) ? planNodeSync(machine, o.machineClass, node) : undefined;
  const actions: Action[] = [];
  if (patch) actions.push({ do: 'syncNode', patch });
  // The token is deleted before the status becomes Running, because nothing would delete it afterwards.
  if (health.joined && o.asksForToken) actions.push({ do: 'deleteToken' });
  if (health.ask) actions.push({ do: 'call', call: 'status' });
  if (health.read) actions.push({ do: 'readNode' });
  if (health.status) {
    const { status, event, writes } = health;
    actions.push({ do: 'writeStatus', status, ...(event ? { event } : {}), ...(writes ? { writes } : {}) });
  }
  return {
    actions,
    next: actions.length > 0 ? { kind: 'continue' } : nextAt(health.deadline),
    because: health.because,
  };
}
