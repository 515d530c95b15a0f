import {
  type EventReason,
  Labels,
  type Machine,
  type MachineDeployment,
  type MachineSet,
  NodeConditions,
} from '@mcm/api';
import {
  type Clock,
  controllerOf,
  defined,
  type EventRecorder,
  type Informer,
  type KubeClient,
  type KubeObject,
  type Logger,
  makeKey,
  type Node,
  type QueueMetrics,
  type Random,
} from '@mcm/kube';
import type { Safeguards } from '../disruption/safeguards.ts';
import type { DisruptionsUnderWay } from '../disruption/under-way.ts';
import type { Journal } from '../journal/journal.ts';
import type { CreationsUnderWay } from './expectations.ts';

/** Index of machines and sets by the UID of their controller; {@link NO_CONTROLLER} for those without one. */
export const BY_CONTROLLER = 'controller';

/** Value of {@link BY_CONTROLLER} for objects without a controller. */
export const NO_CONTROLLER = '';

/** Index of machines by the name of their node. */
export const BY_NODE = 'node';

const byController = (object: KubeObject): readonly string[] => [controllerOf(object)?.uid ?? NO_CONTROLLER];

const byNode = (machine: Machine): readonly string[] => {
  const node = machine.metadata.labels?.[Labels.Node];
  return node ? [node] : [];
};

/** Index of nodes by the name of their machine. */
export const BY_MACHINE = 'machine';

/** Indexes that the informer of nodes needs. */
export const nodeIndexes = {
  [BY_MACHINE]: ({ metadata }: Node): readonly string[] => {
    const machine = metadata.labels?.[Labels.MachineName];
    return machine ? [machine] : [];
  },
} as const;

/** Indexes that the informer of machines needs for these controllers. */
export const machineIndexes = { [BY_CONTROLLER]: byController, [BY_NODE]: byNode } as const;

/** Indexes that the informer of sets needs. */
export const machineSetIndexes = { [BY_CONTROLLER]: byController } as const;

/**
 * The node conditions that the cache keeps of a machine: progress of an in-place update, and whether its kubelet
 * reports.
 */
const KEPT: ReadonlySet<string> = new Set([NodeConditions.InPlaceUpdate, NodeConditions.Ready]);

/** A machine without addresses and without most of its node conditions. */
export function projectMachine(machine: Machine): Machine {
  if (machine.status === undefined) return machine;
  const { conditions, addresses: _addresses, ...status } = machine.status;
  const kept = conditions?.filter(({ type }) => KEPT.has(type)) ?? [];
  return { ...machine, status: kept.length > 0 ? { ...status, conditions: kept } : status };
}

/** The parts of a node that decisions read. */
export function projectNode(node: Node): Node {
  const { name, uid, resourceVersion, creationTimestamp, labels, annotations } = node.metadata;
  const { taints, unschedulable } = node.spec;
  return {
    apiVersion: node.apiVersion,
    kind: node.kind,
    metadata: defined({
      name,
      uid,
      resourceVersion,
      creationTimestamp,
      labels,
      annotations,
    }),
    spec: defined({ taints, unschedulable }),
  };
}

/** The target cluster's nodes; absent without a target cluster. */
export interface NodeAccess {
  readonly client: KubeClient;
  readonly informer: Informer<Node>;
}

/** Dependencies of the deployment, set and overshoot controllers. */
export interface ControllerContext {
  readonly client: KubeClient;
  /** The only namespace that they read. */
  readonly namespace: string;
  readonly deployments: Informer<MachineDeployment>;
  readonly sets: Informer<MachineSet>;
  readonly machines: Informer<Machine>;
  readonly nodes: NodeAccess | undefined;
  /** Machines that the set controller is creating, for the deployment controller of the same process. */
  readonly creations: CreationsUnderWay;
  /** Disruptions that the controllers of sets and deployments have begun and the caches do not show. */
  readonly disruptions: DisruptionsUnderWay;
  /** Limits for the replacement of failed machines. */
  readonly safeguards: Safeguards;
  readonly recorder: EventRecorder<EventReason>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Metrics of the controllers' queues; absent: none. */
  readonly metrics?: QueueMetrics | undefined;
  /** Receives the decisions; absent: they are not recorded. */
  readonly journal?: Journal | undefined;
}

/** The deployment that controls the set, if the cache has it. */
export function deploymentOf(
  set: MachineSet,
  { deployments }: Pick<ControllerContext, 'deployments'>,
): MachineDeployment | undefined {
  const controller = controllerOf(set);
  if (controller?.kind !== 'MachineDeployment') return undefined;
  const deployment = deployments.store.get(makeKey(set.metadata.namespace, controller.name));
  return deployment?.metadata.uid === controller.uid ? deployment : undefined;
}

/** The parts of the context for `createController`. */
export const controllerParts = ({ clock, random, log, metrics }: ControllerContext) => ({
  clock,
  random,
  log,
  metrics,
});

/** Returns true if a change affects more than the status. */
export const changedBeyondStatus = (old: KubeObject, object: KubeObject): boolean =>
  old.metadata.generation !== object.metadata.generation ||
  old.metadata.deletionTimestamp !== object.metadata.deletionTimestamp ||
  !sameJson(old.metadata.labels, object.metadata.labels) ||
  !sameJson(old.metadata.annotations, object.metadata.annotations) ||
  !sameJson(old.metadata.finalizers, object.metadata.finalizers) ||
  !sameJson(old.metadata.ownerReferences, object.metadata.ownerReferences);

const sameJson = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);

/**
 * Returns true if a deletion must wait because the garbage collector still removes the owner references of the
 * children. `kubectl delete --cascade=orphan` must not delete the children.
 */
export const isOrphaning = (object: KubeObject): boolean => object.metadata.finalizers?.includes('orphan') === true;
