import { Annotations, type Machine, type MachineDeployment, TRIGGERED_DELETION_PRIORITY } from '@mcm/api';
import { isFailed, isTerminating } from '../set/machines.ts';
import { formatTime, parseTime } from '../set/text.ts';

/** A machine that the cluster autoscaler named, and when it decided. */
export interface Trigger {
  readonly name: string;
  readonly time: string;
}

/** What the annotation trigger-deletion-by-mcm asks for. */
export interface TriggerPlan {
  /** Annotations of the deployment to write; null removes. Empty: nothing to write. */
  readonly annotations: Readonly<Record<string, string | null>>;
  /** Annotations of machines to write. */
  readonly marks: readonly { readonly machine: Machine; readonly annotations: Readonly<Record<string, string>> }[];
}

/**
 * Brings the list to its present form (sheet 9.2, step A): an entry without a time gets `fallbackTime`, one with more
 * than one `~` is dropped.
 */
export function normaliseTriggers(text: string, fallbackTime: string): Trigger[] {
  const triggers: Trigger[] = [];
  for (const entry of text.split(',')) {
    const [name = '', time = fallbackTime, ...more] = entry.trim().split('~');
    if (name !== '' && more.length === 0) triggers.push({ name, time });
  }
  return triggers;
}

const printTriggers = (triggers: readonly Trigger[]): string =>
  triggers.map(({ name, time }) => `${name}~${time}`).join(',');

/** Priority 1, and the time of the decision unless there is one already. Empty: the machine is marked. */
function marksOf(machine: Machine, time: string): Readonly<Record<string, string>> {
  const { [Annotations.Priority]: priority, [Annotations.MarkedForDeletionTime]: marked } =
    machine.metadata.annotations ?? {};
  return {
    ...(priority === String(TRIGGERED_DELETION_PRIORITY)
      ? {}
      : { [Annotations.Priority]: String(TRIGGERED_DELETION_PRIORITY) }),
    ...(marked ? {} : { [Annotations.MarkedForDeletionTime]: time }),
  };
}

/**
 * Decides what the autoscaler's list means now (sheet 9.2): which entries stay, which machines are to be marked. The
 * time of the scaler's last change is written to the deployment together with a list that lacked times; the original
 * may keep it in memory only and then writes the set anew every second (ODD-8).
 *
 * @param machines The deployment's own machines by name: names of any other machine are dropped (ODD-14).
 */
export function planTriggers(
  deployment: MachineDeployment,
  machines: ReadonlyMap<string, Machine>,
  now: Date,
): TriggerPlan {
  const annotations = deployment.metadata.annotations ?? {};
  const text = annotations[Annotations.TriggerDeletion];
  if (text === undefined) return { annotations: {}, marks: [] };
  const scalerTime = annotations[Annotations.LastReplicaChangeByScaler] ?? formatTime(now);
  const kept = normaliseTriggers(text, scalerTime).flatMap((trigger) => {
    const machine = machines.get(trigger.name);
    const goes = machine !== undefined && !isTerminating(machine) && !isFailed(machine);
    return goes && parseTime(trigger.time) !== undefined ? [{ ...trigger, machine }] : [];
  });
  const list = printTriggers(kept);
  const hasTime = annotations[Annotations.LastReplicaChangeByScaler] !== undefined;
  const marks = kept
    .map(({ machine, time }) => ({ machine, annotations: marksOf(machine, time) }))
    .filter((mark) => Object.keys(mark.annotations).length > 0);
  return {
    annotations: {
      ...(list === text ? {} : { [Annotations.TriggerDeletion]: list === '' ? null : list }),
      ...(hasTime ? {} : { [Annotations.LastReplicaChangeByScaler]: scalerTime }),
    },
    marks,
  };
}
