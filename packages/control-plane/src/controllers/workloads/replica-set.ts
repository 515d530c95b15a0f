import { isPlain, labels, look, type Plain } from '../../kinds/plain.ts';
import type { ApiObject } from '../../object.ts';
import { selectorOf } from '../../registry/label-selector.ts';
import { allowing, hasCode } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { keyOf, splitKey } from '../runtime/informer.ts';
import { controllerOf, isActive, isDying, namespaceOf, ownerReference } from '../runtime/objects.ts';
import { PODS, REPLICA_SETS } from '../runtime/resources.ts';
import { byWorth, countPods, minReadySecondsOf, OwnedPods, podOf, replicasOf } from './pods.ts';

type SelectorSpec = Parameters<typeof selectorOf>[0];

/** The status of a set with these pods, in the fields of its type. */
export function replicaSetStatus(
  set: ApiObject,
  pods: readonly ApiObject[],
  terminating: number,
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
    terminatingReplicas: terminating,
    observedGeneration: set.metadata.generation ?? 0,
  };
  return { status, lookAgainAt };
}

/** Whether the status says these things already; zero and absent are the same. */
export const saysAlready = (object: ApiObject, status: Plain): boolean => {
  const old = look(object, 'status');
  return Object.entries(status).every(([field, value]) => (old[field] ?? 0) === value) && 'terminatingReplicas' in old;
};

function setup({ api, clock, informer, queue }: ControllerContext): void {
  const sets = informer(REPLICA_SETS);
  const pods = informer(PODS);
  const owned = new OwnedPods(api, pods);
  const setsIn = sets.index((set) => [namespaceOf(set)]);
  const orphansIn = pods.index((pod) => (controllerOf(pod) === undefined ? [namespaceOf(pod)] : []));

  const adopt = async (set: ApiObject): Promise<void> => {
    const selects = selectorOf(look(set, 'spec').selector as SelectorSpec);
    for (const pod of orphansIn(namespaceOf(set))) {
      if (!isActive(pod) || !selects(pod.metadata.labels ?? {})) continue;
      const { namespace, name, uid, ownerReferences = [] } = pod.metadata;
      const patch = { metadata: { uid, ownerReferences: [...ownerReferences, ownerReference(set)] } };
      await allowing(api.patch(PODS, { namespace, name }, patch), 404, 409);
    }
  };

  /** Gives up pods that no longer have the set's labels. */
  const release = async (set: ApiObject, active: readonly ApiObject[]): Promise<ApiObject[]> => {
    const selects = selectorOf(look(set, 'spec').selector as SelectorSpec);
    const kept: ApiObject[] = [];
    for (const pod of active) {
      if (selects(pod.metadata.labels ?? {})) {
        kept.push(pod);
        continue;
      }
      const { namespace, name, uid, ownerReferences = [] } = pod.metadata;
      const others = ownerReferences.filter((owner) => owner.uid !== set.metadata.uid);
      const patch = { metadata: { uid, ownerReferences: others.length === 0 ? null : others } };
      await allowing(api.patch(PODS, { namespace, name }, patch), 404, 409);
    }
    return kept;
  };

  const scale = async (set: ApiObject, active: readonly ApiObject[]): Promise<void> => {
    const missing = replicasOf(set) - active.length;
    if (missing > 0) {
      const pod = podOf(set, look(set, 'spec', 'template'));
      await Promise.all(Array.from({ length: missing }, () => owned.create(set, pod)));
    }
    if (missing < 0)
      await Promise.all(
        byWorth(active)
          .slice(0, -missing)
          .map((pod) => owned.delete(pod)),
      );
  };

  const report = async (key: string, set: ApiObject): Promise<void> => {
    const active = owned.active(set);
    const terminating = owned.all(set).filter(isDying).length;
    const { status, lookAgainAt } = replicaSetStatus(set, active, terminating, clock.now());
    if (lookAgainAt !== undefined) work.addAt(key, lookAgainAt);
    if (saysAlready(set, status)) return;
    await allowing(api.patch(REPLICA_SETS, { ...splitKey(key), subresource: 'status' }, { status }), 404, 409);
  };

  const work = queue(async (key) => {
    const set = sets.get(key);
    if (set === undefined) return;
    let failure: unknown;
    if (!isDying(set)) {
      try {
        await adopt(set);
        await scale(set, await release(set, owned.active(set)));
      } catch (error) {
        // A namespace on its way out takes no pods, and will take this set with it.
        if (!hasCode(error, 403)) failure = error;
      }
    }
    await report(key, set);
    if (failure !== undefined) throw failure;
  });

  sets.onChange(({ type, object }) => {
    if (type === 'deleted') owned.forget(object.metadata.uid ?? '');
    else work.add(keyOf(object));
  });
  pods.onChange(({ object, old }) => {
    for (const pod of old === undefined ? [object] : [object, old]) {
      const owner = controllerOf(pod);
      if (owner?.kind === 'ReplicaSet') work.add(`${namespaceOf(pod)}/${owner.name}`);
      if (owner !== undefined || !isActive(pod)) continue;
      for (const set of setsIn(namespaceOf(pod))) {
        const selector = look(set, 'spec').selector;
        if (isPlain(selector) && selectorOf(selector as SelectorSpec)(pod.metadata.labels ?? {})) work.add(keyOf(set));
      }
    }
  });
}

/**
 * Keeps as many pods as a ReplicaSet asks for.
 * @see kubernetes pkg/controller/replicaset
 */
export const replicaSetController: Controller = { name: 'replicaset', setup };
