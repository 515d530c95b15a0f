import type { Node, Pod } from '@mcm/kube';
import {
  type ControllerConfig,
  deferOperatorNode,
  type MachineConfig,
  type MachineConfigPool,
  type NodeWrite,
  nodesOfPool,
  type PoolSnapshot,
  planPools,
} from '@mcm/machine-config';
import type { Call } from './call.ts';
import { recordedStatus } from './nodes.ts';

interface Input {
  readonly sync: string;
  readonly pools: readonly MachineConfigPool[];
  readonly nodes: readonly Node[];
  readonly pods?: readonly Pod[];
  readonly machineConfigs?: readonly MachineConfig[];
  readonly controllerConfig?: ControllerConfig;
}

const isOperator = ({ metadata }: Pod): boolean => metadata.labels?.['k8s-app'] === 'machine-config-operator';

/** Runs one complete sync of the UpdateController. */
function sync(input: Input): Record<string, unknown> {
  const pool = input.pools.find(({ metadata }) => metadata.name === input.sync);
  if (!pool) return { error: null, enqueued: [], events: [], nodeChanges: {}, poolStatusChanges: {}, targetOrder: [] };
  const operators = (input.pods ?? []).filter(isOperator);
  const snapshotOf = (one: MachineConfigPool): PoolSnapshot => ({
    pool: one,
    pools: input.pools,
    nodes: nodesOfPool(one, input.nodes, input.pools).nodes,
    controllerConfig: input.controllerConfig,
    machineConfig: (name) => input.machineConfigs?.find(({ metadata }) => metadata.name === name),
    filters: [deferOperatorNode(operators)],
    now: '<now>',
  });
  const plans = planPools(snapshotOf(pool), snapshotOf);
  return {
    error: plans.find(({ plan }) => plan.error !== undefined)?.plan.error ?? null,
    enqueued: [],
    events: plans.flatMap(({ plan }) => plan.events.map(({ type, reason, message }) => `${type} ${reason} ${message}`)),
    nodeChanges: Object.fromEntries(
      plans.flatMap(({ plan }) => plan.nodes.map((write) => [write.name, changeOf(input.nodes, write)])),
    ),
    poolStatusChanges: Object.fromEntries(
      plans.flatMap(({ pool: one, plan }) =>
        plan.status ? [[one.metadata.name, recordedStatus({ ...one, status: plan.status })]] : [],
      ),
    ),
    targetOrder: plans.flatMap(({ plan }) => plan.targeted),
  };
}

function changeOf(nodes: readonly Node[], { name, annotations, labels, taints }: NodeWrite): Record<string, unknown> {
  const old = nodes.find(({ metadata }) => metadata.name === name);
  return {
    annotations: Object.keys(annotations).length > 0 ? annotations : undefined,
    labels: Object.keys(labels).length > 0 ? { ...old?.metadata.labels, ...labels } : undefined,
    taints,
  };
}

export const nodeSyncCalls: Readonly<Record<string, Call>> = { 'node-sync': sync };
