import { Annotations, counted, Finalizers, isForceDeletion, printMachineError, TRUE } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { breakerBlock } from '../../blocked/causes.ts';
import { type DrainPlan, isWithoutRules, planDrain } from '../../drain/drain.ts';
import type { DrainObservation } from '../../drain/model/observation.ts';
import { verdictOf } from '../../drain/model/pod-filters.ts';
import type { MachineError } from '../../driver/contract/errors.ts';
import { isOutOfService } from '../../node/taints.ts';
import { isHealthy } from '../../settings/conditions.ts';
import { listed } from '../../values/texts.ts';
import { millis } from '../../values/timestamps.ts';
import { lastCallWasNotSent, lastCallWasRefused, wasNeverCreated } from '../creation/never-created.ts';
import { planUncreated } from '../creation/protection.ts';
import { planHooks, withEvent } from '../hooks/hooks.ts';
import { planSuccessor } from '../interruption/interruption.ts';
import { drainBlocks } from '../model/blocked-by.ts';
import { heldBecause, isHeld } from '../model/breaker.ts';
import { repeatAfter } from '../model/damping.ts';
import type { FailedCall, MachineObservation, RunningCall, SettledCall } from '../model/observation.ts';
import { act, nextAt, type Plan, wait } from '../model/plan.ts';
import { planPods } from '../model/pod-actions.ts';
import { type Backoff, DELETE_RETRY, isTransient, LOOKUP_RETRY, retryAfter } from '../model/retry.ts';
import { hasReached, withOperation, withPhase } from '../model/status.ts';
import { at, operation, say } from './deletion-status.ts';
import { describeDrain, evicting } from './describe-drain.ts';
import { blockerEvents } from './drain-events.ts';
import { isVmKept, planKeeping } from './keep-vm.ts';

const ANNOUNCED_AFTER_MS = 3_000;
/**
 * The delay before mcm deletes a VolumeAttachment again. Kubernetes creates a deleted VolumeAttachment again while the
 * pod is still bound to the Node.
 */
const REATTACHED_MS = 30_000;

/** A retry of `initialize` or `status` would return these errors again, so the deletion continues without a retry. */
const GO_ON: ReadonlySet<string> = new Set(['NotFound', 'Unimplemented', 'Uninitialized']);

/**
 * Plans the deletion of a machine. The description in the status ends with the name of a step that the original knows.
 * The original can continue a deletion that mcm began, and vice versa. Source: machine-controller-manager,
 * pkg/util/provider/machinecontroller, triggerDeletionFlow.
 */
export function planDeletion(o: MachineObservation, now: Date): Plan {
  const plan = planNext(o, now);
  const [report] = plan.actions;
  if (report?.do !== 'writeStatus' || report.reports === undefined) return plan;
  const until = repeatAfter(o.reported, report.reports, now);
  return until === undefined
    ? plan
    : {
        actions: [],
        next: nextAt(until),
        because: `another process overwrites the status of the machine: ${plan.because}`,
      };
}

function planNext(o: MachineObservation, now: Date): Plan {
  const { machine, calls } = o;
  if (!machine.metadata.finalizers?.includes(Finalizers.MachineControllerManager))
    return wait('the finalizer of mcm is missing');
  if (calls.running?.overdue) return planOverdue(o, calls.running.overdue);
  if (calls.running && calls.running.kind !== 'delete' && calls.running.kind !== 'status') {
    return planDuringCall(o, calls.running, now);
  }
  const held = planHeld(o, now) ?? planUncreated(o);
  if (held) return held;
  if (machine.status?.currentStatus?.phase !== 'Terminating') return begin(o, now);
  return (
    planUnseen(o, now) ??
    planLookup(o, now) ??
    planDrainHooks(o, now) ??
    planNodeDrain(o, now) ??
    planVm(o, now) ??
    planVolumes(o, now) ??
    planEnd(o)
  );
}

/**
 * A Failed machine may only be unreachable, so its deletion pauses while the circuit breaker is open (incident 13). The
 * circuit breaker does not pause a forced deletion, or a deletion in which mcm has started to delete the VM.
 */
