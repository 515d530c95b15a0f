import { isReady, type Node } from '@mcm/kube';
import { isInstance } from '../../node/instance.ts';
import { after, millis } from '../../values/timestamps.ts';
import type { MachineObservation, SettledCall } from '../model/observation.ts';
import { act, type Plan, wait } from '../model/plan.ts';
import { CREATE_RETRY, retryAfter } from '../model/retry.ts';

/** mcm deletes a Node with an unknown VM only after this time, or after a lookup of the VM. */
const LET_BE_MS = 60_000;

/**
 * The time between two lookups of the VM. mcm repeats the lookup, because the clocks of mcm and the API server may
 * differ.
 */
const LOOKUP_MS = 30_000;

/**
 * Handles a Node that has the name of the machine's Node but the provider ID of an unknown VM. The plan for a name
 * conflict depends on the age and the conditions of the Node:
 * - A Node that is older than the machine is stale.
 * - A Node is stale if its kubelet sends no reports.
 * - A newer Ready Node may belong to the machine, if a user edited the provider ID of the machine.
 * - A newer Ready Node may come from a deleted VM whose `create` call returned no response.
 *
 * A lookup of the VM in the cloud distinguishes the two cases of a newer Ready Node.
 * @returns undefined if there is no name conflict
 */
export function planNameConflict(o: MachineObservation, now: Date): Plan | undefined {
  const { conflictingNode, machine } = o;
  if (!conflictingNode || conflictingNode.metadata.deletionTimestamp) return undefined;
  const older = conflictingNode.metadata.creationTimestamp < machine.metadata.creationTimestamp;
  if (older) return leftOver;
  const due = after(conflictingNode.metadata.creationTimestamp, LET_BE_MS);
  if (now < due) {
    const asked = o.conflictCameBack || !isJoining(o) ? undefined : planReported(o, conflictingNode, now);
    return asked ?? wait('another VM has a Node with the name of the machine', due);
  }
  if (!isReady(conflictingNode)) return leftOver;
  return isJoining(o) ? planReported(o, conflictingNode, now) : undefined;
}

const isJoining = ({ machine }: MachineObservation): boolean => machine.status?.currentStatus?.phase === 'Pending';

const leftOver: Plan = act('an earlier VM has a stale Node with the name of the machine', { do: 'deleteStaleNode' });

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
  if (last?.kind !== 'status') return act('looking up the VM of the machine', { do: 'call', call: 'status' });
  if (last.outcome.ok) {
    const again = new Date(last.at.getTime() + LOOKUP_MS);
    if (now < again)
      return wait('the last lookup of the VM is older than the Node with the name of the machine', again);
    return act('looking up the VM of the machine', { do: 'call', call: 'status' });
  }
  const { error } = last.outcome;
  const retryAt = new Date(last.at.getTime() + retryAfter(CREATE_RETRY[error.code], error, last.failures));
  if (now < retryAt) return wait('the cloud did not return the VM of the machine', retryAt);
  return act('looking up the VM of the machine', { do: 'call', call: 'status' });
}

const vmOf = ({ outcome }: SettledCall): string | undefined => (outcome.ok ? outcome.instance?.providerId : undefined);
