import {
  Annotations,
  type Machine,
  type MachineDeployment,
  type MachineSet,
  TRIGGERED_DELETION_PRIORITY,
} from '@mcm/api';
import { isBeingHandedOver, isFailed, isTerminating, markTimeOf, priorityOf } from '../set/machines.ts';
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
  /** Entries that can never be carried out and leave the list, each with its reason. */
  readonly refused: readonly string[];
}

/**
 * Brings the list to its present form (docs/rules.md §9.2, step A): an entry without a time gets `fallbackTime`, one with more
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
 * Decides what the autoscaler's list means now (docs/rules.md §9.2): which entries stay, which machines are to be marked. The
 * time of the scaler's last change is written to the deployment together with a list that lacked times; the original
 * may keep it in memory only and then writes the set anew every second (ODD-8).
 *
 * @param machines The deployment's own machines by name: names of any other machine are dropped (ODD-14).
 * @param isElsewhere Whether a name is that of a machine that is not this deployment's.
 */
export function planTriggers(
  deployment: MachineDeployment,
  machines: ReadonlyMap<string, Machine>,
  now: Date,
  isElsewhere: (name: string) => boolean = () => false,
): TriggerPlan {
  const annotations = deployment.metadata.annotations ?? {};
  const text = annotations[Annotations.TriggerDeletion];
  if (text === undefined) return { annotations: {}, marks: [], refused: [] };
  const scalerTime = annotations[Annotations.LastReplicaChangeByScaler] ?? formatTime(now);
  const triggers = normaliseTriggers(text, scalerTime);
  const kept = triggers.flatMap((trigger) => {
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
    refused: [
      ...rubbish(text),
      ...triggers
        .filter(({ name, time }) => machines.has(name) && parseTime(time) === undefined)
        .map(({ name, time }) => `${name}~${time} (the time must be RFC 3339)`),
      ...triggers
        .filter(({ name }) => !machines.has(name) && isElsewhere(name))
        .map(({ name }) => `${name} (no machine of this deployment)`),
    ],
  };
}

/** What can be a machine's name; an empty entry is none. */
const NAME = /^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$/;

const rubbish = (text: string): string[] =>
  text
    .split(',')
    .filter((entry) => entry.split('~').length > 2 || !NAME.test(entry.split('~')[0]?.trim() ?? ''))
    .map((entry) => `${entry.trim()} (must be name~time)`);

/** A machine that somebody wants deleted and that stays for now. */
export interface UnmetTrigger {
  readonly machine: Machine;
  /** Why, and what would delete it. */
  readonly why: string;
}

/**
 * Machines of a set with priority 1 that the set is not going to delete: it has as many as it wants, and the mark is
 * not covered by a change of the scaler's. The original says nothing about them. Nothing is deleted for a mark alone:
 * priority 1 is also how an operator names, ahead of time, what the next scale-down takes first.
 */
export function unmetTriggers(set: MachineSet, machines: readonly Machine[]): UnmetTrigger[] {
  const named = machines.filter(
    (machine) =>
      priorityOf(machine) === TRIGGERED_DELETION_PRIORITY &&
      !isTerminating(machine) &&
      !isFailed(machine) &&
      !isBeingHandedOver(machine),
  );
  if (named.length === 0) return [];
  const wanted = set.spec.replicas ?? 0;
  if (machines.filter((machine) => !isTerminating(machine)).length > wanted) return [];
  const until = parseTime(set.metadata.annotations?.[Annotations.LastReplicaChangeByScaler]);
  return named.flatMap((machine) => {
    const mark = markTimeOf(machine);
    if (mark !== undefined && until !== undefined && mark <= until) return [];
    const lacking =
      mark === undefined
        ? `it has no ${Annotations.MarkedForDeletionTime}`
        : `${Annotations.LastReplicaChangeByScaler} of ${set.metadata.name} is ${until === undefined ? 'absent' : 'earlier than its mark'}`;
    return [{ machine, why: `${lacking}, and the set has the ${wanted} machines that it wants` }];
  });
}
