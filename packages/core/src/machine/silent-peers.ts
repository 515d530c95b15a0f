import type { Machine } from '@mcm/api';
import type { OpenBreaker } from '../disruption/silence.ts';
import type { CallMemory } from './observation.ts';
import { LOOKUP_RETRY, retryAfter } from './retry.ts';
import type { MachineDefaults } from './settings.ts';
import { healthDeadline } from './timestamps.ts';

/** What the cloud's answer about a machine's VM means while all machines of its small cluster are silent. */
export type Confirmation =
  /** Its VM is there: the network is the likely cause, and the machine is held back. */
  | { readonly held: OpenBreaker }
  /** The cloud is to be asked. */
  | { readonly ask: true }
  /** The answer is under way or is asked for again then. */
  | { readonly waitUntil: Date | undefined }
  /** The VM is gone, or nobody can tell: the machine is replaced. */
  | { readonly replace: true };

/** Everything that {@link confirm} looks at. */
export interface ConfirmationInput {
  readonly machine: Machine;
  readonly settings: Pick<MachineDefaults, 'healthTimeoutMs'>;
  readonly calls: CallMemory;
  /** Whether the driver can look a VM up. */
  readonly canAsk: boolean;
  readonly peers: OpenBreaker;
}

/**
 * One call answers for as long as the machine stays silent. A cloud that gives no answer is asked for one more health
 * timeout, so that a silent machine is replaced at last.
 */
export function confirm({ machine, settings, calls, canAsk, peers }: ConfirmationInput, now: Date): Confirmation {
  const due = healthDeadline(machine, settings);
  if (!canAsk) return { replace: true };
  if (calls.running) return { waitUntil: undefined };
  const { last } = calls;
  if (last?.kind !== 'status' || last.at < due) return { ask: true };
  if (last.outcome.ok || last.outcome.error.code === 'Uninitialized') return { held: peers };
  const { error } = last.outcome;
  const giveUpAt = new Date(due.getTime() + settings.healthTimeoutMs);
  if (error.code === 'NotFound' || error.code === 'Unimplemented' || now >= giveUpAt) return { replace: true };
  const retryAt = new Date(last.at.getTime() + retryAfter(LOOKUP_RETRY[error.code], error, last.failures));
  return now < retryAt ? { waitUntil: retryAt < giveUpAt ? retryAt : giveUpAt } : { ask: true };
}
