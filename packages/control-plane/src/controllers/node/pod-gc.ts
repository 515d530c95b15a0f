import type { ApiObject } from '../../object.ts';
import { allowing } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { keyOf, splitKey } from '../runtime/informer.ts';
import { conditionOf, isDying, nodeNameOf } from '../runtime/objects.ts';
import { NODES, PODS } from '../runtime/resources.ts';
import { isOutOfService } from '../volumes/attach.ts';

/** How long a node may be missing before its pods go: it may have been replaced by one of the same name. */
const QUARANTINE_MS = 40_000;

/** A node that is not ready and said to be out of service: its kubelet will end no pod any more. */
const isExpelled = (node: ApiObject | undefined): boolean =>
  node !== undefined && isOutOfService(node) && conditionOf(node, 'Ready')?.status !== 'True';

function setup({ api, clock, informer, queue }: ControllerContext): void {
  const nodes = informer(NODES);
  const pods = informer(PODS);
  const podsOn = pods.index((pod) => [nodeNameOf(pod)]);
  /** Since when a node is known to be missing. */
  const missing = new Map<string, number>();

  const remove = async (key: string, pod: ApiObject): Promise<void> => {
    const preconditions = { uid: pod.metadata.uid ?? '' };
    await allowing(api.delete(PODS, splitKey(key), { gracePeriodSeconds: 0, preconditions }), 404, 409);
  };

  const work = queue(async (key) => {
    const pod = pods.get(key);
    if (pod === undefined) return;
    const node = nodeNameOf(pod);
    if (isDying(pod) && isExpelled(nodes.get(node))) return remove(key, pod);
    if (node === '' || nodes.get(node) !== undefined) return;
    const now = clock.now().getTime();
    const since = missing.get(node) ?? now;
    missing.set(node, since);
    if (now < since + QUARANTINE_MS) return work.addAt(key, new Date(since + QUARANTINE_MS));
    // Not from the cache alone: the node may have come this very moment.
    if ((await allowing(api.get(NODES, { name: node }), 404)) !== undefined) return;
    await remove(key, pod);
  });

  nodes.onChange(({ type, object, old }) => {
    const { name = '' } = object.metadata;
    if (type !== 'deleted') {
      missing.delete(name);
      if (isExpelled(object) && !isExpelled(old))
        for (const pod of podsOn(name)) if (isDying(pod)) work.add(keyOf(pod));
      return;
    }
    const left = podsOn(name);
    for (const pod of left) work.add(keyOf(pod));
  });
  pods.onChange(({ type, object, old }) => {
    const node = nodeNameOf(object);
    if (type === 'deleted') {
      if (podsOn(node).length === 0) missing.delete(node);
      return;
    }
    if (isDying(object) && isExpelled(nodes.get(node))) work.add(keyOf(object));
    if (node !== '' && nodeNameOf(old ?? { ...object, spec: {} }) !== node && nodes.get(node) === undefined) {
      work.add(keyOf(object));
    }
  });
}

/**
 * Removes pods whose node is gone, and dying ones of nodes that are out of service.
 * @see kubernetes pkg/controller/podgc
 */
export const podGarbageCollector: Controller = { name: 'pod-garbage-collector', setup };
