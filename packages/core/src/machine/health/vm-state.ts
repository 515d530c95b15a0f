import { Annotations } from '@mcm/api';
import { type VmState, vmStateText } from '../../disruption/vm-state.ts';
import { millis } from '../../values/timestamps.ts';
import type { MachineObservation, SettledCall } from '../model/observation.ts';
import { act, type Plan } from '../model/plan.ts';

/** While a circuit breaker is open, mcm looks up at most this number of VMs of one zone or cluster in one hour. */
const MOST = 20;
const HOUR_MS = 3_600_000;

/**
 * Selects the machines whose VMs are looked up, because lookups of all VMs would use up the rate limit of the cloud.
 */
export class VmSamples {
  readonly #takenAt = new Map<string, Map<string, number>>();

  takes(uid: string, scope: string, now: Date): boolean {
    const taken = this.#takenAt.get(scope) ?? new Map<string, number>();
    for (const [one, at] of taken) if (at + HOUR_MS <= now.getTime()) taken.delete(one);
    if (!taken.has(uid) && taken.size >= MOST) return false;
    if (!taken.has(uid)) taken.set(uid, now.getTime());
    this.#takenAt.set(scope, taken);
    return true;
  }
}

function stateIn({ outcome }: SettledCall): VmState {
  if (outcome.ok) return outcome.ending === undefined ? 'exists' : 'ended';
  if (outcome.error.code === 'Uninitialized') return 'exists';
  return outcome.error.code === 'NotFound' ? 'gone' : 'unknown';
}

export function planVmState(o: MachineObservation): Plan | undefined {
  const { machine, calls } = o;
  if (!o.looksUpVm || o.frozen || o.doubt || calls.running) return undefined;
  const { last } = calls;
  if (last?.kind !== 'status' || last.at.getTime() < millis(machine.status?.currentStatus?.lastUpdateTime))
    return act('many machines are unreachable: looking up the VM', { do: 'call', call: 'status' });
  const annotations = { [Annotations.VmState]: vmStateText(stateIn(last), last.at) };
  return act('recording the state of the VM', { do: 'annotate', annotations });
}
