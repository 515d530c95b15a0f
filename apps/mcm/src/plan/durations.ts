import { Labels, type Machine } from '@mcm/api';
import type { DrainExplanation, SimulatedDurations } from '@mcm/core';
import type { Node } from '@mcm/kube';
import { isPastDrain } from '../explain/machine/machine-wait.ts';
import { GUESSES } from './guesses.ts';

/** What a user knows better; milliseconds. */
export interface GivenDurations {
  readonly join?: number;
  readonly drain?: number;
  readonly update?: number;
}

/** How long machines took to join: the median over those whose nodes are there; undefined: none has joined. */
export function joinedIn(machines: readonly Machine[], nodes: readonly Node[], className?: string): number | undefined {
  const created = new Map(nodes.map(({ metadata }) => [metadata.name, Date.parse(metadata.creationTimestamp)]));
  const took = machines.flatMap(({ metadata, spec }) => {
    const joined = created.get(metadata.labels?.[Labels.Node] ?? '');
    const ms = joined === undefined ? -1 : joined - Date.parse(metadata.creationTimestamp);
    // A node that is older than its machine was adopted.
    return ms >= 0 && (className === undefined || spec.class.name === className) ? [ms] : [];
  });
  return took.toSorted((a, b) => a - b)[Math.floor(took.length / 2)];
}

/**
 * How long a drain lasts: until pods may be deleted where something blocks it, for ever where nothing ever deletes them.
 * @param guess for a drain that nothing blocks
 */
export function drainMs(drain: DrainExplanation, now: Date, guess: number): number {
  const goes = drain.pods.some(({ fate }) => fate !== 'stays');
  if (!goes) return 0;
  if (drain.blockers.length === 0) return guess;
  const until = drain.policy === 'Force' ? drain.deletesFrom : undefined;
  return until === undefined ? Number.POSITIVE_INFINITY : Math.max(until.getTime() - now.getTime(), guess);
}

/** How long a drain that never ends counts as one that may; undefined for a drain that ends. */
export function undrainedMs(drain: DrainExplanation, now: Date): number | undefined {
  return Number.isFinite(drainMs(drain, now, 0)) ? undefined : Math.max(drain.overAt.getTime() - now.getTime(), 0);
}

const isRefused = (machine: Machine): boolean =>
  machine.status?.lastOperation?.state === 'Failed' && isPastDrain(machine);

/** What is assumed of every machine. */
export function durationsOf(
  { machines, nodes }: { readonly machines: readonly Machine[]; readonly nodes: readonly Node[] },
  given: GivenDurations,
  drains: ReadonlyMap<string, DrainExplanation>,
  now: Date,
): SimulatedDurations {
  const fleet = joinedIn(machines, nodes) ?? GUESSES.join;
  const byClass = new Map<string | undefined, number>();
  const join = ({ spec }: Machine): number => {
    const { name } = spec.class;
    const known = byClass.get(name) ?? joinedIn(machines, nodes, name) ?? fleet;
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
    // A cloud that refuses to delete a VM does so until somebody sees to it.
    gone: (machine) => (isRefused(machine) ? Number.POSITIVE_INFINITY : drained(machine) + GUESSES.remove),
    undrained: ({ metadata }) => {
      const drain = drains.get(metadata.name);
      return drain && undrainedMs(drain, now);
    },
    update: (machine) => drained(machine) + (given.update ?? GUESSES.update),
  };
}
