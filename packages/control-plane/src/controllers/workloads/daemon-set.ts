import { child, items, look, type Plain, text } from '../../kinds/plain.ts';
import type { ApiObject } from '../../object.ts';
import { copyJson } from '../../registry/object-text.ts';
import { allowing } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { keyOf, splitKey } from '../runtime/informer.ts';
import { controllerOf, isDying, isTerminal, namespaceOf, nodeNameOf, scaled } from '../runtime/objects.ts';
import { CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS } from '../runtime/resources.ts';
import { isNamed, isTolerated } from '../scheduler/fit.ts';
import { templateHash } from './hash.ts';
import { RevisionHistory } from './history.ts';
import { availability, countPods, minReadySecondsOf, OwnedPods, podOf } from './pods.ts';

const HASH_LABEL = 'controller-revision-hash';
const GENERATION_LABEL = 'pod-template-generation';

/** A daemon's pod stays where a node is unwell: it is told to tolerate that. */
const TOLERATIONS: readonly Plain[] = [
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
  ...['disk-pressure', 'memory-pressure', 'pid-pressure', 'unschedulable'].map((condition) => ({
    key: `node.kubernetes.io/${condition}`,
    operator: 'Exists',
    effect: 'NoSchedule',
  })),
];

const revisionName = (set: ApiObject): string => `${set.metadata.name}-${hashOf(set)}`;

const hashOf = (set: ApiObject): string => templateHash(look(set, 'spec', 'template'));

/** The pod of a set for one node: bound to it by affinity, which the scheduler carries out. */
export function daemonPod(set: ApiObject, node: string): Plain {
  const pod = copyJson(podOf(set, look(set, 'spec', 'template')));
  const meta = child(pod, 'metadata');
  meta.labels = {
    ...look(meta, 'labels'),
    [HASH_LABEL]: hashOf(set),
    [GENERATION_LABEL]: set.metadata.annotations?.['deprecated.daemonset.template.generation'] ?? '1',
  };
  const spec = child(pod, 'spec');
  const affinity = child(spec, 'affinity');
  const required = { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] }] };
  affinity.nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: required };
  spec.tolerations = [...items(spec, 'tolerations'), ...TOLERATIONS];
  return pod;
}

/** The node that a daemon's pod is meant for, bound or not. */
export function targetOf(pod: ApiObject): string {
  const bound = nodeNameOf(pod);
  if (bound !== '') return bound;
  const required = look(pod, 'spec', 'affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution');
  for (const term of items(required, 'nodeSelectorTerms')) {
    for (const field of items(term, 'matchFields')) {
      const { values } = field;
      if (text(field, 'key') === 'metadata.name' && Array.isArray(values)) return String(values[0]);
    }
  }
  return '';
}

/** Whether a set wants a pod on a node. */
export function wantsNode(set: ApiObject, node: ApiObject): boolean {
  const template = look(set, 'spec', 'template', 'spec');
  const pod: ApiObject = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {},
    spec: { ...template, tolerations: [...items(template, 'tolerations'), ...TOLERATIONS] },
  };
  // A node that is not ready yet may not take the pod now, but will: that is the scheduler's to judge.
  const taints = items(look(node, 'spec'), 'taints').filter(({ key }) => key !== 'node.kubernetes.io/not-ready');
  return isNamed(pod, node) && isTolerated(pod, { ...node, spec: { ...look(node, 'spec'), taints } });
}

