import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, labels, look, type Plain } from '../../apimachinery/objects/plain.ts';
import { allowing, type Resource } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { keyOf, splitKey } from '../runtime/informer.ts';
import { controllerOf, isActive, isDying, isTerminal, namespaceOf, timestamp } from '../runtime/objects.ts';
import { PODS, REPLICA_SETS, REPLICATION_CONTROLLERS } from '../runtime/resources.ts';
import { Adoption } from './adopt.ts';
import {
  byWorth,
  countPods,
  inBatches,
  isTerminating,
  minReadySecondsOf,
  OwnedPods,
  podOf,
  replicasOf,
} from './pods.ts';

const REPLICA_FAILURE = 'ReplicaFailure';

/** Which of two kinds that are kept alike. */
interface ReplicaKind {
  readonly resource: Resource;
  readonly kind: string;
  readonly component: string;
  readonly countsTerminating: boolean;
}

/** What kept a set from having its pods; undefined: nothing. */
interface ReplicaFailure {
  readonly reason: 'FailedCreate' | 'FailedDelete';
  readonly message: string;
}

/** The failure as the set's condition; one that stands is kept with its time. */
function conditionsWith(set: ApiObject, failure: ReplicaFailure | undefined, now: Date): Plain[] {
  const conditions = items(look(set, 'status'), 'conditions');
  const others = conditions.filter(({ type }) => type !== REPLICA_FAILURE);
  if (failure === undefined) return others;
  if (others.length < conditions.length) return conditions;
  const lastTransitionTime = timestamp(now);
  return [...others, { type: REPLICA_FAILURE, status: 'True', lastTransitionTime, ...failure }];
}

/** The status of a set with these pods, in the fields of its type. */
function replicaSetStatus(
  set: ApiObject,
  pods: readonly ApiObject[],
  terminating: number | undefined,
  now: Date,
): { status: Plain; lookAgainAt: Date | undefined } {
  const template = Object.entries(labels(look(set, 'spec', 'template', 'metadata'), 'labels'));
  const full = pods.filter((pod) => template.every(([label, value]) => pod.metadata.labels?.[label] === value)).length;
  const { ready, available, lookAgainAt } = countPods(pods, minReadySecondsOf(set), now);
  const status = {
    replicas: pods.length,
    fullyLabeledReplicas: full,
    readyReplicas: ready,
    availableReplicas: available,
    ...(terminating === undefined ? {} : { terminatingReplicas: terminating }),
    observedGeneration: set.metadata.generation ?? 0,
  };
  return { status, lookAgainAt };
}

/** Whether the status already has these values. Zero and absent are equal, except for the number of terminating pods. */
const saysAlready = (object: ApiObject, status: Plain): boolean => {
  const old = look(object, 'status');
  return (
    Object.entries(status).every(([field, value]) =>
      jsonEquals(old[field] ?? (Array.isArray(value) ? [] : 0), value),
    ) &&
    (!('terminatingReplicas' in status) || 'terminatingReplicas' in old)
  );
};

/** The label selector of either kind: a ReplicationController has labels alone. */
const withSelector = (set: ApiObject): ApiObject => {
  const spec = look(set, 'spec');
  if (set.kind !== 'ReplicationController') return set;
  return { ...set, spec: { ...spec, selector: { matchLabels: spec.selector ?? {} } } };
};

