import { isReady, type Node } from '@mcm/kube';
import { isInstance } from '../../node/instance.ts';
import { after, millis } from '../../values/timestamps.ts';
import type { MachineObservation, SettledCall } from '../model/observation.ts';
import { act, type Plan, wait } from '../model/plan.ts';
import { CREATE_RETRY, retryAfter } from '../model/retry.ts';

/** So long a young Node is let be when the cloud does not tell whose it is, or one was deleted before: a living kubelet of another VM registers it again. */
const LET_BE_MS = 60_000;

/**
 * What to do about a Node under the machine's name for its own that is of another VM, one that no machine has.
 *
 * An older Node than the machine is no work of the machine's VM, although that VM's kubelet may report on it under the
 * shared name; nor is one on which nobody reports. A younger one that is Ready may be the machine's true Node, and it is
 * the machine's provider id that somebody edited. Or it was registered by a VM that came of a call whose answer was lost
 * and that went before anybody knew of it: the kubelet of the machine's VM found it and goes on with it, and the machine
 * would never join. The cloud tells the two apart: it is asked once for each such Node which VM the machine has. That is
 * done at once while the machine has not joined: its VM may still boot, and a kubelet that finds no Node registers one,
 * whereas one that took on a Node which is then deleted does not register again.
 * Absent: nothing is to be done about it.
 */
export function planSquatter(o: MachineObservation, now: Date): Plan | undefined {
  const { squatter, machine } = o;
  if (!squatter || squatter.metadata.deletionTimestamp) return undefined;
  const older = squatter.metadata.creationTimestamp < machine.metadata.creationTimestamp;
  if (older) return leftOver;
  const due = after(squatter.metadata.creationTimestamp, LET_BE_MS);
  if (now < due) {
    const asked = o.squatterCameBack || !isJoining(o) ? undefined : planReported(o, squatter, now);
    return asked ?? wait('a Node of another VM bears its name', due);
  }
  if (!isReady(squatter)) return leftOver;
  return isJoining(o) ? planReported(o, squatter, now) : undefined;
}

const isJoining = ({ machine }: MachineObservation): boolean => machine.status?.currentStatus?.phase === 'Pending';

const leftOver: Plan = act('a Node left over from an earlier VM bears its name', { do: 'deleteStaleNode' });

/** Of a machine that has not joined yet. */
function planReported({ calls, machine, driver }: MachineObservation, squatter: Node, now: Date): Plan | undefined {
  const since = millis(squatter.metadata.creationTimestamp);
  if (calls.running) return undefined;
  const { last } = calls;
  const told = last && last.at.getTime() >= since ? vmOf(last) : undefined;
  if (told !== undefined) return isInstance(told, machine.spec.providerID) ? leftOver : undefined;
  if (!driver.status) return undefined;
  if (last?.kind !== 'status' || last.outcome.ok) return act('which VM is its own?', { do: 'call', call: 'status' });
  const { error } = last.outcome;
  const retryAt = new Date(last.at.getTime() + retryAfter(CREATE_RETRY[error.code], error, last.failures));
  if (now < retryAt) return wait('the cloud does not tell which VM is its own', retryAt);
  return act('which VM is its own?', { do: 'call', call: 'status' });
}

/** The VM that the cloud named. */
const vmOf = ({ outcome }: SettledCall): string | undefined => (outcome.ok ? outcome.instance?.providerId : undefined);