function planHeld(o: MachineObservation, now: Date): Plan | undefined {
  const { machine, breaker, deletedForHealth } = o;
  if (!breaker || !deletedForHealth || !isHeld(o, now) || isForceDeletion(machine)) return undefined;
  if (hasReached(machine.status, 'deleteVm') || o.calls.last?.kind === 'delete') return undefined;
  const begun = machine.status?.currentStatus?.phase === 'Terminating';
  const step = stepOfDrain(o);
  const note = `Waiting: too many machines of the ${breaker.scope} are unreachable.`;
  return {
    actions: begun ? say(o, operation(at(step, note)), now) : [],
    next: nextAt(breaker.lookAgainAt),
    because: heldBecause(breaker),
    blockedBy: [breakerBlock(breaker.scope)],
  };
}

/** A user waits for the deletion, so the status mentions a long driver call. */
function planDuringCall(o: MachineObservation, { kind, since }: RunningCall, now: Date): Plan {
  const because = `the driver's ${kind} call is in progress and may still create a VM`;
  const announceAt = new Date(since.getTime() + ANNOUNCED_AFTER_MS);
  if (now < announceAt) return wait(because, announceAt);
  return {
    actions: say(o, operation(at('getVmStatus', `Waiting: ${because}.`)), now),
    next: { kind: 'wait' },
    because,
  };
}

/**
 * While a driver call runs beyond its deadline, no second driver call starts, because the first call can still change
 * the VM.
 */
function planOverdue(o: MachineObservation, { kind, at: since, outcome }: FailedCall): Plan {
  const because = `the driver's ${kind} call does not end`;
  const step = kind === 'delete' ? 'deleteVm' : 'getVmStatus';
  const text = `The deletion waits for the driver to end its ${kind} call - ${printMachineError(outcome.error)}.`;
  const said = say(o, operation(at(step, text), 'Failed'), since);
  return said.length > 0 ? act(because, ...said) : wait(because);
}

/**
 * Starts the deletion of a machine. Before the phase changes, mcm records in an annotation that the machine was Failed.
 */
function begin(o: MachineObservation, now: Date): Plan {
  if (o.deletedForHealth && o.machine.metadata.annotations?.[Annotations.DeletedForHealth] !== TRUE) {
    const annotations = { [Annotations.DeletedForHealth]: TRUE };
    return act('deleting the Failed machine', { do: 'annotate', annotations });
  }
  const going = o.drain ? planDrain(o.drain, now) : undefined;
  const pods = going ? [...going.evict, ...going.remove, ...going.leaving] : [];
  const description = pods.length > 0 ? evicting(pods) : at('getVmStatus');
  const status = withPhase(o.machine.status, { phase: 'Terminating' }, operation(description), now);
  return act('a user or controller deleted the Machine', { do: 'writeStatus', status });
}

/** The pods on the VM are unknown while mcm cannot read the Node, so the deletion waits. */
function planUnseen(o: MachineObservation, now: Date): Plan | undefined {
  const { machine, calls, nodesUnseen } = o;
  if (nodesUnseen === undefined || isForceDeletion(machine)) return undefined;
  if (hasReached(machine.status, 'deleteVolumeAttachments')) return undefined;
  if (calls.running?.kind === 'delete' || calls.last?.kind === 'delete') return undefined;
  if (!machine.spec.providerID && machine.metadata.labels?.node === undefined) return undefined;
  const because = `the pods of the node cannot be read: ${nodesUnseen}`;
  const step = stepOfDrain(o);
  const text = `Drain failed due to - ${because}. Will retry in next sync.`;
  return { actions: say(o, operation(at(step, text), 'Failed'), now), next: { kind: 'wait' }, because };
}

