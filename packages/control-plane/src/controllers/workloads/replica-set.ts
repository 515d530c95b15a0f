import type { Clock } from '../../apimachinery/objects/clock.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime, jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { defined, items, labels, look, type Plain } from '../../apimachinery/objects/plain.ts';
import { type Api, allowing } from '../client/api.ts';
import { PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, type Resource } from '../client/resources.ts';
import { controllerOf, isActive, isDying, isTerminal, namespaceOf } from '../objects/fields.ts';
import { namespaceWords } from '../objects/index-words.ts';
import { keyOf } from '../objects/keys.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
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

interface ReplicaKind {
  readonly resource: Resource;
  readonly kind: string;
  readonly component: string;
  readonly countsTerminating: boolean;
}

interface ReplicaFailure {
  readonly reason: 'FailedCreate' | 'FailedDelete';
  readonly message: string;
}

/** Returns the conditions of a set after a sync. */
function conditionsWith(set: ApiObject, failure: ReplicaFailure | undefined, now: Date): Plain[] {
  const conditions = items(look(set, 'status'), 'conditions');
  const others = conditions.filter(({ type }) => type !== REPLICA_FAILURE);
  if (failure === undefined) return others;
  if (others.length < conditions.length) return conditions;
  const lastTransitionTime = formatTime(now);
  return [...others, { type: REPLICA_FAILURE, status: 'True', lastTransitionTime, ...failure }];
}

function replicaSetStatus(
  set: ApiObject,
  pods: readonly ApiObject[],
  terminating: number | undefined,
  now: Date,
): { status: Plain; lookAgainAt: Date | undefined } {
  const template = Object.entries(labels(look(set, 'spec', 'template', 'metadata'), 'labels'));
  const full = pods.filter((pod) => template.every(([label, value]) => pod.metadata.labels?.[label] === value)).length;
  const { ready, available, lookAgainAt } = countPods(pods, minReadySecondsOf(set), now);
  const status = defined({
    replicas: pods.length,
    fullyLabeledReplicas: full,
    readyReplicas: ready,
    availableReplicas: available,
    terminatingReplicas: terminating,
    observedGeneration: set.metadata.generation ?? 0,
  });
  return { status, lookAgainAt };
}

/** Returns whether a set already has the status. */
const saysAlready = (object: ApiObject, status: Plain): boolean => {
  const old = look(object, 'status');
  return (
    Object.entries(status).every(([field, value]) =>
      jsonEquals(old[field] ?? (Array.isArray(value) ? [] : 0), value),
    ) &&
    (!('terminatingReplicas' in status) || 'terminatingReplicas' in old)
  );
};

/** Converts the selector of a ReplicationController, which is only a map of labels, to a label selector. */
const withSelector = (set: ApiObject): ApiObject => {
  const spec = look(set, 'spec');
  if (set.kind !== 'ReplicationController') return set;
  return { ...set, spec: { ...spec, selector: { matchLabels: spec.selector ?? {} } } };
};

class ReplicaKeeper {
  readonly #api: Api;
  readonly #clock: Clock;
  readonly #kind: ReplicaKind;
  readonly #owned: OwnedPods;
  readonly #siblings: (owner: string) => ApiObject[];
  readonly adoption: Adoption;

