import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look, number, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { allowing } from '../../runtime/api.ts';
import type { Controller, ControllerContext } from '../../runtime/controller.ts';
import { keyOf, splitKey } from '../../runtime/informer.ts';
import { controllerOf, isDying, namespaceOf, phaseOf } from '../../runtime/objects.ts';
import { CLAIMS, CONTROLLER_REVISIONS, PODS, STATEFUL_SETS } from '../../runtime/resources.ts';
import { Adoption } from '../adopt.ts';
import { historyLimit, RevisionHistory, type Revisions } from '../history.ts';
import { countPods, isTerminating, minReadySecondsOf, OwnedPods, replicasOf } from '../pods.ts';
import { StatefulClaims } from './claims.ts';
import { missingIdentity, ordinalOf, revisionOfPod, statefulPod } from './identity.ts';
import { isRunningAndReady, planStatefulSet } from './plan.ts';

/** Under which label a revision of a set has the hash of its template. */
const HASH_LABEL = 'controller.kubernetes.io/hash';

/** Names of the revision that a set comes from and of the one that it goes to: of its template. */
interface SetRevisions {
  readonly current: string;
  readonly update: string;
}

/** Of a set on its way out no revision is made any more. */
const namesIn = (set: ApiObject): SetRevisions => ({
  current: text(look(set, 'status'), 'currentRevision'),
  update: text(look(set, 'status'), 'updateRevision'),
});

/** The current revision is the update revision if the status names none, or if its template no longer exists. */
function revisionsOf(set: ApiObject, { current: update, duplicates, old }: Revisions): SetRevisions {
  const known = new Set([update, ...duplicates, ...old].map(({ metadata }) => metadata.name ?? ''));
  const name = update.metadata.name ?? '';
  const current = text(look(set, 'status'), 'currentRevision');
  return { current: known.has(current) ? current : name, update: name };
}

/** The status of a set with these pods (`updateStatus`, `completeRollingUpdate`). */
function statefulStatus(
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

/** Whether a call that lets refusals pass did anything. */
const isDone = (call: Promise<unknown>): Promise<boolean> => call.then((answer) => answer !== undefined);

function setup({ api, clock, informer, queue, recorder }: ControllerContext): void {
  const sets = informer(STATEFUL_SETS);
  const pods = informer(PODS);
  const tell = recorder('statefulset-controller');
  const history = new RevisionHistory(api, STATEFUL_SETS, informer(CONTROLLER_REVISIONS), HASH_LABEL);
  const claims = new StatefulClaims(api, informer(CLAIMS), tell);
  const owned = new OwnedPods(api, pods);
  const taken = owned.took.bind(owned);
  const adoption = new Adoption(api, { owners: STATEFUL_SETS, resource: PODS, objects: pods, taken });
  const setsIn = sets.index((set) => [namespaceOf(set)]);

  /** Does something to a pod, and says on its set how it went; nothing where there was nothing to do after all (false). */
  const told = async (
    verb: 'Create' | 'Update' | 'Delete',
    set: ApiObject,
    pod: string,
    work: Promise<boolean>,
  ): Promise<void> => {
    const about = `${verb} Pod ${pod} in StatefulSet ${set.metadata.name}`;
    try {
      if (!(await work)) return;
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
    // A pod of this name belongs to another owner and blocks the creation. Its deletion triggers the next sync.
    const work = allowing(owned.create(set, pod), 409);
    await told('Create', set, `${set.metadata.name}-${ordinal}`, isDone(work));
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
      const update = allowing(api.patch(PODS, { namespace, name }, { metadata: { uid, labels } }), 404, 409);
      await told('Update', set, name ?? '', isDone(update));
    }
  };

  /** Forgets the oldest templates that nothing is made from any more, beyond the set's limit. */
  const cleanUp = async (set: ApiObject, { old }: Revisions, live: SetRevisions): Promise<void> => {
    const used = new Set(owned.all(set).map(revisionOfPod)).add(live.current).add(live.update);
    const idle = old.filter(({ metadata }) => !used.has(metadata.name ?? ''));
    await history.forget(idle.slice(0, Math.max(0, idle.length - historyLimit(set))));
  };

  const report = async (key: string, set: ApiObject, names: SetRevisions): Promise<void> => {
    const { status, lookAgainAt } = statefulStatus(set, names, owned.all(set), clock.now());
    if (lookAgainAt !== undefined) work.addAt(key, lookAgainAt);
    const old = look(set, 'status');
    if (Object.entries(status).every(([field, value]) => (old[field] ?? 0) === value)) return;
    await allowing(api.patch(STATEFUL_SETS, { ...splitKey(key), subresource: 'status' }, { status }), 404, 409);
  };

  const work = queue(async (key) => {
    const set = sets.get(key);
    if (set === undefined) return;
    if (isDying(set)) return report(key, set, namesIn(set));
    const known = await history.keep(set);
    const names = revisionsOf(set, known);
    try {
      await adoption.claim(set, (pod) => ordinalOf(set, pod) >= 0);
      await mend(set, owned.all(set));
      const plan = planStatefulSet({ set, pods: owned.all(set), ...names, now: clock.now() });
      for (const { ordinal, revision } of plan.create) await create(set, ordinal, revision);
      for (const pod of plan.delete) {
        const gone = owned.delete(pod).then(() => true);
        await told('Delete', set, pod.metadata.name ?? '', gone);
      }
      await cleanUp(set, known, names);
    } finally {
      await report(key, set, names);
    }
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
