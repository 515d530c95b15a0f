import { Annotations, formatTime, type Machine, type MachineDeployment, type MachineSet } from '@mcm/api';
import { isFailed, isTerminating, markTimeOf } from '../../objects/machines.ts';
import { coveredUntil, fallOf, readTriggers } from '../../objects/scaler.ts';
import { parseInstant } from '../../values/integers.ts';

/** The observed state that decides about the scaler time of a current set. */
export interface ScalerTimeInput {
  readonly deployment: MachineDeployment;
  readonly set: MachineSet;
  /** Machines of the set. */
  readonly machines: readonly Machine[];
  /** The count fell and rose again before the controller saw it, see {@link isUndone}. */
  readonly undone: boolean;
  readonly now: Date;
}

/** Values of the annotation of the set, RFC 3339; undefined: unchanged. */
export interface ScalerTimes {
  /** For any write of the set. */
  readonly always: string | undefined;
  /** For a write that shrinks the set, or records that the deployment wants fewer machines. */
  readonly withFall: string | undefined;
}

/**
 * The time of the last change by the scaler that the current set may have. A set deletes the machines that were named
 * up to this time at any count. The time may therefore pass the name of a living machine only together with a fall of
 * the count. If it passed earlier, the set would replace the machine, then delete another one that has no name in the
 * list.
 */
export function scalerTimes(input: ScalerTimeInput): ScalerTimes {
  const { deployment, set, now } = input;
  const text = deployment.metadata.annotations?.[Annotations.LastReplicaChangeByScaler];
  const time = parseInstant(text);
  const before = coveredUntil(set);
  const open = openNames(input);
  // The time never decreases. An earlier time would forget names that a fall has covered.
  const newer = time === undefined || before === undefined || time > before ? text : undefined;
  if (open.length === 0) return { always: newer, withFall: newer };
  const all = Math.max(time ?? Number.NEGATIVE_INFINITY, ...open.filter((at) => at <= now.getTime()));
  const covered = input.undone ? all : coverOf(open, fallOf(set, deployment), all);
  const rises = covered !== undefined && Number.isFinite(covered) && (before === undefined || covered > before);
  return { always: undefined, withFall: rises ? printed(covered, text) : undefined };
}

/** Keeps the text of the autoscaler if it has the same meaning. */
const printed = (time: number, text: string | undefined): string =>
  text !== undefined && parseInstant(text) === time ? text : formatTime(new Date(time));

/** Times of the names whose machines exist and which no fall has covered yet, in order. */
function openNames({ deployment, set, machines }: Pick<ScalerTimeInput, 'deployment' | 'set' | 'machines'>): number[] {
  const before = coveredUntil(set) ?? Number.NEGATIVE_INFINITY;
  const list = readTriggers(deployment.metadata.annotations?.[Annotations.TriggerDeletion]);
  const entries = new Map(list.map(({ name, time }) => [name, parseInstant(time)]));
  return machines
    .filter((machine) => entries.has(machine.metadata.name) && !isTerminating(machine) && !isFailed(machine))
    .map((machine) => Math.max(markTimeOf(machine) ?? 0, entries.get(machine.metadata.name) ?? 0))
    .filter((at) => at > before)
    .sort((a, b) => a - b);
}

/**
 * The latest time that covers at most as many names as the count falls by. A name for a later fall waits for that fall.
 *
 * @param open Times of the open names, in order.
 * @param all The time that covers all of them.
 */
function coverOf(open: readonly number[], fall: number, all: number): number | undefined {
  if (fall <= 0) return undefined;
  if (open.length <= fall) return all;
  const first = open[fall] ?? all;
  return open.slice(0, fall).findLast((at) => at < first && at <= all);
}

/**
 * Returns true if the count fell and rose again unseen: the spec has changed at least twice since the last status, and
 * the deployment names machines that are not marked yet. The original sees the names only and deletes the machines at
 * any count.
 *
 * @param machines Machines of the current set.
 */
export function isUndone({ metadata, status }: MachineDeployment, machines: readonly Machine[]): boolean {
  const { observedGeneration } = status ?? {};
  if (observedGeneration === undefined || (metadata.generation ?? 0) - observedGeneration < 2) return false;
  const names = new Set(readTriggers(metadata.annotations?.[Annotations.TriggerDeletion]).map(({ name }) => name));
  return machines.some(
    (machine) =>
      names.has(machine.metadata.name) &&
      !isTerminating(machine) &&
      machine.metadata.annotations?.[Annotations.MarkedForDeletionTime] === undefined,
  );
}
