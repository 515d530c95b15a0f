import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime } from '../../apimachinery/objects/object-text.ts';
import { items, look, type Plain } from '../../apimachinery/objects/plain.ts';
import { isDying, isReady, scaled } from '../objects/fields.ts';

const DELETION_TIMEOUT_MS = 2 * 60 * 1000;

export interface BudgetView {
  readonly budget: ApiObject;
  readonly pods: readonly ApiObject[];
  /** The sum of the desired replicas of all owners of the pods. */
  readonly scale: number | undefined;
  readonly now: Date;
}

export interface BudgetCount {
  readonly expectedPods: number;
  readonly desiredHealthy: number;
  readonly currentHealthy: number;
  readonly disruptionsAllowed: number;
  readonly disruptedPods: Readonly<Record<string, string>>;
  readonly overdue: readonly ApiObject[];
  readonly lookAgainAt: Date | undefined;
}

export function needsScale(budget: ApiObject): boolean {
  const { maxUnavailable, minAvailable } = look(budget, 'spec');
  return maxUnavailable !== undefined || typeof minAvailable === 'string';
}

function wanted({ budget, pods, scale = 0 }: BudgetView): { expected: number; desired: number } {
  const { maxUnavailable, minAvailable } = look(budget, 'spec');
  if (maxUnavailable !== undefined) {
    return { expected: scale, desired: Math.max(0, scale - scaled(maxUnavailable, scale, true)) };
  }
  if (typeof minAvailable === 'number') return { expected: pods.length, desired: minAvailable };
  if (typeof minAvailable === 'string') return { expected: scale, desired: scaled(minAvailable, scale, true) };
  return { expected: pods.length, desired: 0 };
}

interface Disrupted {
  readonly kept: Record<string, string>;
  readonly overdue: ApiObject[];
  until: Date | undefined;
}

function stillDisrupted({ budget, pods, now }: BudgetView): Disrupted {
  const known = look(budget, 'status', 'disruptedPods');
  const found: Disrupted = { kept: {}, overdue: [], until: undefined };
  for (const pod of pods) {
    const { name = '' } = pod.metadata;
    const since = known[name];
    if (typeof since !== 'string' || isDying(pod)) continue;
    const deadline = new Date(new Date(since).getTime() + DELETION_TIMEOUT_MS);
    if (deadline <= now) {
      found.overdue.push(pod);
      continue;
    }
    found.kept[name] = since;
    if (found.until === undefined || deadline < found.until) found.until = deadline;
  }
  return found;
}

/** Counts the pods of a budget (`trySync` of the disruption controller). */
export function countBudget(view: BudgetView): BudgetCount {
  const { expected, desired } = wanted(view);
  const { kept, overdue, until } = stillDisrupted(view);
  const healthy = view.pods.filter(
    (pod) => !isDying(pod) && !Object.hasOwn(kept, pod.metadata.name ?? '') && isReady(pod),
  ).length;
  return {
    expectedPods: expected,
    desiredHealthy: desired,
    currentHealthy: healthy,
    disruptionsAllowed: expected <= 0 ? 0 : Math.max(0, healthy - desired),
    disruptedPods: kept,
    overdue,
    lookAgainAt: until,
  };
}

const conditionIn = (budget: ApiObject): Plain | undefined =>
  items(look(budget, 'status'), 'conditions').find(({ type }) => type === 'DisruptionAllowed');

function disruptionCondition(budget: ApiObject, allowed: boolean, now: Date): Plain {
  const status = allowed ? 'True' : 'False';
  const old = conditionIn(budget);
  return {
    type: 'DisruptionAllowed',
    status,
    observedGeneration: budget.metadata.generation ?? 0,
    lastTransitionTime: old?.status === status ? old.lastTransitionTime : formatTime(now),
    reason: allowed ? 'SufficientPods' : 'InsufficientPods',
    message: '',
  };
}

/** Returns the patch for the status of a budget whose pods cannot be counted. */
export function failedPatch(budget: ApiObject, why: string, now: Date): Plain | undefined {
  const status = look(budget, 'status');
  const old = conditionIn(budget);
  if (status.disruptionsAllowed === 0 && old?.reason === 'SyncFailed' && old.message === why) return undefined;
  const condition: Plain = {
    type: 'DisruptionAllowed',
    status: 'False',
    observedGeneration: status.observedGeneration ?? 0,
    lastTransitionTime: old?.status === 'False' ? old.lastTransitionTime : formatTime(now),
    reason: 'SyncFailed',
    message: why,
  };
  const others = items(status, 'conditions').filter(({ type }) => type !== 'DisruptionAllowed');
  return { disruptionsAllowed: 0, conditions: [...others, condition] };
}

export function statusPatch(budget: ApiObject, count: BudgetCount, now: Date): Plain | undefined {
  const status = look(budget, 'status');
  const { expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed, disruptedPods } = count;
  const counts = { expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed };
  const observedGeneration = budget.metadata.generation ?? 0;
  const known = isRecord(status.disruptedPods) ? status.disruptedPods : {};
  const gone = Object.keys(known).filter((name) => !Object.hasOwn(disruptedPods, name));
  const condition = disruptionCondition(budget, disruptionsAllowed > 0, now);
  const conditions = items(status, 'conditions');
  const old = conditions.find(({ type }) => type === 'DisruptionAllowed');
  const same =
    gone.length === 0 &&
    status.observedGeneration === observedGeneration &&
    Object.entries(counts).every(([field, value]) => status[field] === value) &&
    old !== undefined &&
    Object.entries(condition).every(([field, value]) => old[field] === value);
  if (same) return undefined;
  const patch: Plain = {
    ...counts,
    observedGeneration,
    conditions: [...conditions.filter(({ type }) => type !== 'DisruptionAllowed'), condition],
  };
  if (gone.length > 0) {
    patch.disruptedPods =
      Object.keys(disruptedPods).length === 0 ? null : Object.fromEntries(gone.map((name) => [name, null]));
  }
  return patch;
}
