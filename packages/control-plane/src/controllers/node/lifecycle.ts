import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime } from '../../apimachinery/objects/object-text.ts';
import { defined, items, look, text } from '../../apimachinery/objects/plain.ts';
import { allowing } from '../client/api.ts';
import { LEASES, NODES, PODS } from '../client/resources.ts';
import { conditionOf, isReady, namespaceOf, nodeNameOf } from '../objects/fields.ts';
import { nodeWords } from '../objects/index-words.ts';
import { keyOf, splitKey } from '../objects/keys.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import type { WorkQueue } from '../runtime/queue.ts';
import { looksAlike, readyOf } from './conditions.ts';
import type { EvictionRules } from './eviction-rules.ts';
import { NodeMonitor } from './monitor.ts';
import { scheduleTaints } from './taints.ts';
import { EVICTION_RULES } from './zones.ts';

const LEASE_NAMESPACE = 'kube-node-lease';
/** The controller writes an event about a new node only if the node is younger than this time. */
const NEW_MS = 60_000;
const RETRY_MS = 20;

const OLD_LABELS = [
  ['kubernetes.io/os', 'beta.kubernetes.io/os'],
  ['kubernetes.io/arch', 'beta.kubernetes.io/arch'],
] as const;

const isNew = (node: ApiObject, now: Date): boolean =>
  now.getTime() - new Date(node.metadata.creationTimestamp ?? 0).getTime() < NEW_MS;

const heartbeatOf = (node: ApiObject): unknown => conditionOf(node, 'Ready')?.lastHeartbeatTime;

/** Returns the deprecated labels that are missing or wrong on a node, with the correct values. */
function oldLabels({ metadata: { labels = {} } }: ApiObject): Record<string, string> {
  const missing: Record<string, string> = {};
  for (const [current, old] of OLD_LABELS) {
    const value = labels[current];
    if (value !== undefined && labels[old] !== value) missing[old] = value;
  }
  return missing;
}

function setup(context: ControllerContext, rules: EvictionRules): void {
  const { api, clock, informer, queue, recorder, signal } = context;
  const nodes = informer(NODES);
  const pods = informer(PODS);
  const podsOn = pods.index(nodeWords);
  const tell = recorder('node-controller');

  /** Sets the condition `Ready` of pods to False while their node is not ready. */
  const podWork = queue(async (key) => {
    const pod = pods.get(key);
    if (pod === undefined || !isReady(pod)) return;
    const ready = monitor.ready(nodeNameOf(pod));
    if (ready === undefined || ready === 'True') return;
    const conditions = items(look(pod, 'status'), 'conditions').map((condition) =>
      condition.type === 'Ready'
        ? { ...condition, status: 'False', lastTransitionTime: formatTime(clock.now()) }
        : condition,
    );
    const { resourceVersion } = pod.metadata;
    const place = { ...splitKey(key), subresource: 'status' };
    const patch = { metadata: { resourceVersion }, status: { conditions } };
    const marked = await allowing(api.patch(PODS, place, patch), 404, 409);
    if (marked !== undefined) tell(marked, 'Warning', 'NodeNotReady', 'Node is not ready');
    else if (pods.get(key) !== undefined) podWork.addAfter(key, RETRY_MS);
  });

  const monitor = new NodeMonitor(context, rules, nodes, {
    onLost: (node) => {
      const { name = '' } = node.metadata;
      tell(
        { ...node, apiVersion: 'v1', kind: 'Node' },
        'Normal',
        'NodeNotReady',
        `Node ${name} status is now: NodeNotReady`,
      );
      for (const pod of podsOn(name)) podWork.add(keyOf(pod));
    },
  });
  signal.addEventListener('abort', () => monitor.stop());

  const nodeWork = queue(async (name) => {
    const node = nodes.get(name);
    if (node === undefined) return;
    const { resourceVersion } = node.metadata;
    const taints = scheduleTaints(node, formatTime(clock.now()));
    const labels = oldLabels(node);
    const hasLabels = Object.keys(labels).length > 0;
    if (taints === undefined && !hasLabels) return;
    const patch = defined({
      metadata: defined({ resourceVersion, labels: hasLabels ? labels : undefined }),
      spec: taints === undefined ? undefined : { taints: taints.length === 0 ? null : taints },
    });
    await allowing(api.patch(NODES, { name }, patch), 404, 409);
  });

  follow(context, { monitor, nodeWork, podWork });
}

function follow(
  { clock, informer, recorder }: ControllerContext,
  { monitor, nodeWork, podWork }: { monitor: NodeMonitor; nodeWork: WorkQueue; podWork: WorkQueue },
): void {
  const nodes = informer(NODES);
  const leases = informer(LEASES);
  const pods = informer(PODS);
  const tell = recorder('node-controller');
  nodes.onChange(({ type, object, old }) => {
    const { name = '' } = object.metadata;
    const about = { ...object, apiVersion: 'v1', kind: 'Node' };
    if (type === 'deleted') {
      tell(about, 'Normal', 'RemovingNode', `Node ${name} event: Removing Node ${name} from Controller`);
      return monitor.gone(name);
    }
    if (type === 'added' && isNew(object, clock.now())) {
      tell(about, 'Normal', 'RegisteredNode', `Node ${name} event: Registered Node ${name} in Controller`);
    }
    // A change of the status by another client counts as a heartbeat.
    const speaks = old !== undefined && readyOf(object) !== readyOf(old) && readyOf(object) !== 'Unknown';
    if (old !== undefined && (heartbeatOf(object) !== heartbeatOf(old) || speaks)) monitor.beat(name);
    if (old !== undefined && looksAlike(object, old)) return;
    monitor.changed(object);
    nodeWork.add(name);
  });
  leases.onChange(({ type, object, old }) => {
    if (type === 'deleted' || namespaceOf(object) !== LEASE_NAMESPACE) return;
    if (text(look(object, 'spec'), 'renewTime') === text(look(old, 'spec'), 'renewTime')) return;
    monitor.beat(object.metadata.name ?? '');
  });
  pods.onChange(({ type, object, old }) => {
    const node = nodeNameOf(object);
    if (type === 'deleted' || node === '' || (old !== undefined && nodeNameOf(old) === node)) return;
    if (isReady(object)) podWork.add(keyOf(object));
  });
}

/**
 * If a node does not renew its Lease, its condition `Ready` becomes `Unknown`.
 * @param rules replaces the defaults of kube-controller-manager
 * @see kubernetes pkg/controller/nodelifecycle
 */
export const nodeLifecycle = (rules: Partial<EvictionRules> = {}): Controller => ({
  name: 'node-lifecycle',
  setup: (context) => setup(context, { ...EVICTION_RULES, ...rules }),
});