/** The drain needs the name of the Node to find the pods of the machine. */
function planLookup(o: MachineObservation, now: Date): Plan | undefined {
  const { machine, calls } = o;
  if (
    !o.hasTarget ||
    machine.metadata.labels?.node !== undefined ||
    hasReached(machine.status, 'deleteVolumeAttachments')
  ) {
    return undefined;
  }
  if (o.node) return act('the Node refers to the machine', { do: 'labelNode', nodeName: o.node.metadata.name });
  if (!o.driver.status || hasReached(machine.status, 'drain')) return undefined;
  if (calls.running?.kind === 'status') return planDuringLookup(o, calls.running, now);
  if (calls.running) return undefined;
  if (calls.last?.kind === 'delete') return undefined;
  if (calls.last?.kind !== 'status') return act('looking up the Node of the machine', { do: 'call', call: 'status' });
  const { outcome } = calls.last;
  if (outcome.ok) {
    const nodeName = outcome.instance?.nodeName;
    return nodeName ? act('the cloud returned the name of the Node', { do: 'labelNode', nodeName }) : undefined;
  }
  if (GO_ON.has(outcome.error.code) || endsWithoutClass(o)) return undefined;
  const { error } = outcome;
  const unknown = error.credentialsRefused && !machine.spec.providerID ? `${UNKNOWN_VM} ` : '';
  return planRetry(o, calls.last, error, LOOKUP_RETRY[error.code], `${unknown}${lookupFailed(error)}`, now);
}

function planDuringLookup(o: MachineObservation, { since }: RunningCall, now: Date): Plan {
  const because = "the driver's status call, which returns the name of the Node, is in progress";
  const announceAt = new Date(since.getTime() + ANNOUNCED_AFTER_MS);
  if (now < announceAt) return wait(because, announceAt);
  return {
    actions: say(o, operation(at('getVmStatus', `Waiting: ${because}.`)), now),
    next: { kind: 'wait' },
    because,
  };
}

const endsWithoutClass = (o: MachineObservation): boolean =>
  (lastCallWasNotSent(o) || lastCallWasRefused(o)) &&
  (wasNeverCreated(o) || (isForceDeletion(o.machine) && !o.machine.spec.providerID));

const UNKNOWN_VM =
  'mcm cannot determine whether the machine has a VM. Correct the class or Secret, or set the label force-deletion=true.';

function lookupFailed(error: MachineError): string {
  if (error.unsent) return at('getVmStatus', `${UNKNOWN_VM} machine code: ${printMachineError(error)}`);
  const text = 'Error occurred with decoding machine error status while getting VM status, aborting';
  return isTransient(error.code)
    ? at('getVmStatus', `${text} with retry.`)
    : at('getVmStatus', `${text} without retry. machine code: ${printMachineError(error)}`);
}

function planRetry(
  o: MachineObservation,
  last: SettledCall,
  error: MachineError,
  backoff: Backoff,
  description: string,
  now: Date,
): Plan {
  const said = say(o, operation(description, 'Failed'), last.at);
  if (said.length > 0) return act(description, ...said);
  const retryAt = new Date(last.at.getTime() + retryAfter(backoff, error, last.failures));
  if (last.inputs === o.inputs && now < retryAt) return wait(description, retryAt);
  return act('try again', { do: 'call', call: last.kind });
}

const stepOfDrain = ({ machine }: MachineObservation): 'drain' | 'getVmStatus' =>
  hasReached(machine.status, 'drain') ? 'drain' : 'getVmStatus';

/** A hook that a user adds during the drain pauses the drain. */
function planDrainHooks(o: MachineObservation, now: Date): Plan | undefined {
  if (!o.hasTarget || !o.node || hasReached(o.machine.status, 'deleteVolumeAttachments')) return undefined;
  const step = stepOfDrain(o);
  return planHooks(o, 'before-drain', now, (because, event) =>
    withEvent(say(o, operation(at(step, `${capitalized(because)}.`)), now), event),
  );
}

/** The VM of a machine without a Node may still register its Node, so the status stays at an earlier step. */
function planDeleteHooks(o: MachineObservation, now: Date): Plan | undefined {
  if (wasNeverCreated(o)) return undefined;
  const step = o.hasTarget && !o.node ? stepOfDrain(o) : 'deleteVm';
  return planHooks(o, 'before-delete', now, (because, event) =>
    withEvent(say(o, operation(at(step, `${capitalized(because)}.`)), now), event),
  );
}

const capitalized = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