function setup({ api, clock, informer, queue }: ControllerContext): void {
  const sets = informer(DAEMON_SETS);
  const nodes = informer(NODES);
  const pods = informer(PODS);
  const owned = new OwnedPods(api, pods);
  const history = new RevisionHistory(api, informer(CONTROLLER_REVISIONS));

  const wantedNodes = (set: ApiObject): Set<string> =>
    new Set([...nodes.all()].filter((node) => wantsNode(set, node)).map((node) => node.metadata.name ?? ''));

  /** Pods of an old template that may be replaced now. */
  const outdated = (set: ApiObject, live: readonly ApiObject[], wanted: number): ApiObject[] => {
    const update = look(set, 'spec', 'updateStrategy');
    if (update.type === 'OnDelete') return [];
    const hash = hashOf(set);
    const seconds = minReadySecondsOf(set);
    const now = clock.now();
    const isAvailable = (pod: ApiObject): boolean => availability(pod, seconds, now).available;
    const allowed = Math.max(1, scaled(look(update, 'rollingUpdate').maxUnavailable ?? 1, wanted, true));
    const old = live.filter((pod) => pod.metadata.labels?.[HASH_LABEL] !== hash && !isDying(pod));
    const down = wanted - live.filter((pod) => !isDying(pod) && isAvailable(pod)).length;
    const unavailable = old.filter((pod) => !isAvailable(pod));
    return [...unavailable, ...old.filter(isAvailable).slice(0, Math.max(0, allowed - down))];
  };

  const sync = async (set: ApiObject): Promise<void> => {
    const wanted = wantedNodes(set);
    const live = owned.all(set).filter((pod) => !isTerminal(pod) || isDying(pod));
    const placed = new Map<string, ApiObject>();
    for (const pod of owned.all(set)) {
      const target = targetOf(pod);
      const surplus = !wanted.has(target) || placed.has(target) || isTerminal(pod);
      if (surplus && !isDying(pod)) await owned.delete(pod);
      if (!surplus || isDying(pod)) placed.set(target, pod);
    }
    for (const node of wanted) {
      if (!placed.has(node)) await allowing(owned.create(set, daemonPod(set, node)), 403);
    }
    for (const pod of outdated(set, live, wanted.size)) await owned.delete(pod);
  };

  const report = async (key: string, set: ApiObject): Promise<void> => {
    const wanted = wantedNodes(set);
    const live = owned.active(set);
    const placed = live.filter((pod) => wanted.has(targetOf(pod)));
    const { ready, available, lookAgainAt } = countPods(placed, minReadySecondsOf(set), clock.now());
    if (lookAgainAt !== undefined) work.addAt(key, lookAgainAt);
    const hash = hashOf(set);
    const status: Plain = {
      observedGeneration: set.metadata.generation ?? 0,
      desiredNumberScheduled: wanted.size,
      currentNumberScheduled: placed.length,
      numberMisscheduled: live.length - placed.length,
      numberReady: ready,
      updatedNumberScheduled: placed.filter((pod) => pod.metadata.labels?.[HASH_LABEL] === hash).length,
      numberAvailable: available,
      numberUnavailable: wanted.size - available,
    };
    const old = look(set, 'status');
    if (Object.entries(status).every(([field, value]) => (old[field] ?? 0) === value)) return;
    await allowing(api.patch(DAEMON_SETS, { ...splitKey(key), subresource: 'status' }, { status }), 404, 409);
  };

  const work = queue(async (key) => {
    const set = sets.get(key);
    if (set === undefined) return;
    if (!isDying(set)) {
      await history.keep(set, revisionName(set));
      await sync(set);
      const used = owned.all(set).map((pod) => `${set.metadata.name}-${pod.metadata.labels?.[HASH_LABEL]}`);
      await history.cleanUp(set, new Set(used).add(revisionName(set)));
    }
    await report(key, set);
  });

  sets.onChange(({ type, object }) => {
    if (type === 'deleted') owned.forget(object.metadata.uid ?? '');
    else work.add(keyOf(object));
  });
  pods.onChange(({ object }) => {
    const owner = controllerOf(object);
    if (owner?.kind === 'DaemonSet') work.add(`${namespaceOf(object)}/${owner.name}`);
  });
  nodes.onChange(({ type, object, old }) => {
    for (const set of sets.all()) {
      const changed = type !== 'updated' || old === undefined || wantsNode(set, object) !== wantsNode(set, old);
      if (changed) work.add(keyOf(set));
    }
  });
}

/**
 * Keeps one pod of a DaemonSet on every node that it wants.
 * @see kubernetes pkg/controller/daemon
 */
export const daemonSetController: Controller = { name: 'daemonset', setup };
