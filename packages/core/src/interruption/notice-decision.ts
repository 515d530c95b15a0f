import type { Machine } from '@mcm/api';
import type { InterruptionNotice } from '../driver/contract/driver.ts';
import { millis } from '../values/timestamps.ts';
import { powerOf } from '../warm/warm-machine.ts';
import { type Interruption, interruptionIn, interruptionOf, isOnlyReported } from './notice.ts';

export type Verdict =
  | { readonly do: 'record'; readonly interruption: Interruption }
  | { readonly do: 'report' }
  /** mcm records the interruption if the VM has ended. */
  | { readonly do: 'confirm'; readonly interruption: Interruption }
  | { readonly do: 'wait' }
  | { readonly do: 'drop'; readonly because: 'unknown' | 'duplicate' | 'stale' | 'invalid' };

/**
 * A notice about an unknown VM is kept for this time, because the provider ID of its machine may not be recorded yet.
 */
const UNKNOWN_VM_MS = 120_000;

const drop = (because: Extract<Verdict, { do: 'drop' }>['because']): Verdict => ({ do: 'drop', because });

/**
 * Decides about a notice. The decision depends only on its arguments, so notices may be repeated, late, or in the wrong
 * order.
 * - A notice about an unknown VM, such as one of another cluster, has no effect.
 * - A notice from before the creation of the machine is about an earlier VM of the same name.
 * - If several notices arrive, the notice with the earliest deadline is used.
 * - After the deadline, the notice is valid only if the VM has ended. If the VM has not ended by then, the notice is
 *   outdated, and the VM was restarted.
 * @param machine Undefined if no machine has the VM
 */
export function decideNotice(notice: InterruptionNotice, machine: Machine | undefined, now: Date): Verdict {
  const interruption = interruptionIn(notice);
  if (!interruption && !isOnlyReported(notice)) return drop('invalid');
  if (!machine) return now.getTime() - millis(notice.noticedAt) < UNKNOWN_VM_MS ? { do: 'wait' } : drop('unknown');
  if (millis(notice.noticedAt) < millis(machine.metadata.creationTimestamp)) return drop('stale');
  if (!interruption) return { do: 'report' };
  const known = interruptionOf(machine);
  if (known && known.deadline <= interruption.deadline) return drop('duplicate');
  if (interruption.kind !== 'Ended' && now <= interruption.deadline) return { do: 'record', interruption };
  if (powerOf(machine)) return drop('stale');
  // The deletion of the VM has started, or the recorded interruption will start the deletion.
  if (known || machine.metadata.deletionTimestamp !== undefined) return drop('duplicate');
  return { do: 'confirm', interruption };
}
