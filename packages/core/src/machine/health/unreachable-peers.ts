import type { Machine } from '@mcm/api';
import type { OpenBreaker } from '../../disruption/unreachable.ts';
import type { MachineDefaults } from '../../settings/settings.ts';
import { healthDeadline } from '../../values/timestamps.ts';
import type { CallMemory, SettledCall } from '../model/observation.ts';
import { LOOKUP_RETRY, retryAfter } from '../model/retry.ts';

/** The decision about an unreachable machine in a cluster that is too small for a circuit breaker. */
export type Confirmation =
  /** mcm does not replace the machine, because its VM exists and all machines of the cluster are unreachable. */
  | { readonly held: OpenBreaker; readonly answer: string }
  | { readonly ask: true }
  /** mcm waits for a running lookup of the VM, or until the next lookup at `waitUntil`. */
  | { readonly waitUntil: Date | undefined }
  /** mcm replaces the machine. If the cloud responded, `answer` is a sentence about the VM. */
  | { readonly replace: true; readonly answer?: string };

export interface ConfirmationInput {
  readonly machine: Machine;
  readonly settings: Pick<MachineDefaults, 'healthTimeoutMs'>;
  readonly calls: CallMemory;
  readonly canLookUp: boolean;
  /** All machines of the cluster, if it has several machines and all are unreachable. */
  readonly peers?: OpenBreaker;
}

/**
 * Decides whether mcm replaces an unreachable machine, based on a lookup of its VM in the cloud.
 * - If all machines are unreachable and the cloud does not respond, mcm waits for one more health timeout.
 * - If other machines are reachable, mcm replaces the machine after any result of the lookup.
 */
export function confirm({ machine, settings, calls, canLookUp, peers }: ConfirmationInput, now: Date): Confirmation {
  if (!canLookUp) return { replace: true };
  const due = healthDeadline(machine, settings);
  if (calls.running && !calls.running.overdue) return { waitUntil: undefined };
  const last = calls.running?.overdue ?? calls.last;
  if (last?.kind !== 'status' || last.at < due) return calls.running ? { replace: true } : { ask: true };
  const { vm, answer } = reportOf(last);
  if (vm === 'there' && peers) return { held: peers, answer };
  if (vm !== 'unknown' || !peers || last.outcome.ok) return { replace: true, answer };
  const { error } = last.outcome;
  const giveUpAt = new Date(due.getTime() + settings.healthTimeoutMs);
  if (error.code === 'Unimplemented' || now >= giveUpAt) return { replace: true, answer };
  const retryAt = new Date(last.at.getTime() + retryAfter(LOOKUP_RETRY[error.code], error, last.failures));
  if (calls.running || now < retryAt) return { waitUntil: retryAt < giveUpAt && !calls.running ? retryAt : giveUpAt };
  return { ask: true };
}

function reportOf({ outcome }: SettledCall): { readonly vm: 'there' | 'gone' | 'unknown'; readonly answer: string } {
  if (outcome.ok) {
    const { ending } = outcome;
    if (ending === undefined) return { vm: 'there', answer: THERE };
    return { vm: 'gone', answer: `In the cloud, the VM of the machine is ${ending}.` };
  }
  const { code } = outcome.error;
  if (code === 'Uninitialized') return { vm: 'there', answer: THERE };
  if (code === 'NotFound') return { vm: 'gone', answer: 'In the cloud, the VM of the machine does not exist.' };
  return { vm: 'unknown', answer: `The cloud did not return the state of the VM of the machine: ${code}.` };
}

const THERE = 'In the cloud, the VM of the machine exists.';
