import {
  Annotations,
  formatTime,
  type Machine,
  type MachineDeployment,
  type MachineSet,
  TRIGGERED_DELETION_PRIORITY,
} from '@mcm/api';
import { defined } from '@mcm/kube';
import { isBeingHandedOver, isFailed, isTerminating, markTimeOf, priorityOf } from '../../objects/machines.ts';
import { coveredUntil, readTriggers, type Trigger } from '../../objects/scaler.ts';
import { parseInstant } from '../../values/integers.ts';

const SECOND_MS = 1_000;

export interface TimedTrigger extends Trigger {
  readonly time: string;
}

export interface TriggerPlan {
  readonly annotations: Readonly<Record<string, string | null>>;
  readonly marks: readonly { readonly machine: Machine; readonly annotations: Readonly<Record<string, string>> }[];
  readonly refused: readonly string[];
}

/**
 * Parses the deletion list. An entry of the deletion list without a time gets the present time
 * (docs/compatibility/rules-deployments.md §9.2, step A).
 */
export const normaliseTriggers = (text: string, present: string): TimedTrigger[] =>
  readTriggers(text).map(({ name, time = present }) => ({ name, time }));

const printTriggers = (triggers: readonly TimedTrigger[]): string =>
  triggers.map(({ name, time }) => `${name}~${time}`).join(',');

const after = (time: number | undefined, now: Date): string =>
  formatTime(time === undefined ? now : new Date(Math.max(now.getTime(), time + SECOND_MS)));

interface MarkTimes {
  readonly entry: string;
  /** The time up to which names belong to an earlier scale-down, or undefined while a scale-down is in progress. */
  readonly covered: number | undefined;
  readonly now: Date;
}

/**
 * Returns the missing annotations of a marked machine: priority 1 and the time of the decision. If the time belongs to
 * an earlier scale-down, mcm writes a later time, because the set would otherwise delete the machine too early.
 */
function marksOf(machine: Machine, { entry, covered, now }: MarkTimes): Readonly<Record<string, string>> {
  const { [Annotations.Priority]: priority, [Annotations.MarkedForDeletionTime]: marked } =
    machine.metadata.annotations ?? {};
  const isPrioritised = priority === String(TRIGGERED_DELETION_PRIORITY);
  if (isPrioritised && marked) return {};
  const isOpen = (time: string): boolean => covered === undefined || (parseInstant(time) ?? covered + 1) > covered;
  const time = isOpen(entry) ? entry : after(covered, now);
  return defined({
    [Annotations.Priority]: isPrioritised ? undefined : String(TRIGGERED_DELETION_PRIORITY),
    [Annotations.MarkedForDeletionTime]: marked && isOpen(marked) ? undefined : time,
  });
}

/**
 * Decides which entries of the autoscaler's deletion list stay, and which machines get a mark
 * (docs/compatibility/rules-deployments.md §9.2). A new entry of the deletion list also updates the time of the last
 * scaler change. The original may keep the time of the last scaler change only in memory, and then writes the set every
 * second (ODD-8).
 * @param machines the machines of the deployment by name; mcm removes other names from the list (ODD-14).
 * @param isElsewhere Returns true if a machine with the name exists outside of this deployment.
 * @param coveredFor Returns a time in milliseconds since 1970. An entry with an earlier time belongs to an earlier
 * scale-down of the machine's set.
 */
export function planTriggers(
  deployment: MachineDeployment,
  machines: ReadonlyMap<string, Machine>,
  now: Date,
  isElsewhere: (name: string) => boolean = () => false,
  coveredFor: (machine: Machine) => number | undefined = () => undefined,
): TriggerPlan {
  const annotations = deployment.metadata.annotations ?? {};
  const text = annotations[Annotations.TriggerDeletion] ?? '';
  if (text.trim() === '') return { annotations: {}, marks: [], refused: [] };
  const last = parseInstant(annotations[Annotations.LastReplicaChangeByScaler]);
  const present = after(last, now);
  const triggers = normaliseTriggers(text, present);
  const entries = readTriggers(text);
  const seen = new Set<string>();
  const kept = triggers.flatMap((trigger, index) => {
    const machine = machines.get(trigger.name);
    const isRepeated = seen.has(trigger.name);
    seen.add(trigger.name);
    const goes = machine !== undefined && !isRepeated && !isTerminating(machine) && !isFailed(machine);
    return goes && parseInstant(trigger.time) !== undefined
      ? [{ ...trigger, machine, isTimed: entries[index]?.time !== undefined }]
      : [];
  });
  const list = printTriggers(kept);
  const rises = kept.some(({ isTimed }) => last === undefined || !isTimed);
  const marks = kept
    .map(({ machine, time }) => ({
      machine,
      annotations: marksOf(machine, { entry: time, covered: coveredFor(machine), now }),
    }))
    .filter((mark) => Object.keys(mark.annotations).length > 0);
  return {
    annotations: defined({
      [Annotations.TriggerDeletion]: list === text ? undefined : list === '' ? null : list,
      [Annotations.LastReplicaChangeByScaler]: rises ? present : undefined,
    }),
    marks,
    refused: [
      ...invalidEntries(text),
      ...triggers
        .filter(({ name, time }) => machines.has(name) && parseInstant(time) === undefined)
        .map(({ name, time }) => `${name}~${time} (the time must be RFC 3339)`),
      ...triggers
        .filter(({ name }) => !machines.has(name) && isElsewhere(name))
        .map(({ name }) => `${name} (not a machine of this deployment)`),
    ],
  };
}

const NAME = /^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$/;

const invalidEntries = (text: string): string[] =>
  text
    .split(',')
    .filter((entry) => entry.split('~').length > 2 || !NAME.test(entry.split('~')[0]?.trim() ?? ''))
    .map((entry) => `${entry.trim()} (must be name~time)`);

export interface UnmetTrigger {
  readonly machine: Machine;
  readonly why: string;
}

/**
 * Returns the machines with priority 1 that the set does not delete. The original does not report machines with a mark
 * that deletes nothing. A mark alone deletes no machine, because operators use priority 1 to choose machines for the
 * next scale-down.
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
  const until = coveredUntil(set);
  return named.flatMap((machine) => {
    const mark = markTimeOf(machine);
    if (mark !== undefined && until !== undefined && mark <= until) return [];
    const lacking =
      mark === undefined
        ? `the machine has no annotation ${Annotations.MarkedForDeletionTime}`
        : 'spec.replicas of the MachineDeployment was not reduced after the machine was marked';
    return [{ machine, why: `${lacking}, and the set has exactly its ${wanted} desired machines` }];
  });
}
