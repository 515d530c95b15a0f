import type { Machine } from '@mcm/api';
import type { InterruptionNotice } from '../driver/contract/driver.ts';
import { millis } from '../values/timestamps.ts';
import { powerOf } from '../warm/warm-machine.ts';
import { type Interruption, interruptionIn, interruptionOf, isOnlyReported } from './notice.ts';

export type Verdict =
  | { readonly do: 'record'; readonly interruption: Interruption }
  | { readonly do: 'report' }
  /** The result `confirm`: mcm records the interruption only if the VM has ended. */
  | { readonly do: 'confirm'; readonly interruption: Interruption }
  | { readonly do: 'wait' }
  | { readonly do: 'drop'; readonly because: 'unknown' | 'duplicate' | 'stale' | 'invalid' };

/**
 * The time for which a notice about an unknown VM is kept, because the provider ID of the machine may not be recorded
 * yet.
 */
const UNKNOWN_VM_MS = 120_000;

const drop = (because: Extract<Verdict, { do: 'drop' }>['because']): Verdict => ({ do: 'drop', because });

/**
 * The decision depends only on its arguments, so notices may be repeated, late, or in the wrong order.
 * - A notice about an unknown VM, for example a VM of another cluster, has no effect.
 * - A notice that is older than the machine is about an earlier VM with this name.
 * - The notice with the earliest deadline is used.
 * - After the deadline, the notice is valid only if the VM has ended. A VM that still runs after the deadline was
 * restarted, so the notice is outdated.
 * @param machine undefined if no machine has the VM
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
