import { Annotations, formatTime, type MachineDeployment } from '@mcm/api';
import type { Violation } from '../../objects/violations.ts';
import { type Freeze, parseRules, type Window, type WindowRules } from './parse.ts';

export interface ClosedWindow {
  readonly reason: 'OutsideWindow' | 'InFreeze' | 'InvalidWindow';
  readonly opensAt: Date | undefined;
  readonly because: string;
}

export interface ClosedBudget extends Omit<ClosedWindow, 'reason'> {
  readonly reason: 'RolloutBudget';
  /** True if the wait is too short to be reported in the status. */
  readonly brief: boolean;
}

/** The maximum number of steps in the search for the next time at which a window opens. */
const MOST_STEPS = 1_000;

const isOpen = ({ schedule, durationMs }: Window, at: number): boolean => {
  const opened = schedule.nextRun(new Date(at - durationMs));
  return opened !== null && opened.getTime() <= at;
};

const freezeAt = ({ freezes }: WindowRules, at: number): Freeze | undefined =>
  freezes.find(({ from, until }) => from <= at && at < until);

const isOverridden = ({ openUntil }: WindowRules, at: number): boolean => openUntil !== undefined && at < openUntil;

function nextOpening({ windows }: WindowRules, at: number): number | undefined {
  if (windows.length === 0 || windows.some((window) => isOpen(window, at))) return at;
  const next = windows
    .map(({ schedule }) => schedule.nextRun(new Date(at))?.getTime())
    .filter((time) => time !== undefined);
  return next.length === 0 ? undefined : Math.min(...next);
}

/** The result of a search for the next time at which all rules allow a rollout. */
interface Search {
  readonly from: number;
  /** The last instant for which the search gives the result. */
  readonly until: number;
  readonly opensAt: number | undefined;
}

/** Searches for the first time, from `from` on, at which all rules allow a rollout. */
function search(all: readonly WindowRules[], from: number): Search {
  let time = from;
  for (let step = 0; step < MOST_STEPS; step++) {
    const froze = all.map((rules) => freezeAt(rules, time)).find((freeze) => freeze !== undefined);
    const next = froze?.until ?? latest(all.map((rules) => nextOpening(rules, time)));
    if (next === undefined) return { from, until: Number.POSITIVE_INFINITY, opensAt: undefined };
    if (next === time) return { from, until: time, opensAt: time };
    time = next;
  }
  return { from, until: time, opensAt: undefined };
}

const MOST_SEARCHES = 2_000;

/**
 * The last search for each combination of rules. A search for windows that never overlap takes several hundred
 * milliseconds, and each reconcile of a deployment needs the result.
 */
const searches = new Map<string, Search>();

/** Returns the first time, from `at` on, at which all rules allow a rollout. */
function opening(all: readonly WindowRules[], at: number): number | undefined {
  const key = JSON.stringify(all.map(({ windows, freezes }) => [windows.map(({ text }) => text), freezes]));
  const known = searches.get(key);
  if (known !== undefined && known.from <= at && at <= known.until) return known.opensAt;
  const found = search(all, at);
  if (searches.size >= MOST_SEARCHES) searches.clear();
  searches.set(key, found);
  return found.opensAt;
}

function latest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length < times.length ? undefined : Math.max(...known);
}

const printed = (time: number): string => formatTime(new Date(time));

/**
 * A rollout may continue only if the windows and freezes of all objects allow it.
 * @returns undefined if the rollout may continue
 */
export function closedWindow(all: readonly WindowRules[], now: Date): ClosedWindow | undefined {
  const at = now.getTime();
  if (all.some((rules) => isOverridden(rules, at))) return undefined;
  const freeze = all.map((rules) => freezeAt(rules, at)).find((found) => found !== undefined);
  const shut = all.find(({ windows }) => windows.length > 0 && !windows.some((window) => isOpen(window, at)));
  if (freeze === undefined && shut === undefined) return undefined;
  const time = opening(all, at);
  const until =
    time === undefined
      ? 'the windows and freezes together never allow the rollout'
      : `the rollout may continue at ${printed(time)}`;
  const because =
    freeze === undefined
      ? `waiting: no window is open (${(shut?.windows ?? []).map(({ text }) => text).join('; ')}); ${until}`
      : `waiting: a freeze stops rollouts until ${printed(freeze.until)} (${freeze.reason}); ${until}`;
  return {
    reason: freeze === undefined ? 'OutsideWindow' : 'InFreeze',
    opensAt: time === undefined ? undefined : new Date(time),
    because,
  };
}

/**
 * Invalid annotations of the class also stop the rollout, because a user wanted to limit rollouts. mcm reports invalid
 * annotations of the deployment as errors of its spec.
 * @param ofClass the annotations of the template's class
 * @returns undefined if the rollout may continue
 */
export function closedFor(
  { metadata, spec }: MachineDeployment,
  ofClass: Readonly<Record<string, string>> | undefined,
  now: Date,
): ClosedWindow | undefined {
  const own = parseRules(metadata.annotations).rules;
  const { rules, violations } = parseRules(ofClass);
  // An override in the annotations of a class has no effect.
  const closed = closedWindow([own, { ...rules, openUntil: undefined }], now);
  const [first] = violations;
  if (first === undefined || isOverridden(own, now.getTime())) return closed;
  return invalidWindow(`MachineClass ${spec.template.spec.class.name}`, first);
}

const invalidWindow = (owner: string, { field, message }: Violation): ClosedWindow => ({
  reason: 'InvalidWindow',
  opensAt: undefined,
  because: `waiting: ${owner}: ${field}: ${message}`,
});

/**
 * Returns the reason why the windows and freezes of an object stop its rollout at `now`. Invalid annotations stop a
 * rollout, because a user wanted to limit the rollout.
 * @param owner kind and name of the object
 * @returns undefined if the rollout may continue
 */
export function closedBy(
  annotations: Readonly<Record<string, string>> | undefined,
  owner: string,
  now: Date,
): ClosedWindow | undefined {
  const { rules, violations } = parseRules(annotations);
  const [first] = violations;
  if (first !== undefined && !isOverridden(rules, now.getTime())) return invalidWindow(owner, first);
  return closedWindow([rules], now);
}

/** Returns true if annotations contain windows or freezes, even if the text of an entry is invalid. */
export const hasWindows = (annotations: Readonly<Record<string, string>> | undefined): boolean =>
  annotations?.[Annotations.RolloutWindows] !== undefined || annotations?.[Annotations.RolloutFreezes] !== undefined;

/** Returns true if an annotation overrides the windows, freezes and postponements at `now`. */
export const isOpenedBy = (annotations: Readonly<Record<string, string>> | undefined, now: Date): boolean =>
  isOverridden(parseRules(annotations).rules, now.getTime());

/** The maximum time between two checks, because a longer timer is not possible. */
const LONGEST_WAIT_MS = 24 * 60 * 60_000;

/** Returns the time of the next check, or undefined if the end of the wait is unknown. */
export const nextLook = (time: Date | undefined, now: Date): Date =>
  new Date(Math.min(time?.getTime() ?? Number.POSITIVE_INFINITY, now.getTime() + LONGEST_WAIT_MS));
