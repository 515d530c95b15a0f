import type { Machine } from '@mcm/api';
import { counted, phaseOf } from '@mcm/api';
import { createdAt, isBeingHandedOver, isFailed, isTerminating, neverJoined } from '../objects/machines.ts';
import { mayDeleteFailed, type NodeAnnotations } from '../objects/preservation.ts';
import { compareText, parseInstant } from '../values/integers.ts';
import { listedNames } from '../values/texts.ts';
import { type BudgetInput, type DisruptionBudget, disruptionBudgetOf, repairAllowance, repairRoom } from './budget.ts';
import { replacementLimit } from './replacements.ts';
import type { OpenBreaker } from './unreachable.ts';

/**
 * The input for the decision about the replacement of failed machines. The machines of a repair decision belong to one
 * deployment, or to a set without a deployment.
 */
export interface RepairSnapshot extends BudgetInput {
  readonly limit: number | string;
  /** True while the result of a scale-down of one set is unknown. During this time, no replacement starts. */
  readonly unsettled?: boolean;
  /**
   * While the rollout is paused and its template is not proven, mcm keeps failed machines of the current set at least
   * until `until`.
   */
  readonly keeps?: { readonly until: Date | undefined };
  /** Returns the open circuit breaker of a machine, or undefined if an annotation overrides the circuit breaker. */
  readonly breakerOf: (machine: Machine) => OpenBreaker | undefined;
  readonly nodeAnnotations: NodeAnnotations;
}

/** A machine that mcm does not replace, because many machines of its zone or cluster became unreachable. */
export interface HeldMachine {
  readonly machine: Machine;
  readonly breaker: OpenBreaker;
}

/** The failed machines to replace now, and the reasons why other failed machines wait. */
export interface RepairPlan {
  readonly budget: DisruptionBudget;
  readonly allowance: number;
  /** The machines that their sets delete and replace now. */
  readonly go: readonly Machine[];
  readonly waiting: readonly Machine[];
  readonly held: readonly HeldMachine[];
  readonly kept: readonly Machine[];
  readonly lookAgainAt: Date | undefined;
}

const failedAt = (machine: Machine): number =>
  parseInstant(machine.status?.currentStatus?.lastUpdateTime) ?? createdAt(machine);

const longestFailedFirst = (a: Machine, b: Machine): number =>
  failedAt(a) - failedAt(b) || compareText(a.metadata.name, b.metadata.name);

const earliest = (...instants: readonly (Date | undefined)[]): Date | undefined =>
  instants.reduce((a, b) => (a === undefined || (b !== undefined && b < a) ? b : a), undefined);

const isUnreachable = (machine: Machine): boolean => phaseOf(machine) === 'Unknown';

/**
 * Decides which failed machines of a deployment are replaced now. The controller of each set computes the same list of
 * replacements, so that all sets together stay within the limit.
 */
export function planRepairs(snapshot: RepairSnapshot): RepairPlan {
  const { current, old, leaving, keeps, breakerOf, nodeAnnotations, now } = snapshot;
  const budget = disruptionBudgetOf(snapshot);
  const limit = replacementLimit(snapshot.limit, snapshot.replicas);
  const allowance = repairAllowance(budget, limit);
  const machines = [...old, ...(current ? [current] : [])].flatMap((set) => set.machines);
  const held: HeldMachine[] = [];
  const due: Machine[] = [];
  const kept: Machine[] = [];
  const keepable = new Set(keeps ? current?.machines : []);
  for (const machine of machines) {
    if (isTerminating(machine) || leaving?.(machine)) continue;
    const failed = isFailed(machine) && !isBeingHandedOver(machine) && mayDeleteFailed(machine, nodeAnnotations, now);
    if (!failed && !isUnreachable(machine)) continue;
    const breaker = breakerOf(machine);
    if (breaker) held.push({ machine, breaker });
    else if (failed && keepable.has(machine)) kept.push(machine);
    else if (failed) due.push(machine);
  }
  due.sort(longestFailedFirst);
  const go = snapshot.unsettled ? [] : chosen(due, budget, limit);
  const waiting = due.filter((machine) => !go.includes(machine));
  const breakers = held.map(({ breaker }) => breaker.lookAgainAt);
  return {
    budget,
    allowance,
    go,
    waiting,
    held,
    kept,
    lookAgainAt: earliest(
      ...breakers,
      waiting.length > 0 ? budget.lateAt : undefined,
      kept.length > 0 ? keeps?.until : undefined,
    ),
  };
}

/**
 * Selects the machines to replace now, in the order of their failures.
 * - Without a rollout, a machine that never joined does not wait for the end of another replacement.
 */
function chosen(due: readonly Machine[], budget: DisruptionBudget, limit: number): readonly Machine[] {
  const room = repairRoom(budget, limit);
  if (budget.rolling) return due.slice(0, room);
  const served = due.filter((machine) => !neverJoined(machine)).slice(0, room);
  const idle = Math.max(repairAllowance(budget, limit) - budget.holding - served.length, 0);
  return [...served, ...due.filter(neverJoined).slice(0, idle)];
}

/** While failed machines are replaced, a rollout deletes no available machine. */
export const hasFailures = ({ go, waiting }: RepairPlan): boolean => go.length + waiting.length > 0;

/** Returns a sentence for users with the reason why failed machines wait, or undefined if none waits. */
export function whyWaiting({ waiting, allowance, budget }: RepairPlan): string | undefined {
  if (waiting.length === 0) return undefined;
  const parts = [
    budget.leaving > 0 ? `${budget.leaving} terminating` : '',
    budget.joining > 0 ? `${budget.joining} being created` : '',
    budget.updating > 0 ? `${budget.updating} being updated in place` : '',
  ].filter((part) => part !== '');
  const cause = parts.length > 0 ? ` (${parts.join(', ')})` : '';
  const beside = budget.rolling
    ? `. The rollout and the replacements together may make at most ${counted(Math.max(budget.unavailable, 1), 'machine')} unavailable`
    : '';
  return `failed machines wait for their replacement: ${listedNames(waiting)}. mcm replaces at most ${allowance} at the same time${beside}${cause}`;
}
