import { counted, formatDurationMs, Labels, type Machine } from '@mcm/api';
import { type DrainExplanation, powerOf, type SimulatedDurations } from '@mcm/core';
import type { Node } from '@mcm/kube';
import { isPastDrain } from '../explain/machine/machine-wait.ts';
import { GUESSES } from './guesses.ts';

export interface GivenDurations {
  readonly join?: number | undefined;
  readonly drain?: number | undefined;
  readonly update?: number | undefined;
  readonly start?: number | undefined;
}

/** For machines with a Node, returns how many milliseconds each machine took to join. */
function joinTimes(machines: readonly Machine[], nodes: readonly Node[], className?: string): readonly number[] {
  const created = new Map(nodes.map(({ metadata }) => [metadata.name, Date.parse(metadata.creationTimestamp)]));
  return machines.flatMap(({ metadata, spec }) => {
    const joined = created.get(metadata.labels?.[Labels.Node] ?? '');
    const ms = joined === undefined ? -1 : joined - Date.parse(metadata.creationTimestamp);
    // If the Node is older than the machine, mcm adopted an existing VM, so the machine has no join time.
    return ms >= 0 && (className === undefined || spec.class.name === className) ? [ms] : [];
  });
}

const median = (times: readonly number[]): number | undefined =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];

/** Returns the median of the join times. */
export const joinedIn = (
  machines: readonly Machine[],
  nodes: readonly Node[],
  className?: string,
): number | undefined => median(joinTimes(machines, nodes, className));

interface Steps {
  readonly made: number;
  readonly deleted: number;
  readonly updated: number;
  /** The number of warm machines that a set uses. */
  readonly used?: number;
  /** The number of new warm machines. */
  readonly warm?: number;
}

const rounded = (ms: number): string => formatDurationMs(Math.round(ms / 1_000) * 1_000);

/** Returns lines about the assumed durations of a plan's steps, and their origins. */
export function durationLines(
  { machines, nodes }: { readonly machines: readonly Machine[]; readonly nodes: readonly Node[] },
  given: GivenDurations,
  className: string,
  { made, deleted, updated, used = 0, warm = 0 }: Steps,
): readonly string[] {
  const from = (flag: string, value: number | undefined, guess: number): string =>
    value === undefined ? `${rounded(guess)}, the default of ${flag}` : `${rounded(value)}, from ${flag}`;
  return [
    ...(made + warm > 0 ? [`a new machine joins after ${joinLine(machines, nodes, given, className)}`] : []),
    ...(used > 0
      ? [`the Node of a stopped warm machine is Ready after ${startLine(machines, nodes, given, className)}`]
      : []),
    ...(deleted + updated > 0
      ? [`a drain without blockers takes ${from('--drain-time', given.drain, GUESSES.drain)}`]
      : []),
    ...(deleted > 0 ? [`the deletion of a VM takes ${rounded(GUESSES.remove)}`] : []),
    ...(updated > 0 ? [`an in-place update takes ${from('--update-time', given.update, GUESSES.update)}`] : []),
  ];
}

const joinGuess = (machines: readonly Machine[], nodes: readonly Node[], className: string | undefined): number =>
  joinedIn(machines, nodes, className) ?? joinedIn(machines, nodes) ?? GUESSES.join;

function startLine(
  machines: readonly Machine[],
  nodes: readonly Node[],
  { start, join: given }: GivenDurations,
  className: string,
): string {
  const join = given ?? joinGuess(machines, nodes, className);
  if (start !== undefined) return `${rounded(start)}, from --start-time`;
  return join < GUESSES.start
    ? `${rounded(join)}: the plan assumes that a start takes no longer than the join of a new machine`
    : `${rounded(GUESSES.start)}, the default of --start-time`;
}

function joinLine(
  machines: readonly Machine[],
  nodes: readonly Node[],
  given: GivenDurations,
  className: string,
): string {
  if (given.join !== undefined) return `${rounded(given.join)}, from --join-time`;
  const [own, all] = [joinTimes(machines, nodes, className), joinTimes(machines, nodes)];
  const ofOwn = median(own);
  if (ofOwn !== undefined)
    return `${rounded(ofOwn)}, the median of ${counted(own.length, 'machine')} of class ${className}`;
  const ofAll = median(all);
  if (ofAll !== undefined) return `${rounded(ofAll)}, the median of ${counted(all.length, 'machine')} of other classes`;
  return `${rounded(GUESSES.join)}, the default of --join-time: no machine has joined yet`;
}

/**
 * Returns the duration of a drain in milliseconds. A blocked drain ends when its pods may be deleted by force. If the
 * pods of a blocked drain may never be deleted, the duration is infinite.
 * @param guess the duration of a drain that nothing blocks
 */
export function drainMs(drain: DrainExplanation, now: Date, guess: number): number {
  const goes = drain.pods.some(({ fate }) => fate !== 'stays');
  if (!goes) return 0;
  if (drain.blockers.length === 0) return guess;
  const until = drain.policy === 'Force' ? drain.deletesFrom : undefined;
  return until === undefined ? Number.POSITIVE_INFINITY : Math.max(until.getTime() - now.getTime(), guess);
}

/** If a drain never ends, returns the time until its timeout expires. */
function undrainedMs(drain: DrainExplanation, now: Date): number | undefined {
  return Number.isFinite(drainMs(drain, now, 0)) ? undefined : Math.max(drain.overAt.getTime() - now.getTime(), 0);
}

const isRefused = (machine: Machine): boolean =>
  machine.status?.lastOperation?.state === 'Failed' && isPastDrain(machine);

export function durationsOf(
  { machines, nodes }: { readonly machines: readonly Machine[]; readonly nodes: readonly Node[] },
  given: GivenDurations,
  drains: ReadonlyMap<string, DrainExplanation>,
  now: Date,
): SimulatedDurations {
  const byClass = new Map<string | undefined, number>();
  const join = ({ spec }: Machine): number => {
    const { name } = spec.class;
    const known = byClass.get(name) ?? joinGuess(machines, nodes, name);
    byClass.set(name, known);
    return given.join ?? known;
  };
  const drainGuess = given.drain ?? GUESSES.drain;
  const drained = ({ metadata }: Machine): number => {
    const drain = drains.get(metadata.name);
    return drain ? drainMs(drain, now, drainGuess) : drainGuess;
  };
  return {
    join,
    // If the cloud has refused to delete the VM, the plan assumes that the VM stays forever.
    gone: (machine) => (isRefused(machine) ? Number.POSITIVE_INFINITY : drained(machine) + GUESSES.remove),
    undrained: ({ metadata }) => {
      const drain = drains.get(metadata.name);
      return drain && undrainedMs(drain, now);
    },
    start: (machine) => (powerOf(machine) === undefined ? 0 : (given.start ?? Math.min(GUESSES.start, join(machine)))),
    stop: () => GUESSES.stop,
    update: (machine) => drained(machine) + (given.update ?? GUESSES.update),
  };
}