  constructor({ api, clock, informer }: ControllerContext, kind: ReplicaKind, owned: OwnedPods) {
    const { resource } = kind;
    this.#api = api;
    this.#clock = clock;
    this.#kind = kind;
    this.#owned = owned;
    const taken = owned.took.bind(owned);
    this.adoption = new Adoption(api, { owners: resource, resource: PODS, objects: informer(PODS), taken });
    this.#siblings = informer(resource).index((set) => {
      const owner = controllerOf(set);
      return owner === undefined ? [] : [owner.uid];
    });
  }

  /** Creates or deletes pods of a set. */
  async scale(set: ApiObject): Promise<{ readonly error?: unknown; readonly failure?: ReplicaFailure }> {
    await this.adoption.claim(set, isActive);
    try {
      await this.#carryOut(set, this.#activeOf(set));
      return {};
    } catch (error) {
      const reason = replicasOf(set) > this.#activeOf(set).length ? 'FailedCreate' : 'FailedDelete';
      return { error, failure: { reason, message: error instanceof Error ? error.message : String(error) } };
    }
  }

  /** Writes the status of a set. */
  async report(set: ApiObject, failure: ReplicaFailure | undefined): Promise<Date | undefined> {
    const terminating = this.#kind.countsTerminating
      ? this.#owned.all(set).filter((pod) => isDying(pod) && !isTerminal(pod) && this.adoption.selects(set, pod)).length
      : undefined;
    const now = this.#clock.now();
    const { status, lookAgainAt } = replicaSetStatus(set, this.#activeOf(set), terminating, now);
    status.conditions = conditionsWith(set, failure, now);
    if (saysAlready(set, status)) return lookAgainAt;
    const { namespace, name } = set.metadata;
    const place = { namespace, name, subresource: 'status' };
    await allowing(this.#api.patch(this.#kind.resource, place, { status }), 404, 409);
    return lookAgainAt;
  }

  async #carryOut(set: ApiObject, active: readonly ApiObject[]): Promise<void> {
    const missing = replicasOf(set) - active.length;
    if (missing > 0) {
      const pod = podOf(set, look(set, 'spec', 'template'));
      await inBatches(missing, () => this.#owned.create(set, pod));
    }
    if (missing >= 0) return;
    const surplus = byWorth(active, this.#clock.now(), this.#related(set, active)).slice(0, -missing);
    await Promise.all(surplus.map((pod) => this.#owned.delete(pod, set)));
  }

  /** Returns the active pods of a set. The cache may still contain a pod that the set has released. */
  #activeOf(set: ApiObject): ApiObject[] {
    return this.#owned.active(set).filter((pod) => this.adoption.selects(set, pod));
  }

  /**
   * Returns the pods of all ReplicaSets that belong to the Deployment of this ReplicaSet. On a scale-down, a ReplicaSet
   * first deletes pods from the nodes that run many of these pods.
   */
  #related(set: ApiObject, active: readonly ApiObject[]): readonly ApiObject[] {
    const owner = controllerOf(set);
    return owner === undefined ? active : this.#siblings(owner.uid).flatMap((one) => this.#owned.active(one));
  }
}

const setupOf =
  (kind: ReplicaKind) =>
  (context: ControllerContext): void => {
    const { api, informer, queue, recorder } = context;
    const sets = informer(kind.resource);
    const pods = informer(PODS);
    const owned = new OwnedPods(api, pods, recorder(kind.component));
    const keeper = new ReplicaKeeper(context, kind, owned);
    const setsIn = sets.index(namespaceWords);

    const work = queue(async (key) => {
      const cached = sets.get(key);
      if (cached === undefined) return;
      const set = withSelector(cached);
      const { error, failure } = isDying(set) ? {} : await keeper.scale(set);
      const isExpected = isTerminating(error);
      const lookAgainAt = await keeper.report(set, isExpected ? undefined : failure);
      if (lookAgainAt !== undefined) work.addAt(key, lookAgainAt);
      if (error !== undefined && !isExpected) throw error;
    });

    sets.onChange(({ type, object }) => {
      if (type === 'deleted') owned.forget(object.metadata.uid ?? '');
      else work.add(keyOf(object));
    });
    pods.onChange(({ object, old }) => {
      for (const pod of old === undefined ? [object] : [object, old]) {
        const owner = controllerOf(pod);
        if (owner?.kind === kind.kind) work.add(`${namespaceOf(pod)}/${owner.name}`);
        if (owner !== undefined || !isActive(pod)) continue;
        for (const set of setsIn(namespaceOf(pod))) {
          if (keeper.adoption.selects(withSelector(set), pod)) work.add(keyOf(set));
        }
      }
    });
  };

/**
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
