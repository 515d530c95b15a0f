import { isReady, type Node } from '@mcm/kube';
import { isInstance } from '../../node/instance.ts';
import { after, millis } from '../../values/timestamps.ts';
import type { MachineObservation, SettledCall } from '../model/observation.ts';
import { act, type Plan, wait } from '../model/plan.ts';
import { CREATE_RETRY, retryAfter } from '../model/retry.ts';

/** A young Node stays this long if its VM is unknown or an earlier one was deleted. A running kubelet would register it again. */
const LET_BE_MS = 60_000;

/**
 * Handles a Node with the name of the machine's Node that belongs to another VM. No machine has that VM.
 *
 * - A Node that is older than the machine is a leftover, although the kubelet of the machine's VM may report on it.
 * - A Node without a reporting kubelet is a leftover too.
 * - A younger Node that is Ready may be the machine's own Node, if a user edited the machine's provider ID.
 * - Or a VM of a lost `create` call registered it and is gone. The kubelet of the machine's VM then uses that Node, and
 *   the machine would never join.
 *
 * The cloud distinguishes the last two cases: one lookup for each Node returns the VM of the machine. Before the join
 * the lookup runs at once, because the VM may still boot. A kubelet that finds no Node registers one. A kubelet that
 * already uses a Node does not register again after the Node is deleted.
 * @returns undefined without a conflict
 */
export function planNameConflict(o: MachineObservation, now: Date): Plan | undefined {
  const { conflictingNode, machine } = o;
  if (!conflictingNode || conflictingNode.metadata.deletionTimestamp) return undefined;
  const older = conflictingNode.metadata.creationTimestamp < machine.metadata.creationTimestamp;
  if (older) return leftOver;
  const due = after(conflictingNode.metadata.creationTimestamp, LET_BE_MS);
  if (now < due) {
    const asked = o.conflictCameBack || !isJoining(o) ? undefined : planReported(o, conflictingNode, now);
    return asked ?? wait('a Node with its name belongs to another VM', due);
  }
  if (!isReady(conflictingNode)) return leftOver;
  return isJoining(o) ? planReported(o, conflictingNode, now) : undefined;
}

const isJoining = ({ machine }: MachineObservation): boolean => machine.status?.currentStatus?.phase === 'Pending';

const leftOver: Plan = act('a stale Node of an earlier VM has its name', { do: 'deleteStaleNode' });

/** Looks up the VM of a machine that has not joined yet, to decide on the Node. */
function planReported(
  { calls, machine, driver }: MachineObservation,
  conflictingNode: Node,
  now: Date,
): Plan | undefined {
  const since = millis(conflictingNode.metadata.creationTimestamp);
  if (calls.running) return undefined;
  const { last } = calls;
  const reported = last && last.at.getTime() >= since ? vmOf(last) : undefined;
  if (reported !== undefined) return isInstance(reported, machine.spec.providerID) ? leftOver : undefined;
  if (!driver.status) return undefined;
  if (last?.kind !== 'status' || last.outcome.ok)
    return act('finding the VM of the machine', { do: 'call', call: 'status' });
  const { error } = last.outcome;
  const retryAt = new Date(last.at.getTime() + retryAfter(CREATE_RETRY[error.code], error, last.failures));
  if (now < retryAt) return wait('the cloud did not return the VM of the machine', retryAt);
  return act('finding the VM of the machine', { do: 'call', call: 'status' });
}

/** The provider ID in the driver's answer. */
const vmOf = ({ outcome }: SettledCall): string | undefined => (outcome.ok ? outcome.instance?.providerId : undefined);
