import { Annotations, formatTime, type Machine, type MachineDeployment, type MachineSet } from '@mcm/api';
import { isFailed, isTerminating, markTimeOf } from '../../objects/machines.ts';
import { coveredUntil, fallOf, readTriggers } from '../../objects/scaler.ts';
import { parseInstant } from '../../values/integers.ts';

/** A scaler time is the time of the last change by the autoscaler. */
export interface ScalerTimeInput {
  readonly deployment: MachineDeployment;
  readonly set: MachineSet;
  readonly machines: readonly Machine[];
  /**
   * True if the replicas were reduced and raised again before the controller saw the reduction, see {@link isUndone}.
   */
  readonly undone: boolean;
  readonly now: Date;
}

/** Values for the annotation of the set, RFC 3339. Undefined if the annotation stays unchanged. */
export interface ScalerTimes {
  /** The value for any write of the set. */
  readonly always: string | undefined;
  /** The value for a write that shrinks the set, or that stores fewer replicas of the deployment in the set. */
  readonly withFall: string | undefined;
}

/**
 * Returns the scaler time for the current set. The set deletes machines that were named up to this time, even without a
 * reduction of its replicas. Therefore the time may include the name of an existing machine only in the write that
 * reduces the replicas. Otherwise the set would first replace this machine, and later delete an unnamed machine.
 */
export function scalerTimes(input: ScalerTimeInput): ScalerTimes {
  const { deployment, set, now } = input;
  const text = deployment.metadata.annotations?.[Annotations.LastReplicaChangeByScaler];
  const time = parseInstant(text);
  const before = coveredUntil(set);
  const open = openNames(input);
  // The time never decreases. With an earlier time, names that an earlier reduction has counted would be counted again.
  const newer = time === undefined || before === undefined || time > before ? text : undefined;
  if (open.length === 0) return { always: newer, withFall: newer };
  const all = Math.max(time ?? Number.NEGATIVE_INFINITY, ...open.filter((at) => at <= now.getTime()));
  const covered = input.undone ? all : coverOf(open, fallOf(set, deployment), all);
  const rises = covered !== undefined && Number.isFinite(covered) && (before === undefined || covered > before);
  return { always: undefined, withFall: rises ? printed(covered, text) : undefined };
}

/** An equal time keeps the text of the autoscaler. */
const printed = (time: number, text: string | undefined): string =>
  text !== undefined && parseInstant(text) === time ? text : formatTime(new Date(time));

/**
 * Times of the open names in ascending order. A name is open if its machine exists and no earlier reduction has
 * counted the name.
 */
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
 * Returns the latest time for which at most `fall` names are counted. All remaining names wait for a later reduction.
 * @param open Times of the open names, in ascending order.
 * @param fall Number by which the replicas are reduced.
 * @param all The time for which all open names are counted.
 */
function coverOf(open: readonly number[], fall: number, all: number): number | undefined {
  if (fall <= 0) return undefined;
  if (open.length <= fall) return all;
  const first = open[fall] ?? all;
  return open.slice(0, fall).findLast((at) => at < first && at <= all);
}

/**
 * Returns true if the replicas were reduced and raised again before the controller saw the reduction. In this case, the
 * spec has changed at least twice since the last status, and the deletion list contains machines without a mark. The
 * original uses only the names, and deletes the machines without a reduction of the replicas.
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
