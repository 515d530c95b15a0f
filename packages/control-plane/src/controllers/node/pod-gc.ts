import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime } from '../../apimachinery/objects/object-text.ts';
import { items, look, type Plain } from '../../apimachinery/objects/plain.ts';
import { allowing } from '../client/api.ts';
import { NODES, PODS } from '../client/resources.ts';
import { conditionOf, isDying, isTerminal, nodeNameOf, observedOf } from '../objects/fields.ts';
import { nodeWords } from '../objects/index-words.ts';
import { keyOf, splitKey } from '../objects/keys.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { isOutOfService } from '../volumes/attach/attachments.ts';

/** The controller keeps the pods of a deleted node for this time. */
const QUARANTINE_MS = 40_000;

/** The maximum number of ended pods in the cluster. */
const MOST_ENDED = 12_500;
const SWEEP_MS = 20_000;

function byUselessness(a: ApiObject, b: ApiObject): number {
  const evicted = (pod: ApiObject): number => (look(pod, 'status').reason === 'Evicted' ? 0 : 1);
  const made = ({ metadata }: ApiObject): string => metadata.creationTimestamp ?? '';
  const order = (pod: ApiObject): string => `${made(pod)} ${pod.metadata.name}`;
  return evicted(a) - evicted(b) || (order(a) < order(b) ? -1 : 1);
}

export const surplusEnded = (pods: readonly ApiObject[], most = MOST_ENDED): ApiObject[] =>
  pods.toSorted(byUselessness).slice(0, Math.max(0, pods.length - most));

/** Returns the status of a pod that no kubelet can end: the phase is Failed, and `condition` contains the reason. */
function failedStatus(pod: ApiObject, condition: Plain | undefined): Plain | undefined {
  const phase = isTerminal(pod) ? {} : { phase: 'Failed', ...observedOf(pod) };
  if (condition === undefined) return isTerminal(pod) ? undefined : phase;
  const others = items(look(pod, 'status'), 'conditions').filter(({ type }) => type !== condition.type);
  return { ...phase, conditions: [...others, condition] };
}

/** Returns whether a node is out of service and not ready, so its kubelet no longer ends pods. */
const isExpelled = (node: ApiObject | undefined): boolean =>
  node !== undefined && isOutOfService(node) && conditionOf(node, 'Ready')?.status !== 'True';

function setup({ api, clock, informer, queue }: ControllerContext): void {
  const nodes = informer(NODES);
  const pods = informer(PODS);
  const podsOn = pods.index(nodeWords);
  const missing = new Map<string, number>();

  const ended = new Set<string>();

  const remove = async (key: string, pod: ApiObject, condition?: Plain): Promise<void> => {
    const { uid = '' } = pod.metadata;
    const status = failedStatus(pod, condition);
    if (status !== undefined) {
      const place = { ...splitKey(key), subresource: 'status' };
      const reported = await allowing(api.patch(PODS, place, { metadata: { uid }, status }), 404, 409);
      if (reported === undefined) return;
    }
    await allowing(api.delete(PODS, splitKey(key), { gracePeriodSeconds: 0, preconditions: { uid } }), 404, 409);
  };

  const work = queue(async (key) => {
    const pod = pods.get(key);
    if (pod === undefined) return;
    const node = nodeNameOf(pod);
    // No kubelet can end a pod that never had a node.
    if (isDying(pod) && (node === '' || isExpelled(nodes.get(node)))) return remove(key, pod);
    if (node === '' || nodes.get(node) !== undefined) return;
    const now = clock.now().getTime();
    const since = missing.get(node) ?? now;
    missing.set(node, since);
    if (now < since + QUARANTINE_MS) return work.addAt(key, new Date(since + QUARANTINE_MS));
    // A new node may not be in the cache yet, so the controller reads the node from the API server.
    if ((await allowing(api.get(NODES, { name: node }), 404)) !== undefined) return;
    await remove(key, pod, {
      type: 'DisruptionTarget',
      ...observedOf(pod),
      status: 'True',
      lastProbeTime: null,
      lastTransitionTime: formatTime(clock.now()),
      reason: 'DeletionByPodGC',
      message: 'PodGC: node no longer exists',
    });
  });

  const sweep = queue(async () => {
    const known = [...ended].map((key) => pods.get(key)).filter((pod) => pod !== undefined);
    for (const pod of surplusEnded(known)) await remove(keyOf(pod), pod);
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
    if (type !== 'deleted' && isTerminal(object)) ended.add(keyOf(object));
    else ended.delete(keyOf(object));
    if (ended.size > MOST_ENDED) sweep.addAfter('', SWEEP_MS);
    if (type === 'deleted') {
      if (podsOn(node).length === 0) missing.delete(node);
      return;
    }
    if (isDying(object) && (node === '' || isExpelled(nodes.get(node)))) work.add(keyOf(object));
    if (node !== '' && nodeNameOf(old ?? { ...object, spec: {} }) !== node && nodes.get(node) === undefined) {
      work.add(keyOf(object));
    }
  });
}

/**
 * Deletes pods of missing nodes, and terminating pods without a working node.
 * @see kubernetes pkg/controller/podgc
 */
export const podGarbageCollector: Controller = { name: 'pod-garbage-collector', setup };
