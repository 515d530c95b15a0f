import type { Machine } from '@mcm/api';
import type { InterruptionNotice } from '../driver/contract/driver.ts';
import { millis } from '../values/timestamps.ts';
import { powerOf } from '../warm/warm-machine.ts';
import { type Interruption, interruptionIn, interruptionOf, isOnlyReported } from './notice.ts';

export type Verdict =
  | { readonly do: 'record'; readonly interruption: Interruption }
  | { readonly do: 'report' }
  /** `confirm`: mcm records the interruption only if a lookup in the cloud shows that the VM has ended. */
  | { readonly do: 'confirm'; readonly interruption: Interruption }
  | { readonly do: 'wait' }
  | { readonly do: 'drop'; readonly because: 'unknown' | 'duplicate' | 'stale' | 'invalid' };

/** mcm keeps a notice about an unknown VM for at least this time, because the cache of Machines may be outdated. */
const UNKNOWN_VM_MS = 120_000;

const drop = (because: Extract<Verdict, { do: 'drop' }>['because']): Verdict => ({ do: 'drop', because });

/**
 * Decides about an interruption notice. Notices may be repeated, late, or in the wrong order.
 * - A notice about an unknown VM has no effect if the provider IDs of all Machines are known. Otherwise, the notice may
 *   belong to a Machine without a provider ID, so mcm keeps the notice until its deadline.
 * - A notice that is older than the machine belongs to an earlier VM with an equal name.
 * - mcm uses the notice with the earliest deadline.
 * - After its deadline, a notice is valid only if the VM has ended.
 * @param machine undefined if no machine has the VM
 * @param unrecorded whether a Machine without a provider ID exists
 */
export function decideNotice(
  notice: InterruptionNotice,
  machine: Machine | undefined,
  now: Date,
  unrecorded = false,
): Verdict {
  const interruption = interruptionIn(notice);
  if (!interruption && !isOnlyReported(notice)) return drop('invalid');
  if (!machine) {
    const isNew = now.getTime() - millis(notice.noticedAt) < UNKNOWN_VM_MS;
    const mayBeRecorded = unrecorded && interruption !== undefined && now <= interruption.deadline;
    return isNew || mayBeRecorded ? { do: 'wait' } : drop('unknown');
  }
  if (millis(notice.noticedAt) < millis(machine.metadata.creationTimestamp)) return drop('stale');
  if (!interruption) return { do: 'report' };
  const known = interruptionOf(machine);
  if (known && known.deadline <= interruption.deadline) return drop('duplicate');
  if (interruption.kind !== 'Ended' && now <= interruption.deadline) return { do: 'record', interruption };
  if (powerOf(machine)) return drop('stale');
  // A machine that is already being deleted, or whose interruption is recorded, needs no change.
  if (known || machine.metadata.deletionTimestamp !== undefined) return drop('duplicate');
  return { do: 'confirm', interruption };
}
