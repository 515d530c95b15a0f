import type { Timer } from '../../clock.ts';
import { items, look, type Plain, text } from '../../kinds/plain.ts';
import type { ApiObject } from '../../object.ts';
import { allowing } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { conditionOf, isDying, isReady, namespaceOf, nodeNameOf, timestamp } from '../runtime/objects.ts';
import { LEASES, NODES, PODS } from '../runtime/resources.ts';
import { taintsOf } from './taints.ts';

const LEASE_NAMESPACE = 'kube-node-lease';
/** Without a sign of life for this long a node counts as lost. */
const GRACE_MS = 40_000;
/** A node that has never reported gets a little longer. */
const STARTUP_GRACE_MS = 60_000;
const WATCHED_CONDITIONS = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** When a node was last heard of. The controller goes by its own clock, not by the times that nodes write. */
class Heartbeats {
  readonly #seen = new Map<string, number>();

  beat(node: string, now: Date): void {
    this.#seen.set(node, now.getTime());
  }

  forget(node: string): void {
    this.#seen.delete(node);
  }

  /** When a node will be overdue, in milliseconds since the epoch. */
  deadline(node: string, hasReported: boolean): number {
    return (this.#seen.get(node) ?? 0) + (hasReported ? GRACE_MS : STARTUP_GRACE_MS);
  }
}

/** The conditions of a node that has gone silent; undefined when they stand already. */
export function lostConditions(node: ApiObject, now: string): Plain[] | undefined {
  const conditions = items(look(node, 'status'), 'conditions');
  let changed = false;
  const next = [...conditions];
  for (const type of WATCHED_CONDITIONS) {
    const at = conditions.findIndex((condition) => condition.type === type);
    const old = conditions[at];
    if (old?.status === 'Unknown') continue;
    changed = true;
    const never = old === undefined;
    const condition: Plain = {
      ...old,
      type,
      status: 'Unknown',
      lastHeartbeatTime: old?.lastHeartbeatTime ?? node.metadata.creationTimestamp ?? null,
      lastTransitionTime: now,
      reason: never ? 'NodeStatusNeverUpdated' : 'NodeStatusUnknown',
      message: never ? 'Kubelet never posted node status.' : 'Kubelet stopped posting node status.',
    };
    if (never) next.push(condition);
    else next[at] = condition;
  }
  return changed ? next : undefined;
}

/** Nodes that were there before this controller have been told of already. */
const NEW_MS = 60_000;
const isNew = (node: ApiObject, now: Date): boolean =>
  now.getTime() - new Date(node.metadata.creationTimestamp ?? 0).getTime() < NEW_MS;

const heartbeatOf = (node: ApiObject): unknown => conditionOf(node, 'Ready')?.lastHeartbeatTime;

/** What of a node's change calls for a look: its conditions' statuses, its taints, its cordon. */
function looksAlike(node: ApiObject, old: ApiObject): boolean {
  const statuses = (of: ApiObject): string =>
    items(look(of, 'status'), 'conditions')
      .map(({ type, status }) => `${type}=${status}`)
      .join();
  return statuses(node) === statuses(old) && JSON.stringify(node.spec) === JSON.stringify(old.spec);
}

function setup({ api, clock, informer, queue, recorder }: ControllerContext): void {
  const nodes = informer(NODES);
  const leases = informer(LEASES);
  const pods = informer(PODS);
  const podsOn = pods.index((pod) => [nodeNameOf(pod)]);
  const heartbeats = new Heartbeats();
  const tell = recorder('node-controller');
  let timer: Timer | undefined;

  const hasReported = (node: ApiObject): boolean => conditionOf(node, 'Ready') !== undefined;
  const isLost = (node: ApiObject): boolean =>
    WATCHED_CONDITIONS.every((type) => conditionOf(node, type)?.status === 'Unknown');

  /** One timer for all nodes, at the first deadline; heartbeats only move deadlines, so it need not be moved with them. */
  const watchDeadlines = (): void => {
    if (timer !== undefined) return;
    let first = Number.POSITIVE_INFINITY;
    for (const node of nodes.all()) {
      if (!isLost(node)) first = Math.min(first, heartbeats.deadline(node.metadata.name ?? '', hasReported(node)));
    }
    if (first === Number.POSITIVE_INFINITY) return;
    timer = clock.setTimeout(
      () => {
        timer = undefined;
        const now = clock.now().getTime();
        for (const node of nodes.all()) {
          const { name = '' } = node.metadata;
          if (!isLost(node) && heartbeats.deadline(name, hasReported(node)) <= now) work.add(name);
        }
        watchDeadlines();
      },
      Math.max(1, first - clock.now().getTime()),
    );
  };

  /** Pods of a lost node are ready for nobody. */
  const markPods = async (name: string): Promise<void> => {
    for (const pod of podsOn(name)) {
      if (!isReady(pod)) continue;
      const conditions = items(look(pod, 'status'), 'conditions').map((condition) =>
        condition.type === 'Ready'
          ? { ...condition, status: 'False', lastTransitionTime: timestamp(clock.now()) }
          : condition,
      );
      const { namespace, name: podName, resourceVersion } = pod.metadata;
      const patch = { metadata: { resourceVersion }, status: { conditions } };
      const marked = await allowing(
        api.patch(PODS, { namespace, name: podName, subresource: 'status' }, patch),
        404,
        409,
      );
      if (marked !== undefined) tell(marked, 'Warning', 'NodeNotReady', 'Node is not ready');
    }
  };

  const work = queue(async (name) => {
    const node = nodes.get(name);
    if (node === undefined || isDying(node)) return;
    const now = clock.now();
    const { resourceVersion } = node.metadata;
    if (!isLost(node) && heartbeats.deadline(name, hasReported(node)) <= now.getTime()) {
      const conditions = lostConditions(node, timestamp(now));
      if (conditions !== undefined) {
        const patch = { metadata: { resourceVersion }, status: { conditions } };
        // The node's own event brings it back for its taints.
        const told = await allowing(api.patch(NODES, { name, subresource: 'status' }, patch), 404, 409);
        const wasReady = conditionOf(node, 'Ready')?.status === 'True';
        if (told !== undefined && wasReady) {
          tell(told, 'Normal', 'NodeNotReady', `Node ${name} status is now: NodeNotReady`);
        }
      }
      return;
    }
    const taints = taintsOf(node, timestamp(now));
    if (taints !== undefined) {
      const spec = { taints: taints.length === 0 ? null : taints };
      await allowing(api.patch(NODES, { name }, { metadata: { resourceVersion }, spec }), 404, 409);
    }
    const ready = conditionOf(node, 'Ready')?.status;
    if (ready === 'Unknown' || ready === 'False') await markPods(name);
  });

  nodes.onChange(({ type, object, old }) => {
    const { name = '' } = object.metadata;
    const about = { ...object, apiVersion: 'v1', kind: 'Node' };
    if (type === 'deleted') {
      tell(about, 'Normal', 'RemovingNode', `Node ${name} event: Removing Node ${name} from Controller`);
      return heartbeats.forget(name);
    }
    if (type === 'added' && isNew(object, clock.now())) {
      tell(about, 'Normal', 'RegisteredNode', `Node ${name} event: Registered Node ${name} in Controller`);
    }
    if (old === undefined || heartbeatOf(object) !== heartbeatOf(old) || isLost(old) !== isLost(object)) {
      heartbeats.beat(name, clock.now());
    }
    watchDeadlines();
    if (old === undefined || !looksAlike(object, old)) work.add(name);
  });
  leases.onChange(({ type, object, old }) => {
    if (type === 'deleted' || namespaceOf(object) !== LEASE_NAMESPACE) return;
    const { name = '' } = object.metadata;
    if (text(look(object, 'spec'), 'renewTime') === text(look(old, 'spec'), 'renewTime')) return;
    heartbeats.beat(name, clock.now());
  });
}

/**
 * Follows the health of nodes: a node whose Lease is not renewed becomes Unknown; conditions and cordons become taints.
 * @see kubernetes pkg/controller/nodelifecycle
 */
export const nodeLifecycle: Controller = { name: 'node-lifecycle', setup };
