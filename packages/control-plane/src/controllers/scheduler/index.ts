import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, look, number, text } from '../../apimachinery/objects/plain.ts';
import { allowing } from '../client/api.ts';
import { CLAIMS, NAMESPACES, NODES, PODS, STORAGE_CLASSES, VOLUMES } from '../client/resources.ts';
import { isDying, isTerminal, namespaceOf, nodeNameOf } from '../objects/fields.ts';
import { keyOf } from '../objects/keys.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import type { Informer } from '../runtime/informer.ts';
import type { WorkQueue } from '../runtime/queue.ts';
import { claimNamesOf, claimWords } from '../volumes/binder/claims.ts';
import { SchedulerWriter } from './apply.ts';
import { chooseNode } from './choose.ts';
import { nodesNamed } from './node-match.ts';
import { blockedMessage } from './refusal.ts';
import { Usage } from './resources.ts';
import { isForOnePod, planVolumes, type VolumePlan, volumeNeeds } from './volumes.ts';

const SCHEDULER = 'default-scheduler';
const USER_AGENT = 'kube-scheduler/v1.36.3';

const isPending = (pod: ApiObject): boolean =>
  nodeNameOf(pod) === '' &&
  !isDying(pod) &&
  !isTerminal(pod) &&
  text(look(pod, 'spec'), 'schedulerName') === SCHEDULER &&
  items(look(pod, 'spec'), 'schedulingGates').length === 0;

/** Returns whether a change of a node is irrelevant for the scheduler, for example a heartbeat. */
const sameForScheduling = (node: ApiObject, old: ApiObject): boolean =>
  jsonEquals(node.spec, old.spec) &&
  jsonEquals(node.metadata.labels, old.metadata.labels) &&
  jsonEquals(look(node, 'status').allocatable, look(old, 'status').allocatable);

interface Memory {
  readonly usage: Usage;
  readonly waiting: Set<string>;
  /** The scheduler currently binds the claims of these pods. The map contains the chosen node of each pod. */
  readonly reserved: Map<string, string>;
}

/** The decision about a pod. With `prepare`, the scheduler first binds the claims of the pod. */
type Outcome =
  | { readonly kind: 'unschedulable'; readonly why: string }
  | { readonly kind: 'bind'; readonly node: string }
  | { readonly kind: 'prepare'; readonly node: string; readonly plan: VolumePlan };

function setup({ api: shared, clock, informer, queue, announcer }: ControllerContext): void {
  const api = shared.as(USER_AGENT);
  const pods = informer(PODS);
  const nodes = informer(NODES);
  const claims = informer(CLAIMS);
  const volumes = informer(VOLUMES);
  const classes = informer(STORAGE_CLASSES);
  const namespaces = informer(NAMESPACES);
  const labelsOf = (namespace: string): Record<string, string> => namespaces.get(namespace)?.metadata.labels ?? {};
  const writer = new SchedulerWriter(api, clock, announcer(SCHEDULER, USER_AGENT));
  const memory: Memory = { usage: new Usage(), waiting: new Set(), reserved: new Map() };
  const { usage, waiting, reserved } = memory;
  const usersOf = pods.index(claimWords);
  const hasPlace = (pod: ApiObject): boolean =>
    !isTerminal(pod) && (nodeNameOf(pod) !== '' || usage.nodeOf(pod.metadata.uid ?? '') !== undefined);
  const isTaken = (pod: ApiObject): boolean =>
    claimNamesOf(pod).some((name) => {
      const key = `${namespaceOf(pod)}/${name}`;
      if (!isForOnePod(claims.get(key))) return false;
      return usersOf(key).some((other) => other.metadata.uid !== pod.metadata.uid && hasPlace(other));
    });

  const decide = (pod: ApiObject): Outcome => {
    const blocked = (why: string): Outcome => ({ kind: 'unschedulable', why: blockedMessage(nodes.size, why) });
    if (nodesNamed(pod)?.size === 0) return blocked('pod affinity terms conflict');
    const needs = volumeNeeds(pod, { claims, volumes, classes });
    if (needs.blocked !== undefined) return blocked(needs.blocked);
    const plan = (node: ApiObject): VolumePlan | undefined => planVolumes(needs.waiting, node, { volumes, classes });
    const canBind = (node: ApiObject): boolean => needs.waiting.length === 0 || plan(node) !== undefined;
    const preferred = reserved.get(keyOf(pod)) ?? text(look(pod, 'status'), 'nominatedNodeName');
    const choice = { node: preferred, canBind, isTaken: isTaken(pod) };
    const decision = chooseNode(pod, nodes.all(), needs.volumes, usage, labelsOf, choice);
    reserved.delete(keyOf(pod));
    if ('why' in decision) return { kind: 'unschedulable', why: decision.why };
    const node = decision.node.metadata.name ?? '';
    if (needs.waiting.length === 0) return { kind: 'bind', node };
    return { kind: 'prepare', node, plan: plan(decision.node) ?? { bindings: [], provisions: [] } };
  };

  const work = queue(async (key) => {
    const pod = pods.get(key);
    waiting.delete(key);
    if (pod === undefined || !isPending(pod) || usage.nodeOf(pod.metadata.uid ?? '') !== undefined) return;
    const outcome = decide(pod);
    if (outcome.kind === 'unschedulable') {
      waiting.add(key);
      await writer.unschedulable(pod, outcome.why);
    } else if (outcome.kind === 'prepare') {
      waiting.add(key);
      reserved.set(key, outcome.node);
      await writer.prepareVolumes(outcome.plan, outcome.node);
    } else {
      usage.put(pod, outcome.node);
      const bound = writer.bind(pod, outcome.node).catch((error: unknown) => {
        usage.remove(pod.metadata.uid ?? '');
        throw error;
      });
      // The pod may be deleted, or another client may have bound the pod.
      await allowing(bound, 404, 409);
    }
  });
  follow(pods, memory, work);
  const retryAll = (): void => retry(pods, waiting, work);
  nodes.onChange(({ type, object, old }) => {
    if (type === 'updated' && old !== undefined && sameForScheduling(object, old)) return;
    retryAll();
  });
  for (const cache of [claims, volumes, classes]) cache.onChange(retryAll);
}

