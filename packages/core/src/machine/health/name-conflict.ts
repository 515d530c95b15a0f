import { isReady, type Node } from '@mcm/kube';
import { isInstance } from '../../node/instance.ts';
import { after, millis } from '../../values/timestamps.ts';
import type { MachineObservation, SettledCall } from '../model/observation.ts';
import { act, type Plan, wait } from '../model/plan.ts';
import { CREATE_RETRY, retryAfter } from '../model/retry.ts';

/**
 * A new Node stays for this time if its VM is unknown, or if an earlier Node of the name was deleted. If mcm deleted the
 * Node at once, a running kubelet would register it again.
 */
const LET_BE_MS = 60_000;

/**
 * Handles a Node that has the name of the machine's Node but the ID of another VM, which no machine has. There are four
 * cases:
 *
 * - A Node that is older than the machine is stale, although the kubelet of the machine's VM may report on it.
 * - A Node whose kubelet does not report is stale too.
 * - A newer Node that is Ready may be the machine's own Node, if a user edited the machine's provider ID.
 * - A newer Node may also come from a deleted VM whose `create` call had no answer. The kubelet of the machine's VM then
 *   uses this Node, so the machine would never join.
 *
 * One lookup in the cloud for each Node distinguishes the last two cases, because the lookup returns the VM of the machine.
 * Before the join, the lookup runs at once, because the VM may still boot. A kubelet without a Node registers one. A
 * kubelet that already uses a Node does not register again after the Node is deleted.
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

/** Looks up the VM of a machine that has not joined yet, to decide whether the Node is stale. */
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
