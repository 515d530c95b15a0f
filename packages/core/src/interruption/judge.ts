import type { Machine } from '@mcm/api';
import type { InterruptionNotice } from '../driver/contract/driver.ts';
import { millis } from '../values/timestamps.ts';
import { type Interruption, interruptionIn, interruptionOf, isOnlyReported } from './notice.ts';

/** The decision about a notice. */
export type Verdict =
  /** The interruption is recorded on the Machine. */
  | { readonly do: 'record'; readonly interruption: Interruption }
  /** Only an event reports it. */
  | { readonly do: 'report' }
  /** A look-up in the cloud comes first. If the VM has ended, the interruption is recorded. */
  | { readonly do: 'confirm'; readonly interruption: Interruption }
  /** The driver reports it again later. */
  | { readonly do: 'wait' }
  /** It has no effect. */
  | { readonly do: 'drop'; readonly because: 'unknown' | 'duplicate' | 'stale' | 'invalid' };

/** The VM of a young notice may belong to a machine whose provider ID is not recorded yet. */
const UNKNOWN_VM_MS = 120_000;

const drop = (because: Extract<Verdict, { do: 'drop' }>['because']): Verdict => ({ do: 'drop', because });

/**
 * Decides about a notice. The decision depends only on its arguments, so a notice may be repeated, late, or in another order.
 *
 * - A notice about an unknown VM, such as one of another cluster, has no effect.
 * - A notice from before the creation of the machine concerns an earlier VM of the same name.
 * - Of several notices, the one with the earliest deadline counts.
 * - A notice whose deadline has passed is true only if the VM has ended. Otherwise it is old, and the VM was restarted.
 * @param machine The machine of the VM, undefined if no machine has it
 */
export function judge(notice: InterruptionNotice, machine: Machine | undefined, now: Date): Verdict {
  const interruption = interruptionIn(notice);
  if (!interruption && !isOnlyReported(notice)) return drop('invalid');
  if (!machine) return now.getTime() - millis(notice.noticedAt) < UNKNOWN_VM_MS ? { do: 'wait' } : drop('unknown');
  if (millis(notice.noticedAt) < millis(machine.metadata.creationTimestamp)) return drop('stale');
  if (!interruption) return { do: 'report' };
  const known = interruptionOf(machine);
  if (known && known.deadline <= interruption.deadline) return drop('duplicate');
  if (interruption.kind !== 'Ended' && now <= interruption.deadline) return { do: 'record', interruption };
  // The deletion of the VM has begun, or the recorded interruption begins it.
  if (known || machine.metadata.deletionTimestamp !== undefined) return drop('duplicate');
  return { do: 'confirm', interruption };
}