/**
 * Adds the waiting pods to the queue, sorted by priority. Among pods with equal priority, the pod with the longest wait
 * is first.
 */
function retry(pods: Informer, waiting: ReadonlySet<string>, work: WorkQueue): void {
  const priorityOf = (key: string): number => number(look(pods.get(key), 'spec'), 'priority') ?? 0;
  const keys = [...waiting].map((key) => ({ key, priority: priorityOf(key) }));
  for (const { key } of keys.sort((one, other) => other.priority - one.priority)) work.add(key);
}

function follow(pods: Informer, { usage, waiting, reserved }: Memory, work: WorkQueue): void {
  const retryAttracted = (): void => {
    for (const key of waiting) {
      const spec = look(pods.get(key), 'spec');
      if (look(spec, 'affinity').podAffinity !== undefined || spec.topologySpreadConstraints !== undefined)
        work.add(key);
    }
  };
  pods.onChange(({ type, object, old }) => {
    const { uid = '' } = object.metadata;
    const node = nodeNameOf(object);
    if (type === 'deleted' || isTerminal(object)) {
      const had = usage.nodeOf(uid) !== undefined;
      usage.remove(uid);
      waiting.delete(keyOf(object));
      reserved.delete(keyOf(object));
      if (had) retry(pods, waiting, work);
    } else if (node !== '') {
      const relabelled = old !== undefined && !jsonEquals(object.metadata.labels, old.metadata.labels);
      // A terminating pod still uses its resources, so the scheduler retries the waiting pods only after the pod is
      // gone.
      const goes = old !== undefined && isDying(object) && !isDying(old);
      if (relabelled || goes || (usage.nodeOf(uid) !== undefined && usage.nodeOf(uid) !== node)) usage.remove(uid);
      usage.put(object, node);
      // A pod with changed labels, or a new pod on a node, may satisfy the pod affinity of a waiting pod.
      if (relabelled || old === undefined || nodeNameOf(old) === '') retryAttracted();
      waiting.delete(keyOf(object));
    } else if (isPending(object)) {
      // The scheduler retries a waiting pod only if the spec of the pod has changed.
      const changed = old === undefined || !jsonEquals(object.spec, old.spec);
      if (changed || !waiting.has(keyOf(object))) work.add(keyOf(object));
    }
  });
}

/**
 * Assigns pending pods to nodes, but does not preempt pods. The scheduler checks taints, selectors, affinity to nodes
 * and pods, topology spread, resources and volumes. The scheduler selects the suitable node with the fewest pods.
 * @see kubernetes pkg/scheduler
 */
export const scheduler: Controller = { name: 'scheduler', setup };