function planNodeDrain(o: MachineObservation, now: Date): Plan | undefined {
  if (!o.hasTarget || !o.node || !o.drain || hasReached(o.machine.status, 'deleteVolumeAttachments')) return undefined;
  const drain = planDrain(o.drain, now);
  const terminating = o.node.status?.conditions?.some(({ type }) => type === 'Terminating');
  const skip = drain.forced && o.drain.memory.cordonFailed;
  if (!skip && !isWithoutRules(o.drain) && (!o.node.spec.unschedulable || !terminating)) {
    const { forced: tolerant } = drain;
    return act('cordoning the Node', {
      do: 'cordon',
      reason: terminationReason(o),
      tolerant,
      release: isEmpty(o.node, o.drain),
    });
  }
  const awaited = planSuccessor(o, now);
  if (awaited && !drain.forced) {
    const step = stepOfDrain(o);
    return { ...awaited, actions: say(o, operation(at(step, `Waiting: ${awaited.because}.`)), now) };
  }
  if (drain.undrained && o.machine.metadata.annotations?.[Annotations.Undrained] !== drain.undrained) {
    const annotations = { [Annotations.Undrained]: drain.undrained };
    return act('the drain timeout expired, and the undrainable policy keeps the VM', { do: 'annotate', annotations });
  }
  const pods = planPods(o, drain, 'evicting the pods that can be evicted now', now);
  if (pods) return pods;
  const news = blockerEvents(o.drain, drain);
  if (drain.drained) return news.length > 0 ? act('the drain ended while volumes were attached', ...news) : undefined;
  const reported = describeDrain(o, o.drain, drain, now);
  return {
    actions: [...reported.actions, ...news],
    next: nextAt(drain.lookAgainAt, reported.at),
    because: becauseOf(drain),
    blockedBy: drainBlocks(drain, o.node.metadata.name),
    budgets: drain.blockers.flatMap(({ budgets = [] }) => budgets),
  };
}

/**
 * Returns true if the write that cordons the Node may remove the finalizer of mcm, because the Node is empty.
 * - The finalizer keeps the Node until its pods are evicted and its volumes are detached. When a Node is deleted,
 *   Kubernetes deletes its pods and ignores their disruption budgets.
 * - The drain still evicts a pod that was bound to the Node before the cordon.
 * - Without the finalizer, the kubelet on the running VM could register a deleted Node again.
 */
const isEmpty = (node: Node, drain: DrainObservation): boolean =>
  drain.unseen === undefined &&
  !node.metadata.deletionTimestamp &&
  !node.status?.volumesAttached?.length &&
  drain.attachments.length === 0 &&
  drain.pods.every((pod) => verdictOf(pod).pod === 'stay');

const becauseOf = ({ blockers, leaving, awaitsWatch }: DrainPlan): string =>
  awaitsWatch
    ? 'the pod cache is empty, but the watch of pods is interrupted'
    : (blockers[0]?.text ?? `${counted(leaving.length, 'pod')} ${leaving.length === 1 ? 'is' : 'are'} terminating`);

/**
 * Returns the reason of the deletion for the condition of the Node (O-5). A Failed machine counts as unhealthy even if
 * its Node is Ready, because its in-place update may have failed.
 */
function terminationReason(o: MachineObservation): 'ScaleDown' | 'Unhealthy' {
  if (o.deletedForHealth) return 'Unhealthy';
  return isHealthy(o.machine.status?.conditions ?? [], o.settings.unhealthyConditionTypes) ? 'ScaleDown' : 'Unhealthy';
}

function planVm(o: MachineObservation, now: Date): Plan | undefined {
  const { calls, machine } = o;
  if (hasReached(machine.status, 'deleteNode')) return undefined;
  if (calls.running) {
    if (calls.running.kind !== 'delete') return wait(`the driver's ${calls.running.kind} call is in progress`);
    const announceAt = new Date(calls.running.since.getTime() + ANNOUNCED_AFTER_MS);
    const isReported = hasReached(machine.status, 'deleteVm') || calls.last?.kind === 'delete';
    if (now < announceAt || isReported)
      return wait('the VM is being deleted', now < announceAt ? announceAt : undefined);
    return {
      actions: say(o, operation(at('deleteVm', vmNote(o))), now),
      next: { kind: 'wait' },
      because: 'the VM is being deleted',
    };
  }
  const { last } = calls;
  if (last?.kind !== 'delete')
    return planDeleteHooks(o, now) ?? planKeeping(o, now) ?? act('the node is empty', { do: 'call', call: 'delete' });
  if (last.outcome.ok || last.outcome.error.code === 'NotFound') return undefined;
  const { error } = last.outcome;
  if (endsWithoutClass(o)) return wasNeverCreated(o) ? undefined : planForced(o, error, now);
  const description = isTransient(error.code)
    ? `VM deletion failed due to - ${printMachineError(error)}. However, will re-try in the next resync.`
    : `VM deletion failed due to - ${printMachineError(error)}. Aborting operation.`;
  // Until the next driver call, the VM may still register a Node that mcm must drain. The status therefore stays at the
  // earlier step.
  const step = o.hasTarget && !o.node ? stepOfDrain(o) : 'deleteVm';
  return planRetry(o, last, error, DELETE_RETRY[error.code], at(step, description), now);
}

