import type { Change, Node } from '@mcm/kube';
import {
  byZoneAndAge,
  type ConfigCondition,
  candidatesOf,
  chooseNodes,
  isDegraded,
  isDone,
  isFailing,
  isManaged,
  isReady,
  isTargeted,
  isUnavailable,
  isUpdated,
  isUpdatedAndReady,
  type MachineConfigPool,
  maxUnavailableOf,
  NodeAnnotations,
  needsTarget,
  nodesOfPool,
  notReadyReason,
  poolStatus,
  poolsOfNode,
  poolsToWake,
  targetOf,
  type WantedCondition,
  withCondition,
} from '@mcm/machine-config';
import { attempt, type Call } from './call.ts';

const NOW = '<now>';

const names = (objects: readonly { readonly metadata: { readonly name: string } }[]): string[] =>
  objects.map(({ metadata }) => metadata.name);

interface Fleet {
  readonly pool: MachineConfigPool;
  readonly nodes: readonly Node[];
  readonly maxUnavailable: number;
}

const at = (node: Node, key: string): string => node.metadata.annotations?.[key] ?? '';

function predicates({ pool, node }: { pool: MachineConfigPool; node: Node }): Record<string, unknown> {
  const state = at(node, NodeAnnotations.State);
  return {
    ready: isReady(node),
    notReadyReason: notReadyReason(node) ?? null,
    managed: isManaged(node),
    done: isDone(node),
    updated: isUpdated(node, pool),
    readyCounted: isUpdatedAndReady(node, pool),
    degraded: state === 'Degraded',
    unreconcilable: state === 'Unreconcilable',
    countedDegraded: isDegraded(node),
    failing: isFailing(node),
    unavailable: isUnavailable(node),
    candidate: needsTarget(node, pool),
    desiredEqualsPool: isTargeted(node, pool),
    currentEqualsPool: at(node, NodeAnnotations.CurrentConfig) === targetOf(pool),
  };
}

export function recordedStatus(pool: MachineConfigPool): Record<string, unknown> {
  const { configuration, ...status } = pool.status ?? {};
  const { currentMachineConfig, updatingMachines, readyMachines, unavailableMachines, ...rest } = status;
  const source = (configuration?.source ?? []).map(({ name }) => name);
  return { ...rest, configuration: { name: configuration?.name ?? '', source } };
}

export const nodeCalls: Readonly<Record<string, Call>> = {
  'node-membership': ({ pools, node }: { pools: readonly MachineConfigPool[]; node: Node }) =>
    attempt(() => {
      const own = names(poolsOfNode(node, pools));
      return { pools: own, primary: own[0] ?? null };
    }),
  'node-pool-nodes': ({ pools, nodes }: { pools: readonly MachineConfigPool[]; nodes: readonly Node[] }) =>
    Object.fromEntries(
      pools.map((pool) => [pool.metadata.name, { nodes: names(nodesOfPool(pool, nodes, pools).nodes) }]),
    ),
  'node-max': ({ pool, nodeCount }: { pool: MachineConfigPool; nodeCount: number }) =>
    attempt(() => ({ value: maxUnavailableOf(pool, nodeCount) })),
  'node-predicates': predicates,
  'node-candidates': ({ pool, nodes, maxUnavailable }: Fleet) => {
    const { nodes: candidates, capacity } = candidatesOf(pool, nodes, maxUnavailable);
    const chosen = capacity === 0 ? [] : chooseNodes(candidates, capacity);
    return {
      candidates: names(candidates),
      capacity,
      chosen: names(chosen),
      unavailable: names(nodes.filter(isUnavailable)),
    };
  },
  'node-sort': ({ nodes }: { nodes: readonly Node[] }) => ({ order: names(byZoneAndAge(nodes)) }),
  'node-event': (input: { pools: readonly MachineConfigPool[]; event: string; node: Node; oldNode?: Node }) => {
    const { pools, event, node, oldNode } = input;
    const key = node.metadata.name;
    const change: Change<Node> =
      event === 'update' && oldNode
        ? { type: 'updated', key, object: node, old: oldNode }
        : { type: event === 'add' ? 'added' : 'deleted', key, object: node };
    return { enqueued: poolsToWake(change, pools) };
  },
  'node-status': ({ pool, nodes }: { pool: MachineConfigPool; nodes: readonly Node[] }) =>
    recordedStatus({ ...pool, status: poolStatus(pool, nodes, NOW) }),
  'node-condition-set': ({
    status,
    set,
  }: {
    status: MachineConfigPool['status'];
    set: readonly WantedCondition[];
  }) => ({
    conditions: set.reduce(
      (list, wanted) => withCondition(list, wanted, NOW),
      (status?.conditions ?? []) as readonly ConfigCondition[],
    ),
  }),
};
