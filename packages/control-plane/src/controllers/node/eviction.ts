import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime } from '../../apimachinery/objects/object-text.ts';
import { items, look, number, type Plain } from '../../apimachinery/objects/plain.ts';
import { allowing } from '../client/api.ts';
import { NODES, PODS } from '../client/resources.ts';
import { nodeNameOf, observedOf } from '../objects/fields.ts';
import { nodeWords } from '../objects/index-words.ts';
import { keyOf, splitKey } from '../objects/keys.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { tolerates } from '../scheduler/node-match.ts';

const expelling = (node: ApiObject | undefined): Plain[] =>
  items(look(node, 'spec'), 'taints').filter(({ effect }) => effect === 'NoExecute');

/**
 * Returns the time at which the taints of a node evict a pod. Without a toleration, the eviction is immediate. The
 * period of a toleration starts at the `timeAdded` of the taint, or at `seen`.
 */
function leavesAt(pod: ApiObject, taints: readonly Plain[], now: Date, seen: Date = now): Date | undefined {
  const tolerations = items(look(pod, 'spec'), 'tolerations');
  let first: number | undefined;
  for (const taint of taints) {
    const matching = tolerations.filter((toleration) => tolerates(toleration, taint));
    if (matching.length === 0) return now;
    // If several tolerations match, the shortest period applies.
    const seconds = Math.min(
      ...matching.map((toleration) => number(toleration, 'tolerationSeconds') ?? Number.POSITIVE_INFINITY),
    );
    if (seconds === Number.POSITIVE_INFINITY) continue;
    const added = taint.timeAdded;
    const since = typeof added === 'string' ? new Date(added).getTime() : seen.getTime();
    const at = since + Math.max(0, seconds) * 1000;
    first = Math.min(first ?? at, at);
  }
  return first === undefined ? undefined : new Date(first);
}

function setup({ api, clock, informer, queue, recorder }: ControllerContext): void {
  const nodes = informer(NODES);
  const pods = informer(PODS);
  const podsOn = pods.index(nodeWords);
  const tell = recorder('taint-eviction-controller');

  const evict = async (key: string, pod: ApiObject): Promise<void> => {
    const place = splitKey(key);
    const about = { ...pod, apiVersion: 'v1', kind: 'Pod' };
    tell(about, 'Normal', 'TaintManagerEviction', `Marking for deletion Pod ${key}`);
    const condition: Plain = {
      type: 'DisruptionTarget',
      ...observedOf(pod),
      status: 'True',
      lastProbeTime: null,
      lastTransitionTime: formatTime(clock.now()),
      reason: 'DeletionByTaintManager',
      message: 'Taint manager: deleting due to NoExecute taint',
    };
    const conditions = items(look(pod, 'status'), 'conditions');
    const known = conditions.find(({ type }) => type === condition.type);
    if (['status', 'reason', 'message'].some((field) => known?.[field] !== condition[field])) {
      const others = conditions.filter((one) => one !== known);
      const patch = { metadata: { uid: pod.metadata.uid }, status: { conditions: [...others, condition] } };
      await allowing(api.patch(PODS, { ...place, subresource: 'status' }, patch), 404, 409);
    }
    await allowing(api.delete(PODS, place, { preconditions: { uid: pod.metadata.uid ?? '' } }), 404, 409);
  };

  const waiting = new Map<string, Date>();

  const work = queue(async (key) => {
    const pod = pods.get(key);
    if (pod === undefined) return;
    const taints = expelling(nodes.get(nodeNameOf(pod)));
    const now = clock.now();
    const seen = waiting.get(key) ?? now;
    const at = leavesAt(pod, taints, now, seen);
    if (at !== undefined && at > now) {
      waiting.set(key, seen);
      return work.addAt(key, at);
    }
    const wasWaiting = waiting.delete(key);
    if (at !== undefined) return evict(key, pod);
    const about = { ...pod, apiVersion: 'v1', kind: 'Pod' };
    if (wasWaiting) tell(about, 'Normal', 'TaintManagerEviction', `Cancelling deletion of Pod ${key}`);
  });

  nodes.onChange(({ type, object, old }) => {
    if (type === 'deleted') return;
    const taints = expelling(object);
    if (JSON.stringify(taints) === JSON.stringify(expelling(old))) return;
    for (const pod of podsOn(object.metadata.name ?? '')) work.add(keyOf(pod));
  });
  pods.onChange(({ type, object, old }) => {
    if (type === 'deleted') waiting.delete(keyOf(object));
    if (type === 'deleted' || (old !== undefined && nodeNameOf(old) === nodeNameOf(object))) return;
    if (expelling(nodes.get(nodeNameOf(object))).length > 0) work.add(keyOf(object));
  });
}

/**
 * Deletes pods that do not tolerate a NoExecute taint of their node, and pods whose toleration has expired.
 * @see kubernetes pkg/controller/tainteviction
 */
export const taintEviction: Controller = { name: 'taint-eviction', setup };
