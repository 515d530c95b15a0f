import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, look, number, type Plain, text } from '../../apimachinery/objects/plain.ts';
import { allowing } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { keyOf, splitKey } from '../runtime/informer.ts';
import {
  conditionOf,
  isDying,
  isTerminal,
  namespaceOf,
  nodeNameOf,
  observedOf,
  timestamp,
} from '../runtime/objects.ts';
import { CLAIMS, NAMESPACES, NODES, PODS, STORAGE_CLASSES, VOLUMES } from '../runtime/resources.ts';
import { BindingWriter, promisePatch } from '../volumes/binder/bind.ts';
import { claimNamesOf, SELECTED_NODE } from '../volumes/binder/claims.ts';
import { obstacle } from './fit.ts';
import { nodesNamed } from './node-match.ts';
import { blockedMessage, crowded, final, type Refusal, unschedulableMessage } from './refusal.ts';
import { Usage } from './resources.ts';
import { isForOnePod, planVolumes, reachesVolumes, type VolumePlan, volumeNeeds } from './volumes.ts';

const SCHEDULER = 'default-scheduler';
const USER_AGENT = 'kube-scheduler/v1.36.3';

/** Whether a pod waits for this scheduler. */
const isPending = (pod: ApiObject): boolean =>
  nodeNameOf(pod) === '' &&
  !isDying(pod) &&
  !isTerminal(pod) &&
  text(look(pod, 'spec'), 'schedulerName') === SCHEDULER &&
  items(look(pod, 'spec'), 'schedulingGates').length === 0;

/** Items of a list do not say their kind. */
const aboutPod = (pod: ApiObject): ApiObject => ({ ...pod, apiVersion: 'v1', kind: 'Pod' });

/** What of a node the scheduler looks at: a heartbeat changes none of it. */
const sameForScheduling = (node: ApiObject, old: ApiObject): boolean =>
  jsonEquals(node.spec, old.spec) &&
  jsonEquals(node.metadata.labels, old.metadata.labels) &&
  jsonEquals(look(node, 'status').allocatable, look(old, 'status').allocatable);

/** Where a pod goes, or why it goes nowhere. */
type Decision = { readonly node: ApiObject } | { readonly why: string };

const TAKEN =
  'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod';

/** What a pod's unbound claims mean for its place. */
interface VolumeChoice {
  /** Another pod has a claim that only one may have. */
  readonly isTaken?: boolean;
  /** The node for which the volumes were prepared, or the nominated node of the pod. */
  readonly node?: string | undefined;
  readonly canBind?: (node: ApiObject) => boolean;
}

/** The node with the fewest pods of those that can take the pod. */
export function chooseNode(
  pod: ApiObject,
  nodes: Iterable<ApiObject>,
  volumes: readonly ApiObject[],
  usage: Usage,
  namespaceLabels: (namespace: string) => Readonly<Record<string, string>> = () => ({}),
  { node: preferred, canBind = () => true, isTaken = false }: VolumeChoice = {},
): Decision {
  const known = [...nodes].filter((node) => !isDying(node));
  const beside = usage.neighbours.checkFor(pod, known, namespaceLabels);
  const named = nodesNamed(pod);
  const refusals: Refusal[] = [];
  let best: ApiObject | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const node of known) {
    const { name = '' } = node.metadata;
    const refusal =
      (named?.has(name) === false ? final("node(s) didn't satisfy plugin(s) [NodeAffinity]") : undefined) ??
      obstacle(pod, node, usage) ??
      (isTaken ? crowded(TAKEN) : undefined) ??
      (reachesVolumes(volumes, node) ? undefined : final("node(s) didn't match PersistentVolume's node affinity")) ??
      (canBind(node) ? undefined : final("node(s) didn't find available persistent volumes to bind")) ??
      beside(node);
    if (refusal !== undefined) {
      refusals.push(refusal);
      continue;
    }
    const pods = name === preferred ? -1 : usage.used(name, 'pods');
    if (pods < fewest) {
      fewest = pods;
      best = node;
    }
  }
  return best === undefined ? { why: unschedulableMessage(pod, refusals) } : { node: best };
}

