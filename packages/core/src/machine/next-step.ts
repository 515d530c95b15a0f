import { Finalizers } from '@mcm/api';
import { defined, withoutUndefined } from '@mcm/kube';
import { isNodeOf } from '../node/instance.ts';
import { planNodeSync } from '../node/sync.ts';
import { joinDeadline } from '../values/timestamps.ts';
import { powerOf } from '../warm/warm-machine.ts';
import { planAdoptedNode } from './creation/adopted-node.ts';
import { isBeingCreated, planCreation, planLateInitialization } from './creation/creation.ts';
import { planDeletion } from './deletion/deletion.ts';
import { keepEvidenceFirst } from './health/evidence-first.ts';
import { planHealth } from './health/health.ts';
import { planNameConflict } from './health/name-conflict.ts';
import { planReadiness } from './health/readiness.ts';
import { planReadyHooks } from './health/ready-hooks.ts';
import { planVmState } from './health/vm-state.ts';
import { planInPlace } from './in-place/in-place.ts';
import { planInterruption, planNodeNotice } from './interruption/interruption.ts';
import { frozenBlock, withBlockedBy } from './model/blocked-by.ts';
import { reportHeld } from './model/breaker.ts';
import { waitForMissingNode } from './model/missing-node.ts';
import type { MachineObservation } from './model/observation.ts';
import { type Action, act, nextAt, type Plan, wait } from './model/plan.ts';
import { planWithdrawal } from './model/pod-actions.ts';
import { withReadyCondition } from './model/ready-condition.ts';
import { planPreservation } from './preservation/preservation.ts';
import { planWarm } from './warm/warm.ts';

/**
 * Decides the next actions for a machine, and the time of the next reconcile. `nextStep` reads only the observation and
 * `now`.
 */
export const nextStep = (o: MachineObservation, now: Date): Plan => {
  const decided = keepEvidenceFirst(o, waitForMissingNode(decide(o, now), o), now);
  const plan = o.readyCondition ? withReadyCondition(decided, o, now) : decided;
  return o.blockedBy || o.machine.status?.blockedBy ? withBlockedBy(plan, o, now) : plan;
};

/** A concern is one possible reason to act on a machine. */
interface Look {
  readonly o: MachineObservation;
  readonly now: Date;
  readonly upkeep: () => Plan;
}

interface Concern {
  readonly plan: (look: Look) => Plan | undefined;
  readonly decides: boolean;
}

const decides = (plan: Concern['plan']): Concern => ({ plan, decides: true });
const acts = (plan: Concern['plan']): Concern => ({ plan, decides: false });

/**
 * The first concern whose plan contains actions determines the decision. The plan of a concern with `decides`
 * determines the decision even if the plan contains no actions.
 */
const CONCERNS: readonly Concern[] = [
  decides(({ o, now }) => planNodeNotice(o, now)),
  decides(circuitBreaker),
  decides(validationWarnings),
  decides(metadataDrift),
  decides(deletion),
  decides(({ o, now }) => planInterruption(o, now)),
  decides(freeze),
  decides(finalizer),
  decides(({ o, now }) => planWarm(o, now)),
  decides(nodesUnseen),
  decides(({ o }) => planWithdrawal(o)),
  decides(nodeDeletion),
  decides(({ o }) => planAdoptedNode(o)),
  acts(({ o, now }) => planNameConflict(o, now)),
  decides(bootstrapToken),
  acts(({ o, now }) => planReadyHooks(o, now)),
  acts(({ o, now }) => planReadiness(o, now)),
  decides(({ o }) => planVmState(o)),
  decides(nodeAndHealth),
  acts(({ o, now }) => planInPlace(o, now)),
  acts(({ o, now }) => planPreservation(o, now)),
  decides(creation),
  decides(({ o, now }) => planLateInitialization(o, now)),
];

function decide(o: MachineObservation, now: Date): Plan {
  let planned: Plan | undefined;
  const upkeep = () => {
    planned ??= planUpkeep(o, now);
    return planned;
  };
  const waits: Plan[] = [];
  for (const { plan: planOf, decides: isFinal } of CONCERNS) {
    const plan = planOf({ o, now, upkeep });
    if (plan === undefined) continue;
    if (isFinal) return waits.reduce(withWait, plan);
    if (plan.actions.length > 0) return plan;
    waits.push(plan);
  }
  return waits.reduce(withWait, upkeep());
}

function circuitBreaker({ o, now }: Look): Plan | undefined {
  const report = o.frozen ? undefined : reportHeld(o, now);
  return report && act('reporting whether the circuit breaker prevents the replacement of the machine', report);
}

function validationWarnings({ o: { warnings = [], warned = '' } }: Look): Plan | undefined {
  if (warnings.join('; ') === warned) return undefined;
  return act('reporting the invalid settings of the machine', { do: 'warn', warnings });
}

function metadataDrift({ o: { node, drift = [], reportedDrift = '' } }: Look): Plan | undefined {
  const keys = drift.join(', ');
  if (keys === reportedDrift || !node) return undefined;
  if (keys === '') return act('the metadata of the Node has no drift', { do: 'reportDrift', drift: keys });
  const message = `Another client changed ${keys} of Node ${node.metadata.name}, and mcm keeps the changes (drift policy Warn). Correct the Node or the node template.`;
  const event = { type: 'Warning', reason: 'NodeMetadataDrift', message } as const;
  return act('reporting the drift of the metadata of the Node', { do: 'reportDrift', drift: keys, event });
}