const setupOf =
  ({ resource, kind, component, countsTerminating }: ReplicaKind) =>
  ({ api, clock, informer, queue, recorder }: ControllerContext): void => {
    const sets = informer(resource);
    const pods = informer(PODS);
    const owned = new OwnedPods(api, pods, recorder(component));
    const taken = owned.took.bind(owned);
    const adoption = new Adoption(api, { owners: resource, resource: PODS, objects: pods, taken });
    const setsIn = sets.index((set) => [namespaceOf(set)]);
    const siblings = sets.index((set) => {
      const owner = controllerOf(set);
      return owner === undefined ? [] : [owner.uid];
    });

    /** Its pods that run or will run; one that was given up may still be in the cache as its own. */
    const activeOf = (set: ApiObject): ApiObject[] => owned.active(set).filter((pod) => adoption.selects(set, pod));

    /** Pods of all sets that one deployment has: a node with more of them can spare one. */
    const related = (set: ApiObject, active: readonly ApiObject[]): readonly ApiObject[] => {
      const owner = controllerOf(set);
      return owner === undefined ? active : siblings(owner.uid).flatMap((one) => owned.active(one));
    };

    const scale = async (set: ApiObject, active: readonly ApiObject[]): Promise<void> => {
      const missing = replicasOf(set) - active.length;
      if (missing > 0) {
        const pod = podOf(set, look(set, 'spec', 'template'));
        await inBatches(missing, () => owned.create(set, pod));
      }
      if (missing >= 0) return;
      const surplus = byWorth(active, clock.now(), related(set, active)).slice(0, -missing);
      await Promise.all(surplus.map((pod) => owned.delete(pod, set)));
    };

    const report = async (key: string, set: ApiObject, failure: ReplicaFailure | undefined): Promise<void> => {
      const terminating = countsTerminating
        ? owned.all(set).filter((pod) => isDying(pod) && !isTerminal(pod) && adoption.selects(set, pod)).length
        : undefined;
      const now = clock.now();
      const { status, lookAgainAt } = replicaSetStatus(set, activeOf(set), terminating, now);
      if (lookAgainAt !== undefined) work.addAt(key, lookAgainAt);
      status.conditions = conditionsWith(set, failure, now);
      if (saysAlready(set, status)) return;
      await allowing(api.patch(resource, { ...splitKey(key), subresource: 'status' }, { status }), 404, 409);
    };

    const work = queue(async (key) => {
      const cached = sets.get(key);
      if (cached === undefined) return;
      const set = withSelector(cached);
      let error: unknown;
      let failure: ReplicaFailure | undefined;
      if (!isDying(set)) {
        // What cannot be taken is tried again; it says nothing of the pods that the set has.
        await adoption.claim(set, isActive);
        try {
          await scale(set, activeOf(set));
        } catch (thrown) {
          error = thrown;
          const reason = replicasOf(set) > activeOf(set).length ? 'FailedCreate' : 'FailedDelete';
          failure = { reason, message: thrown instanceof Error ? thrown.message : String(thrown) };
        }
      }
      // A namespace on its way out takes no pods, and will take this set with it.
      if (isTerminating(error)) return report(key, set, undefined);
      await report(key, set, failure);
      if (error !== undefined) throw error;
    });

    sets.onChange(({ type, object }) => {
      if (type === 'deleted') owned.forget(object.metadata.uid ?? '');
      else work.add(keyOf(object));
    });
    pods.onChange(({ object, old }) => {
      for (const pod of old === undefined ? [object] : [object, old]) {
        const owner = controllerOf(pod);
        if (owner?.kind === kind) work.add(`${namespaceOf(pod)}/${owner.name}`);
        if (owner !== undefined || !isActive(pod)) continue;
        for (const set of setsIn(namespaceOf(pod))) {
          if (adoption.selects(withSelector(set), pod)) work.add(keyOf(set));
        }
      }
    });
  };

/**
 * Keeps as many pods as a ReplicaSet asks for.
 * @see kubernetes pkg/controller/replicaset
 */
export const replicaSetController: Controller = {
  name: 'replicaset',
  setup: setupOf({
    resource: REPLICA_SETS,
    kind: 'ReplicaSet',
    component: 'replicaset-controller',
    countsTerminating: true,
  }),
};

/**
 * The same for ReplicationControllers.
 * @see kubernetes pkg/controller/replication
 */
export const replicationController: Controller = {
  name: 'replicationcontroller',
  setup: setupOf({
    resource: REPLICATION_CONTROLLERS,
    kind: 'ReplicationController',
    component: 'replication-controller',
    countsTerminating: false,
  }),
};