function setup({ api: shared, clock, informer, queue, announcer }: ControllerContext): void {
  // What it writes is its own, not the controller manager's.
  const api = shared.as(USER_AGENT);
  const pods = informer(PODS);
  const nodes = informer(NODES);
  const claims = informer(CLAIMS);
  const volumes = informer(VOLUMES);
  const classes = informer(STORAGE_CLASSES);
  const namespaces = informer(NAMESPACES);
  const labelsOf = (namespace: string): Record<string, string> => namespaces.get(namespace)?.metadata.labels ?? {};
  const usage = new Usage();
  const writer = new BindingWriter(api);
  const tell = announcer(SCHEDULER, USER_AGENT);
  /** Pods that found no place: looked at again when something changes that may give them one. */
  const waiting = new Set<string>();
  /** Nodes that pods will go to once their claims have volumes there. */
  const reserved = new Map<string, string>();

  const usersOf = pods.index((pod) => claimNamesOf(pod).map((name) => `${namespaceOf(pod)}/${name}`));
  const hasPlace = (pod: ApiObject): boolean =>
    !isTerminal(pod) && (nodeNameOf(pod) !== '' || usage.nodeOf(pod.metadata.uid ?? '') !== undefined);
  /** Whether one of the pod's claims is for a single pod, which is another one. */
  const isTaken = (pod: ApiObject): boolean =>
    claimNamesOf(pod).some((name) => {
      const key = `${namespaceOf(pod)}/${name}`;
      if (!isForOnePod(claims.get(key))) return false;
      return usersOf(key).some((other) => other.metadata.uid !== pod.metadata.uid && hasPlace(other));
    });

  const reportUnschedulable = async (key: string, pod: ApiObject, message: string): Promise<void> => {
    waiting.add(key);
    const old = conditionOf(pod, 'PodScheduled');
    if (old?.status === 'False' && old.reason === 'Unschedulable' && old.message === message) return;
    tell(aboutPod(pod), 'Warning', 'FailedScheduling', 'Scheduling', message);
    const condition: Plain = {
      type: 'PodScheduled',
      ...observedOf(pod),
      status: 'False',
      lastProbeTime: null,
      lastTransitionTime: old?.status === 'False' ? old.lastTransitionTime : timestamp(clock.now()),
      reason: 'Unschedulable',
      message,
    };
    const others = items(look(pod, 'status'), 'conditions').filter(({ type }) => type !== 'PodScheduled');
    const { resourceVersion } = pod.metadata;
    const patch = { metadata: { resourceVersion }, status: { conditions: [...others, condition] } };
    await allowing(api.patch(PODS, { ...splitKey(key), subresource: 'status' }, patch), 404, 409);
  };

  const bind = async (key: string, pod: ApiObject, node: string): Promise<void> => {
    const { namespace, name } = splitKey(key);
    const { uid = '' } = pod.metadata;
    usage.put(pod, node);
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name, namespace, uid },
      target: { apiVersion: 'v1', kind: 'Node', name: node },
    };
    try {
      await api.create(PODS, binding, { namespace, name, subresource: 'binding' });
      tell(aboutPod(pod), 'Normal', 'Scheduled', 'Binding', `Successfully assigned ${namespace}/${name} to ${node}`);
    } catch (error) {
      usage.remove(uid);
      // The pod is gone, or another client bound it.
      await allowing(Promise.reject(error), 404, 409);
    }
  };

  const work = queue(async (key) => {
    const pod = pods.get(key);
    waiting.delete(key);
    if (pod === undefined || !isPending(pod) || usage.nodeOf(pod.metadata.uid ?? '') !== undefined) return;
    if (nodesNamed(pod)?.size === 0) {
      return reportUnschedulable(key, pod, blockedMessage(nodes.size, 'pod affinity terms conflict'));
    }
    const needs = volumeNeeds(pod, { claims, volumes, classes });
    if (needs.blocked !== undefined) {
      return reportUnschedulable(key, pod, blockedMessage(nodes.size, needs.blocked));
    }
    const plan = (node: ApiObject): VolumePlan | undefined => planVolumes(needs.waiting, node, { volumes, classes });
    const canBind = (node: ApiObject): boolean => needs.waiting.length === 0 || plan(node) !== undefined;
    // A client may have nominated a node. It is used if it is suitable.
    const nominated = text(look(pod, 'status'), 'nominatedNodeName');
    const reservation = { node: reserved.get(key) ?? nominated, canBind, isTaken: isTaken(pod) };
    const decision = chooseNode(pod, nodes.all(), needs.volumes, usage, labelsOf, reservation);
    reserved.delete(key);
    if ('why' in decision) return reportUnschedulable(key, pod, decision.why);
    const node = decision.node.metadata.name ?? '';
    if (needs.waiting.length === 0) return bind(key, pod, node);
    // The claims are bound for this node first; their events bring the pod back.
    waiting.add(key);
    reserved.set(key, node);
    const { bindings = [], provisions = [] } = plan(decision.node) ?? {};
    for (const { volume, claim } of bindings) {
      const promise = promisePatch(volume, claim);
      if (promise !== undefined) await writer.patchVolume(volume, promise);
    }
    for (const claim of provisions) {
      if (claim.metadata.annotations?.[SELECTED_NODE] !== undefined) continue;
      await writer.patchClaim(claim, { metadata: { annotations: { [SELECTED_NODE]: node } } });
    }
  });

  const priorityOf = (key: string): number => number(look(pods.get(key), 'spec'), 'priority') ?? 0;
  /** The highest priority comes first. Among equals, the pod that waited longest comes first. */
  const retryAll = (): void => {
    const keys = [...waiting].map((key) => ({ key, priority: priorityOf(key) }));
    for (const { key } of keys.sort((one, other) => other.priority - one.priority)) work.add(key);
  };
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
      if (had) retryAll();
    } else if (node !== '') {
      const relabelled = old !== undefined && !jsonEquals(object.metadata.labels, old.metadata.labels);
      // A terminating pod counts as such from now on. It triggers no retry, because its resources are not free yet.
      const goes = old !== undefined && isDying(object) && !isDying(old);
      if (relabelled || goes || (usage.nodeOf(uid) !== undefined && usage.nodeOf(uid) !== node)) usage.remove(uid);
      usage.put(object, node);
      // A pod with matching labels may satisfy the pod affinity of a waiting pod.
      if (relabelled || old === undefined || nodeNameOf(old) === '') retryAttracted();
      waiting.delete(keyOf(object));
    } else if (isPending(object)) {
      // Its own status alone gives a waiting pod no better chance.
      const changed = old === undefined || !jsonEquals(object.spec, old.spec);
      if (changed || !waiting.has(keyOf(object))) work.add(keyOf(object));
    }
  });
  nodes.onChange(({ type, object, old }) => {
    if (type === 'updated' && old !== undefined && sameForScheduling(object, old)) return;
    retryAll();
  });
  for (const cache of [claims, volumes, classes]) cache.onChange(retryAll);
}

/**
 * Assigns pending pods to nodes. It checks taints, selectors, affinity to nodes and pods, topology spread, resources and volumes.
 * Of the suitable nodes it selects the one with the fewest pods. It does not preempt pods.
 * @see kubernetes pkg/scheduler
 */
export const scheduler: Controller = { name: 'scheduler', setup };