function deletion({ o, now }: Look): Plan | undefined {
  return o.machine.metadata.deletionTimestamp ? planDeletion(o, now) : undefined;
}

function freeze({ o }: Look): Plan | undefined {
  if (!o.frozen) return undefined;
  const plan = wait('API servers were unreachable: health checks are paused until the servers respond');
  // An outage must not cause a status write for each machine, so a healthy machine does not report the freeze.
  const phase = o.machine.status?.currentStatus?.phase;
  return phase === 'Running' || phase === 'Available' ? plan : { ...plan, blockedBy: [frozenBlock] };
}

/** Without the finalizer of mcm, the deletion of a Machine could leave an orphaned VM. */
function finalizer({ o: { machine } }: Look): Plan | undefined {
  if (machine.metadata.finalizers?.includes(Finalizers.MachineControllerManager)) return undefined;
  return act('the machine has no finalizer', { do: 'addFinalizer' });
}

function nodesUnseen({ o, now }: Look): Plan | undefined {
  return o.nodesUnseen === undefined ? undefined : withoutNodes(o, o.nodesUnseen, now);
}

function nodeDeletion({ o }: Look): Plan | undefined {
  const wasDeleted = o.nodeWasDeleted && powerOf(o.machine) === undefined;
  if (!o.machine.metadata.labels?.node || !(wasDeleted || isOwnNodeDeleting(o))) return undefined;
  return { actions: [{ do: 'deleteMachine' }], next: { kind: 'wait' }, because: 'the Node is being deleted' };
}

function bootstrapToken({ o, now }: Look): Plan | undefined {
  const token = planToken(o, now);
  return token && act('the bootstrap token would expire before the creation timeout', token);
}

function nodeAndHealth({ upkeep }: Look): Plan | undefined {
  return upkeep().actions.length > 0 ? upkeep() : undefined;
}

function creation({ o, now }: Look): Plan | undefined {
  return isBeingCreated(o) ? planCreation(o, now) : undefined;
}

/** While mcm cannot read Nodes, it creates VMs, but does not know whether a machine has joined. */
function withoutNodes(o: MachineObservation, unseen: string, now: Date): Plan {
  const token = planToken(o, now);
  if (token) return act('the bootstrap token would expire before the creation timeout', token);
  const plan = isBeingCreated(o) ? planCreation(o, now) : planLateInitialization(o, now);
  return plan ?? wait(`cannot read the Node: ${unseen}`);
}

function withWait(decided: Plan, other: Plan): Plan {
  if (decided.next.kind === 'continue') return decided;
  const blockedBy = [...(decided.blockedBy ?? []), ...(other.blockedBy ?? [])];
  const plan = blockedBy.length > 0 ? { ...decided, blockedBy } : decided;
  if (other.next.kind !== 'waitUntil') return plan;
  const own = plan.next.kind === 'waitUntil' ? plan.next.instant : undefined;
  return {
    ...plan,
    next: nextAt(own, other.next.instant),
    ...withoutUndefined({ budgets: other.budgets ? [...(plan.budgets ?? []), ...other.budgets] : undefined }),
  };
}

const isOwnNodeDeleting = ({ machine, node }: MachineObservation): boolean =>
  node?.metadata.deletionTimestamp !== undefined && isNodeOf(machine, node);

function planToken({ machine, hasTarget, asksForToken, tokenLivesUntil, settings }: MachineObservation, now: Date) {
  if (!hasTarget || !asksForToken || machine.status?.currentStatus?.phase !== 'Pending') return undefined;
  const until = joinDeadline(machine, settings);
  if (until <= now || (tokenLivesUntil && tokenLivesUntil >= until)) return undefined;
  return { do: 'extendToken', until } as const;
}

function planUpkeep(o: MachineObservation, now: Date): Plan {
  const { machine, node } = o;
  if (!o.hasTarget || !machine.metadata.labels?.node || !machine.status?.currentStatus?.phase)
    return wait('no node yet');
  const health = planHealth(o, now);
  const patch = node && isNodeOf(machine, node) ? planNodeSync(machine, o.machineClass, node) : undefined;
  const actions: Action[] = [];
  if (patch) actions.push({ do: 'syncNode', patch });
  // mcm deletes the bootstrap token before the phase becomes Running, because no later step deletes the token.
  if (health.joined && o.asksForToken) actions.push({ do: 'deleteToken' });
  if (health.ask) actions.push({ do: 'call', call: 'status' });
  if (health.read) actions.push({ do: 'readNode' });
  if (health.status) {
    const { status, event, writes } = health;
    actions.push(defined({ do: 'writeStatus', status, event, writes }));
  }
  return {
    actions,
    next: actions.length > 0 ? { kind: 'continue' } : nextAt(health.deadline),
    because: health.because,
    ...withoutUndefined({ blockedBy: health.blockedBy }),
  };
}
