import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look, number, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { isDying, phaseOf } from '../../objects/fields.ts';
import type { Revisions } from '../history.ts';
import { countPods, minReadySecondsOf, replicasOf } from '../pods.ts';
import { revisionOfPod } from './identity.ts';
import { isRunningAndReady } from './plan.ts';

export interface SetRevisions {
  readonly current: string;
  readonly update: string;
}

/** Returns the revisions in the status. */
export const namesIn = (set: ApiObject): SetRevisions => ({
  current: text(look(set, 'status'), 'currentRevision'),
  update: text(look(set, 'status'), 'updateRevision'),
});

/**
 * Returns the revisions of a StatefulSet. If the current revision or its template is missing, the update revision
 * replaces it.
 */
export function revisionsOf(set: ApiObject, { current: update, duplicates, old }: Revisions): SetRevisions {
  const known = new Set([update, ...duplicates, ...old].map(({ metadata }) => metadata.name ?? ''));
  const name = update.metadata.name ?? '';
  const current = text(look(set, 'status'), 'currentRevision');
  return { current: known.has(current) ? current : name, update: name };
}

/** Returns the status of a StatefulSet, as `updateStatus` and `completeRollingUpdate` in Kubernetes. */
export function statefulStatus(
  set: ApiObject,
  { current, update }: SetRevisions,
  pods: readonly ApiObject[],
  now: Date,
): { status: Plain; lookAgainAt: Date | undefined } {
  const created = pods.filter((pod) => phaseOf(pod) !== '');
  const { ready, available, lookAgainAt } = countPods(created.filter(isRunningAndReady), minReadySecondsOf(set), now);
  const of = (revision: string): number =>
    created.filter((pod) => !isDying(pod) && revisionOfPod(pod) === revision).length;
  const updated = of(update);
  const isDone =
    look(set, 'spec', 'updateStrategy').type === 'RollingUpdate' &&
    updated === created.length &&
    ready === created.length &&
    updated === replicasOf(set);
  const status = {
    observedGeneration: set.metadata.generation ?? 0,
    replicas: created.length,
    readyReplicas: ready,
    availableReplicas: available,
    currentReplicas: isDone ? updated : of(current),
    updatedReplicas: updated,
    currentRevision: isDone ? update : current,
    updateRevision: update,
    collisionCount: number(look(set, 'status'), 'collisionCount') ?? 0,
  };
  return { status, lookAgainAt };
}
