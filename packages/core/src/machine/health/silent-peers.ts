import type { Machine } from '@mcm/api';
import type { OpenBreaker } from '../../disruption/silence.ts';
import type { MachineDefaults } from '../../settings/settings.ts';
import { healthDeadline } from '../../values/timestamps.ts';
import type { CallMemory, SettledCall } from '../model/observation.ts';
import { LOOKUP_RETRY, retryAfter } from '../model/retry.ts';

/** What the cloud's answer about a silent machine's VM means in a cluster with too few machines for a breaker. */
export type Confirmation =
  /** Its VM is there and all its peers are silent too: the network is the likely cause, and the machine is held back. */
  | { readonly held: OpenBreaker; readonly answer: string }
  /** The cloud is to be asked. */
  | { readonly ask: true }
  /** The answer is under way or is asked for again then. */
  | { readonly waitUntil: Date | undefined }
  /** The machine is replaced. `answer` is a sentence about its VM; absent: the driver cannot look it up. */
  | { readonly replace: true; readonly answer?: string };

/** Everything that {@link confirm} looks at. */
export interface ConfirmationInput {
  readonly machine: Machine;
  readonly settings: Pick<MachineDefaults, 'healthTimeoutMs'>;
  readonly calls: CallMemory;
  /** Whether the driver can look a VM up. */
  readonly canAsk: boolean;
  /** That each machine of the cluster is silent; absent: another one is heard of, or there is no other one. */
  readonly peers?: OpenBreaker;
}

/**
 * One call answers for as long as the machine stays silent. With silent peers, a cloud that gives no answer is asked for
 * one more health timeout, so that a silent machine is replaced at last. Without them the machine alone is the likely
 * cause: it is replaced whatever the cloud says, as nothing else would ever heal it.
 */
export function confirm({ machine, settings, calls, canAsk, peers }: ConfirmationInput, now: Date): Confirmation {
  if (!canAsk) return { replace: true };
  const due = healthDeadline(machine, settings);
  if (calls.running && !calls.running.overdue) return { waitUntil: undefined };
  const last = calls.running?.overdue ?? calls.last;
  if (last?.kind !== 'status' || last.at < due) return calls.running ? { replace: true } : { ask: true };
  const { vm, answer } = toldBy(last);
  if (vm === 'there' && peers) return { held: peers, answer };
  if (vm !== 'unknown' || !peers || last.outcome.ok) return { replace: true, answer };
  const { error } = last.outcome;
  const giveUpAt = new Date(due.getTime() + settings.healthTimeoutMs);
  if (error.code === 'Unimplemented' || now >= giveUpAt) return { replace: true, answer };
  const retryAt = new Date(last.at.getTime() + retryAfter(LOOKUP_RETRY[error.code], error, last.failures));
  if (calls.running || now < retryAt) return { waitUntil: retryAt < giveUpAt && !calls.running ? retryAt : giveUpAt };
  return { ask: true };
}

/** What a look-up says about the VM, also as a sentence. */
function toldBy({ outcome }: SettledCall): { readonly vm: 'there' | 'gone' | 'unknown'; readonly answer: string } {
  if (outcome.ok) {
    const { ending } = outcome;
    if (ending === undefined) return { vm: 'there', answer: THERE };
    return { vm: 'gone', answer: `The cloud says that its VM is ${ending}.` };
  }
  const { code } = outcome.error;
  if (code === 'Uninitialized') return { vm: 'there', answer: THERE };
  if (code === 'NotFound') return { vm: 'gone', answer: 'The cloud says that its VM is gone.' };
  return { vm: 'unknown', answer: `The cloud did not say whether its VM is there: ${code}.` };
}

const THERE = 'The cloud says that its VM is there.';
