import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { formatTime, jsonEquals } from '../../../apimachinery/objects/object-text.ts';
import { items, look, number, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { replicasOf } from '../pods.ts';
import { bounds } from './rollout.ts';

const NO_DEADLINE = 2_147_483_647;
const PROGRESSING = 'Progressing';
const REPLICA_FAILURE = 'ReplicaFailure';
const COMPLETE = 'NewReplicaSetAvailable';
const TIMED_OUT = 'ProgressDeadlineExceeded';
const PAUSED = 'DeploymentPaused';

/** Returns the progress deadline of a rollout in milliseconds. */
export function deadlineOf(deployment: ApiObject): number | undefined {
  const seconds = number(look(deployment, 'spec'), 'progressDeadlineSeconds');
  return seconds === undefined || seconds === NO_DEADLINE ? undefined : seconds * 1000;
}

export const progressOf = (status: unknown): Plain | undefined =>
  items(status, 'conditions').find(({ type }) => type === PROGRESSING);

export interface ConditionFacts {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** If the status and the reason of a condition are unchanged, the existing condition stays. */
export function withCondition(conditions: readonly Plain[], facts: ConditionFacts, now: Date): Plain[] {
  const old = conditions.find(({ type }) => type === facts.type);
  if (old?.status === facts.status && old.reason === facts.reason) return [...conditions];
  const at = formatTime(now);
  const { type, status, reason, message } = facts;
  const since = old?.status === status ? old.lastTransitionTime : at;
  const condition = { type, status, lastUpdateTime: at, lastTransitionTime: since, reason, message };
  return [...conditions.filter((one) => one.type !== type), condition];
}

const without = (conditions: readonly Plain[], type: string): Plain[] => conditions.filter((one) => one.type !== type);

const countOf = (status: Plain, field: string): number => number(status, field) ?? 0;

const total = (sets: readonly ApiObject[], field: string): number =>
  sets.reduce((sum, set) => sum + countOf(look(set, 'status'), field), 0);

export function isComplete(deployment: ApiObject, status: Plain): boolean {
  const wanted = replicasOf(deployment);
  return (
    countOf(status, 'updatedReplicas') === wanted &&
    countOf(status, 'replicas') === wanted &&
    countOf(status, 'availableReplicas') === wanted &&
    countOf(status, 'observedGeneration') >= (deployment.metadata.generation ?? 0)
  );
}

/** Returns whether a rollout has progressed: it has more new, ready or available pods, or fewer old pods. */
function hasProgressed(before: Plain, now: Plain): boolean {
  const oldPods = (status: Plain): number => countOf(status, 'replicas') - countOf(status, 'updatedReplicas');
  return (
    countOf(now, 'updatedReplicas') > countOf(before, 'updatedReplicas') ||
    oldPods(now) < oldPods(before) ||
    countOf(now, 'readyReplicas') > countOf(before, 'readyReplicas') ||
    countOf(now, 'availableReplicas') > countOf(before, 'availableReplicas')
  );
}

function isOverdue(deployment: ApiObject, progress: Plain | undefined, now: Date): boolean {
  const deadline = deadlineOf(deployment);
  if (progress === undefined || deadline === undefined || progress.reason === COMPLETE) return false;
  if (progress.reason === TIMED_OUT) return true;
  return new Date(text(progress, 'lastUpdateTime')).getTime() + deadline < now.getTime();
}

export function progressCheckAt(deployment: ApiObject, status: Plain): Date | undefined {
  const progress = progressOf(look(deployment, 'status'));
  const deadline = deadlineOf(deployment);
  if (deadline === undefined || progress === undefined || progress.reason === TIMED_OUT) return undefined;
  if (isComplete(deployment, status)) return undefined;
  return new Date(new Date(text(progress, 'lastUpdateTime')).getTime() + deadline + 1000);
}

/** Returns the numbers of pods in the status of a Deployment, as `calculateStatus` in Kubernetes. */
export function countStatus(
  deployment: ApiObject,
  fresh: ApiObject | undefined,
  sets: readonly ApiObject[],
  now: Date,
): Plain {
  const replicas = total(sets, 'replicas');
  const wanted = sets.reduce((sum, set) => sum + replicasOf(set), 0);
  const available = total(sets, 'availableReplicas');
  const { collisionCount, conditions: _old, ...rest } = look(deployment, 'status');
  const enough = available >= replicasOf(deployment) - bounds(deployment).unavailable;
  const availability: ConditionFacts = enough
    ? {
        type: 'Available',
        status: 'True',
        reason: 'MinimumReplicasAvailable',
        message: 'Deployment has minimum availability.',
      }
    : {
        type: 'Available',
        status: 'False',
        reason: 'MinimumReplicasUnavailable',
        message: 'Deployment does not have minimum availability.',
      };
  return {
    ...rest,
    observedGeneration: deployment.metadata.generation ?? 0,
    replicas,
    updatedReplicas: countOf(look(fresh, 'status'), 'replicas'),
    readyReplicas: total(sets, 'readyReplicas'),
    availableReplicas: available,
    // `wanted` is the sum of the wanted sizes of the ReplicaSets, so a pod that could not be created counts as
    // unavailable.
    unavailableReplicas: Math.max(0, wanted - available),
    terminatingReplicas: total(sets, 'terminatingReplicas'),
    collisionCount,
    conditions: withCondition(items(look(deployment, 'status'), 'conditions'), availability, now),
  };
}

/**
 * Returns the status of a rollout: the numbers of pods, the progress, and the failures of the ReplicaSets
 * (`syncRolloutStatus`).
 */
export function rolloutStatus(
  deployment: ApiObject,
  fresh: ApiObject | undefined,
  sets: readonly ApiObject[],
  now: Date,
): Plain {
  const status = countStatus(deployment, fresh, sets, now);
  let conditions = status.conditions as Plain[];
  const old = look(deployment, 'status');
  const current = progressOf(old);
  const subject =
    fresh === undefined ? `Deployment "${deployment.metadata.name}"` : `ReplicaSet "${fresh.metadata.name}"`;
  const isDone = status.replicas === status.updatedReplicas && current?.reason === COMPLETE;
  if (deadlineOf(deployment) === undefined) conditions = without(conditions, PROGRESSING);
  else if (!isDone) {
    const progress = (holds: 'True' | 'False', reason: string, what: string): ConditionFacts => ({
      type: PROGRESSING,
      status: holds,
      reason,
      message: `${subject} ${what}`,
    });
    if (isComplete(deployment, status)) {
      conditions = withCondition(conditions, progress('True', COMPLETE, 'has successfully progressed.'), now);
    } else if (hasProgressed(old, status)) {
      // The progress deadline starts at the time in the condition.
      const facts = progress('True', 'ReplicaSetUpdated', 'is progressing.');
      const [fresher] = withCondition([], facts, now);
      const since = current?.status === 'True' ? { lastTransitionTime: current.lastTransitionTime } : {};
      conditions = [...without(conditions, PROGRESSING), { ...fresher, ...since }];
    } else if (isOverdue(deployment, progressOf(status), now)) {
      conditions = withCondition(conditions, progress('False', TIMED_OUT, 'has timed out progressing.'), now);
    }
  }
  status.conditions = withFailures(conditions, fresh, sets, now);
  return status;
}

/** Copies the failure condition of a ReplicaSet to the Deployment. */
function withFailures(
  conditions: readonly Plain[],
  fresh: ApiObject | undefined,
  sets: readonly ApiObject[],
  now: Date,
): Plain[] {
  const failureOf = (set: ApiObject | undefined): Plain | undefined =>
    items(look(set, 'status'), 'conditions').find(({ type }) => type === REPLICA_FAILURE);
  const failure = failureOf(fresh) ?? sets.map(failureOf).find((one) => one !== undefined);
  if (failure === undefined) return without(conditions, REPLICA_FAILURE);
  return withCondition(
    conditions,
    {
      type: REPLICA_FAILURE,
      status: failure.status === 'False' ? 'False' : 'True',
      reason: text(failure, 'reason'),
      message: text(failure, 'message'),
    },
    now,
  );
}

/** Returns the condition Progressing for the start or the end of a pause (`checkPausedConditions`). */
export function pausedCondition(deployment: ApiObject): ConditionFacts | undefined {
  if (deadlineOf(deployment) === undefined) return undefined;
  const current = progressOf(look(deployment, 'status'));
  if (current?.reason === TIMED_OUT) return undefined;
  const isPaused = look(deployment, 'spec').paused === true;
  const saysPaused = current?.reason === PAUSED;
  const facts = { type: PROGRESSING, status: 'Unknown' as const };
  if (isPaused && !saysPaused) return { ...facts, reason: PAUSED, message: 'Deployment is paused' };
  if (!isPaused && saysPaused) return { ...facts, reason: 'DeploymentResumed', message: 'Deployment is resumed' };
  return undefined;
}

export const progressFacts = (status: 'True' | 'False', reason: string, message: string): ConditionFacts => ({
  type: PROGRESSING,
  status,
  reason,
  message,
});

export function sameStatus(a: Plain, b: Plain): boolean {
  const { conditions: _a, ...countsA } = a;
  const { conditions: _b, ...countsB } = b;
  const fields = new Set([...Object.keys(countsA), ...Object.keys(countsB)]);
  for (const field of fields) if (!jsonEquals(countsA[field] ?? 0, countsB[field] ?? 0)) return false;
  const byType = (status: Plain): Plain[] =>
    [...items(status, 'conditions')].sort((one, other) => (text(one, 'type') < text(other, 'type') ? -1 : 1));
  return jsonEquals(byType(a), byType(b));
}
