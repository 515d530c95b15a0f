import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { items, look, number, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { conditionOf } from '../../objects/fields.ts';

const FIRST_BACKOFF_MS = 10_000;
const LAST_BACKOFF_MS = 600_000;

export interface Backoff {
  readonly failures: number;
  readonly lastFailure: number;
}

export const NO_FAILURE: Backoff = { failures: 0, lastFailure: 0 };

export const waitFor = (failures: number): number =>
  failures === 0 ? 0 : Math.min(LAST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (failures - 1));

function containersEndedAt(pod: ApiObject): number | undefined {
  const sidecars = items(look(pod, 'spec'), 'initContainers').filter((one) => one.restartPolicy === 'Always');
  const names = new Set(sidecars.map(({ name }) => name));
  const status = look(pod, 'status');
  const ofSidecars = items(status, 'initContainerStatuses').filter(({ name }) => names.has(name));
  const times = [...items(status, 'containerStatuses'), ...ofSidecars].map((one: Plain) =>
    text(look(one, 'state', 'terminated'), 'finishedAt'),
  );
  return times.length === 0 || times.includes('')
    ? undefined
    : Math.max(...times.map((time) => new Date(time).getTime()));
}

/**
 * Returns the time at which a pod finished, in milliseconds (`getFinishedTime`). The result is the first of these times
 * that exists:
 *
 * - the end of all containers of the pod,
 * - the time at which the pod became unready,
 * - the start of the pod's deletion without the grace period,
 * - the creation of the pod.
 */
export function finishedAt(pod: ApiObject): number {
  const ended = containersEndedAt(pod);
  if (ended !== undefined) return ended;
  const ready = conditionOf(pod, 'Ready');
  if (ready?.status === 'False' && typeof ready.lastTransitionTime === 'string') {
    return new Date(ready.lastTransitionTime).getTime();
  }
  const { deletionTimestamp, creationTimestamp } = pod.metadata;
  if (deletionTimestamp === undefined) return new Date(creationTimestamp ?? 0).getTime();
  return new Date(deletionTimestamp).getTime() - (number(pod.metadata, 'deletionGracePeriodSeconds') ?? 0) * 1000;
}

/** Returns the next backoff of a job. The backoff counts the failures since the last success (`newBackoffRecord`). */
export function nextBackoff(backoff: Backoff, succeeded: readonly ApiObject[], failed: readonly ApiObject[]): Backoff {
  const ends = failed.map(finishedAt);
  if (succeeded.length === 0) {
    if (failed.length === 0) return backoff;
    return { failures: backoff.failures + failed.length, lastFailure: Math.max(...ends) };
  }
  const lastSuccess = Math.max(...succeeded.map(finishedAt));
  const since = ends.filter((at) => at > lastSuccess);
  return since.length === 0 ? NO_FAILURE : { failures: since.length, lastFailure: Math.max(...since) };
}
