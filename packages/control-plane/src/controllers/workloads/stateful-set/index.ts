import { look, type Plain, text } from '../../../kinds/plain.ts';
import type { ApiObject } from '../../../object.ts';
import { allowing } from '../../runtime/api.ts';
import type { Controller, ControllerContext } from '../../runtime/controller.ts';
import { keyOf, splitKey } from '../../runtime/informer.ts';
import { controllerOf, isDying, namespaceOf, phaseOf } from '../../runtime/objects.ts';
import { CLAIMS, CONTROLLER_REVISIONS, PODS, STATEFUL_SETS } from '../../runtime/resources.ts';
import { Adoption } from '../adopt.ts';
import { RevisionHistory } from '../history.ts';
import { countPods, isTerminating, minReadySecondsOf, OwnedPods, replicasOf } from '../pods.ts';
import { StatefulClaims } from './claims.ts';
import { missingIdentity, ordinalOf, revisionName, revisionOfPod, statefulPod } from './identity.ts';
import { isRunningAndReady, planStatefulSet } from './plan.ts';

/** The revision that the set comes from; its newest where it has none, or lost it. */
const currentRevision = (set: ApiObject): string => text(look(set, 'status'), 'currentRevision') || revisionName(set);

/** Names of the revisions that a set or its pods still are. */
function revisionsInUse(set: ApiObject, pods: readonly ApiObject[]): Set<string> {
  const used = new Set(pods.map(revisionOfPod));
  return used.add(revisionName(set)).add(currentRevision(set));
}

/** The status of a set with these pods (`updateStatus`, `completeRollingUpdate`). */
export function statefulStatus(
  set: ApiObject,
  pods: readonly ApiObject[],
  now: Date,
): { status: Plain; lookAgainAt: Date | undefined } {
  const update = revisionName(set);
  const current = currentRevision(set);
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
    collisionCount: 0,
  };
  return { status, lookAgainAt };
}

function setup({ api, clock, informer, queue, recorder }: ControllerContext): void {
  const sets = informer(STATEFUL_SETS);
  const pods = informer(PODS);
  const tell = recorder('statefulset-controller');
  const history = new RevisionHistory(api, informer(CONTROLLER_REVISIONS));
  const claims = new StatefulClaims(api, informer(CLAIMS), tell);
  const owned = new OwnedPods(api, pods);
  const adoption = new Adoption(api, PODS, pods);
  const setsIn = sets.index((set) => [namespaceOf(set)]);

  /** Does something to a pod, and says on its set how it went. */
  const told = async (
    verb: 'Create' | 'Delete',
    set: ApiObject,
    pod: string,
    work: Promise<unknown>,
  ): Promise<void> => {
    const about = `${verb} Pod ${pod} in StatefulSet ${set.metadata.name}`;
    try {
      await work;
      tell(set, 'Normal', `Successful${verb}`, `${about} successful`);
    } catch (error) {
      if (!isTerminating(error)) {
        const why = error instanceof Error ? error.message : String(error);
        tell(set, 'Warning', `Failed${verb}`, `${about} failed error: ${why}`);
        throw error;
      }
    }
  };

  const create = async (set: ApiObject, ordinal: number, revision: string): Promise<void> => {
    if (!(await claims.ensure(set, ordinal))) return;
    await claims.keepOwners(set, ordinal, undefined);
    const template = history.templateOf(namespaceOf(set), revision) ?? look(set, 'spec', 'template');
    const pod = statefulPod(set, ordinal, template, revision);
    // A pod of this name that is not the set's own stands in the way: its deletion brings the set back.
    const work = allowing(owned.create(set, pod), 409);
    await told('Create', set, `${set.metadata.name}-${ordinal}`, work);
  };

  /** Pods that are there keep their labels, their claims and the claims' owners. */
  const mend = async (set: ApiObject, all: readonly ApiObject[]): Promise<void> => {
    for (const pod of all) {
      const ordinal = ordinalOf(set, pod);
      if (ordinal < 0) continue;
      if (phaseOf(pod) === 'Pending' && !isDying(pod)) await claims.ensure(set, ordinal);
      await claims.keepOwners(set, ordinal, pod);
      const labels = missingIdentity(set, pod);
      if (Object.keys(labels).length === 0 || isDying(pod)) continue;
      const { namespace, name, uid } = pod.metadata;
      await allowing(api.patch(PODS, { namespace, name }, { metadata: { uid, labels } }), 404, 409);
    }
  };

  const report = async (key: string, set: ApiObject, all: readonly ApiObject[]): Promise<void> => {
    const { status, lookAgainAt } = statefulStatus(set, all, clock.now());
    if (lookAgainAt !== undefined) work.addAt(key, lookAgainAt);
    const old = look(set, 'status');
    if (Object.entries(status).every(([field, value]) => (old[field] ?? 0) === value)) return;
    await allowing(api.patch(STATEFUL_SETS, { ...splitKey(key), subresource: 'status' }, { status }), 404, 409);
  };

  const work = queue(async (key) => {
    const set = sets.get(key);
    if (set === undefined) return;
    if (!isDying(set)) {
      await adoption.claim(set, (pod) => ordinalOf(set, pod) >= 0);
      const all = owned.all(set);
      const update = revisionName(set);
      await history.keep(set, update);
      await mend(set, all);
      const plan = planStatefulSet({ set, pods: all, current: currentRevision(set), update, now: clock.now() });
      for (const { ordinal, revision } of plan.create) await create(set, ordinal, revision);
      for (const pod of plan.delete) await told('Delete', set, pod.metadata.name ?? '', owned.delete(pod));
      await history.cleanUp(set, revisionsInUse(set, all));
    }
    await report(key, set, owned.all(set));
  });

  sets.onChange(({ type, object }) => {
    if (type === 'deleted') owned.forget(object.metadata.uid ?? '');
    else work.add(keyOf(object));
  });
  pods.onChange(({ type, object, old }) => {
    for (const pod of old === undefined ? [object] : [object, old]) {
      const owner = controllerOf(pod);
      if (owner?.kind === 'StatefulSet') work.add(`${namespaceOf(pod)}/${owner.name}`);
    }
    if (controllerOf(object) !== undefined) return;
    for (const set of setsIn(namespaceOf(object))) {
      // An orphan to be adopted, or one that stood in the way and has gone.
      if (adoption.selects(set, object) || (type === 'deleted' && ordinalOf(set, object) >= 0)) work.add(keyOf(set));
    }
  });
  informer(CLAIMS).onChange(({ type, object }) => {
    if (type !== 'deleted') return;
    for (const set of setsIn(namespaceOf(object))) {
      if (object.metadata.name?.includes(`-${set.metadata.name}-`) === true) work.add(keyOf(set));
    }
  });
}

/**
 * Keeps the numbered pods and claims of StatefulSets.
 * @see kubernetes pkg/controller/statefulset
 */
export const statefulSetController: Controller = { name: 'statefulset', setup };
