import { Annotations, formatTime, type Machine, type MachineDeployment, type MachineSet } from '@mcm/api';
import { isFailed, isTerminating, markTimeOf } from '../../objects/machines.ts';
import { coveredUntil, fallOf, readTriggers } from '../../objects/scaler.ts';
import { parseInstant } from '../../values/integers.ts';

const NEVER = Number.NEGATIVE_INFINITY;

/**
 * The input for the computation of scaler times. A scaler time is the time at which the autoscaler last changed the
 * replicas.
 */
export interface ScalerTimeInput {
  readonly deployment: MachineDeployment;
  readonly set: MachineSet;
  readonly machines: readonly Machine[];
  readonly undone: boolean;
  readonly now: Date;
}

export interface ScalerTimes {
  readonly always: string | undefined;
  readonly withFall: string | undefined;
}

/**
 * A set deletes each machine that the autoscaler named at or before the scaler time, even if the replicas do not
 * change. If a new scaler time applies to an existing machine, the same write must therefore reduce the replicas.
 */
export function scalerTimes(input: ScalerTimeInput): ScalerTimes {
  const { deployment, set } = input;
  const text = deployment.metadata.annotations?.[Annotations.LastReplicaChangeByScaler];
  const time = parseInstant(text);
  const before = coveredUntil(set);
  const open = openNames(input);
  // The scaler time must not decrease. With an earlier time, the set would count some named machines twice.
  const newer = time === undefined || before === undefined || time > before ? text : undefined;
  if (open.length === 0) return { always: newer, withFall: newer };
  const all = latestOf(input, open);
  const counted = input.undone ? all : coverOf(open, fallOf(set, deployment), all);
  const covered = Math.max(counted ?? NEVER, ...open.filter(isSeen).map(({ at }) => at));
  const rises = Number.isFinite(covered) && (before === undefined || covered > before);
  return { always: undefined, withFall: rises ? printed(covered, text) : undefined };
}

/** The scaler time includes all open names, except for names with a time in the future. */
function latestOf({ deployment, now }: ScalerTimeInput, open: readonly OpenName[]): number {
  const time = parseInstant(deployment.metadata.annotations?.[Annotations.LastReplicaChangeByScaler]);
  return Math.max(time ?? NEVER, ...open.map(({ at }) => at).filter((at) => at <= now.getTime()));
}

/**
 * Returns the machines that the autoscaler named in the current scale-down, if their annotations do not record the
 * scale-down yet. If a client raises the replicas and mcm restarts, only this record proves the scale-down.
 */
export function newlySeen(input: ScalerTimeInput): ReadonlyMap<string, string> {
  const fall = fallOf(input.set, input.deployment);
  if (fall <= 0) return new Map();
  const open = openNames(input);
  const until = coverOf(open, fall, latestOf(input, open)) ?? NEVER;
  return new Map(
    open
      .filter((name) => name.at <= until && !isSeen(name))
      .map(({ machine, at }) => [machine.metadata.name, exact(at)]),
  );
}

const printed = (time: number, text: string | undefined): string =>
  text !== undefined && parseInstant(text) === time ? text : exact(time);

/**
 * Formats a time without rounding. A rounded time would be earlier than the time of the name, so every reconcile would
 * write the scaler time again.
 */
const exact = (time: number): string => {
  const date = new Date(time);
  return time % 1_000 === 0 ? formatTime(date) : date.toISOString();
};

interface OpenName {
  readonly machine: Machine;
  readonly at: number;
}

const isSeen = ({ machine, at }: OpenName): boolean =>
  parseInstant(machine.metadata.annotations?.[Annotations.ScaleInSeen]) === at;

/**
 * Returns the open names in ascending order of their times. A name is open if its machine exists and no earlier
 * scale-down included the name.
 */
function openNames({ deployment, set, machines }: Omit<ScalerTimeInput, 'undone' | 'now'>): OpenName[] {
  const before = coveredUntil(set) ?? NEVER;
  const list = readTriggers(deployment.metadata.annotations?.[Annotations.TriggerDeletion]);
  const entries = new Map(list.map(({ name, time }) => [name, parseInstant(time)]));
  return machines
    .filter((machine) => entries.has(machine.metadata.name) && !isTerminating(machine) && !isFailed(machine))
    .map((machine) => ({
      machine,
      at: Math.max(markTimeOf(machine) ?? 0, entries.get(machine.metadata.name) ?? 0),
    }))
    .filter(({ at }) => at > before)
    .sort((a, b) => a.at - b.at);
}

/** Returns the latest scaler time that applies to at most `fall` names. Later names wait for the next scale-down. */
function coverOf(open: readonly OpenName[], fall: number, all: number): number | undefined {
  if (fall <= 0) return undefined;
  if (open.length <= fall) return all;
  const first = open[fall]?.at ?? all;
  return open.slice(0, fall).findLast(({ at }) => at < first && at <= all)?.at;
}

/**
 * Returns true if a client raised the replicas again after the manager saw the reduction, but before the manager wrote
 * the set.
 */
export const isTakenBack = (input: Omit<ScalerTimeInput, 'undone' | 'now'>): boolean =>
  fallOf(input.set, input.deployment) <= 0 && openNames(input).some(isSeen);

/**
 * Returns true if a client reduced the replicas and raised them again before the controller saw the reduction. Two
 * facts prove the reduction: the spec has changed at least twice since the last status, and named machines have no
 * mark. The original checks only the names, so it deletes machines even if the replicas were not reduced.
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