function planForced(o: MachineObservation, error: MachineError, now: Date): Plan {
  const { name } = o.machine.metadata;
  const message = `mcm deletes machine ${name} because of force-deletion, but its VM may remain. The class is unusable: ${error.message}`;
  const status = withOperation(o.machine.status, operation(at('deleteNode', message)), now);
  const event = { type: 'Warning', reason: 'VMUnknown', message } as const;
  return act('the label force-deletion deletes the machine without its class', { do: 'writeStatus', status, event });
}

const vmNote = (o: MachineObservation): string =>
  !o.hasTarget
    ? 'Running without target cluster, skipping node drain and volume attachment deletion.'
    : o.machine.metadata.labels?.node
      ? 'Drain successful.'
      : 'Skipping drain as nodeName is not a valid one for machine.';

const reattachedUntil = (deletedAt: Date | undefined): Date => new Date((deletedAt?.getTime() ?? 0) + REATTACHED_MS);

/**
 * A deleted VM can no longer write to its volumes.
 *
 * With the taint `out-of-service`, Kubernetes detaches the volumes immediately instead of after six minutes. The
 * tainted Node must exist until the volumes are detached. The original detaches volumes while the VM still runs.
 */
function planVolumes(o: MachineObservation, now: Date): Plan | undefined {
  const { node, drain, calls, machine, settings } = o;
  if (!o.hasTarget || !node || !drain) return undefined;
  const attachments = drain.attachments.filter(({ inUse }) => !inUse);
  if (attachments.length === 0) return undefined;
  const goneAt = calls.last?.kind === 'delete' ? calls.last.at : millis(machine.status?.lastOperation?.lastUpdateTime);
  const until = new Date(goneAt.valueOf() + settings.volumeDetachTimeoutMs);
  if (now >= until) return undefined;
  if (!isOutOfService(node)) return act('volumes are still attached to the deleted VM', { do: 'markOutOfService' });
  const open = attachments.flatMap(({ name, uid, deleting }) => {
    const last = drain.memory.detachRequested?.get(name ?? '');
    return name && uid && !deleting && last?.uid !== uid ? [{ name, uid, from: reattachedUntil(last?.at) }] : [];
  });
  const asked = open.flatMap(({ name, uid, from }) => (from <= now ? [{ name, uid }] : []));
  if (asked.length > 0) return act('deleting the VolumeAttachments', { do: 'deleteAttachments', attachments: asked });
  const next = new Date(Math.min(until.getTime(), ...open.map(({ from }) => from.getTime())));
  const volumes = listed([...new Set(attachments.map(({ volume }) => volume))].sort());
  const note = `VM deletion was successful. Waiting: volumes are still attached: ${volumes}.`;
  return {
    actions: say(o, operation(at('deleteNode', note)), now),
    next: nextAt(next),
    because: note,
  };
}

/**
 * Plans the last steps after the deletion of the VM: mcm deletes the Node, and then the Machine. While a VM runs, its
 * kubelet registers a deleted Node again. The Node of a kept VM stays cordoned until the orphan collection deletes the
 * Node.
 */
function planEnd(o: MachineObservation): Plan {
  if (isVmKept(o.machine)) return act('mcm keeps the VM for an investigation', { do: 'removeFinalizer' });
  const held = o.node?.metadata.finalizers?.includes(Finalizers.Node);
  if (o.node && (held || !o.node.metadata.deletionTimestamp))
    return act('the VM no longer exists', { do: 'releaseNode' });
  return act('all resources of the machine are deleted', { do: 'removeFinalizer' });
}
