import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime } from '../../apimachinery/objects/object-text.ts';
import { items, look, type Plain } from '../../apimachinery/objects/plain.ts';
import { conditionOf, isDying, isTerminal, observedOf } from '../objects/fields.ts';

const TYPE = 'DisruptionTarget';
const STALE_MS = 2 * 60 * 1000;

/**
 * The controller removes the disruption condition of a pod two minutes after the condition was set. The function
 * returns this time. For these pods, the result is undefined:
 *
 * - a pod without the disruption condition,
 * - a pod that is being deleted or has ended,
 * - a pod whose condition comes from the kubelet and has no time limit.
 */
export function clearAt(pod: ApiObject): Date | undefined {
  const mark = conditionOf(pod, TYPE);
  if (mark?.status !== 'True' || mark.reason === 'TerminationByKubelet' || isDying(pod) || isTerminal(pod)) {
    return undefined;
  }
  const since = new Date(String(mark.lastTransitionTime)).getTime();
  return new Date((Number.isNaN(since) ? 0 : since) + STALE_MS);
}

export const clearedConditions = (pod: ApiObject, now: Date): Plain[] =>
  items(look(pod, 'status'), 'conditions').map((condition) =>
    condition.type === TYPE
      ? {
          type: TYPE,
          status: 'False',
          lastProbeTime: null,
          lastTransitionTime: formatTime(now),
          ...observedOf(pod),
        }
      : condition,
  );
