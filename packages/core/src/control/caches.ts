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
  type RolloutPermit,
} from '@mcm/kube';
import type { DisruptionReport } from '../disruption/report/report.ts';
import type { Safeguards } from '../disruption/safeguards.ts';
import type { DisruptionsUnderWay } from '../disruption/under-way.ts';
import type { Journal } from '../journal/journal.ts';
import type { CanaryChecks } from '../rollout/canary-checks.ts';
import type { CreationsUnderWay } from './expectations.ts';

/** Index of machines and sets. The key is the UID of their controller, or {@link NO_CONTROLLER}. */
export const BY_CONTROLLER = 'controller';

/** Key in {@link BY_CONTROLLER} for objects without a controller. */
export const NO_CONTROLLER = '';

/** Index of machines by the name of their Node. */
export const BY_NODE = 'node';

const byController = (object: KubeObject): readonly string[] => [controllerOf(object)?.uid ?? NO_CONTROLLER];

const byNode = (machine: Machine): readonly string[] => {
  const node = machine.metadata.labels?.[Labels.Node];
  return node ? [node] : [];
};

export const BY_MACHINE = 'machine';

/** Index of the machines that are not in the phase Running, or that are being deleted. */
export const BY_UNREST = 'unrest';

/** A machine at rest runs and is not being deleted. */
const isAtRest = ({ metadata, status }: Machine): boolean =>
  metadata.deletionTimestamp === undefined && status?.currentStatus?.phase === 'Running';

export const byUnrest = (machine: Machine): readonly string[] => (isAtRest(machine) ? [] : ['']);

/** Indexes of the Node informer. */
export const nodeIndexes = {
  [BY_MACHINE]: ({ metadata }: Node): readonly string[] => {
    const machine = metadata.labels?.[Labels.MachineName];
    return machine ? [machine] : [];
  },
} as const;

/**
 * Indexes of the machine informer that the deployment controller, the set controller and the overshoot controller need.
 */
export const machineIndexes = { [BY_CONTROLLER]: byController, [BY_NODE]: byNode, [BY_UNREST]: byUnrest } as const;

/** Indexes of the MachineSet informer. */
export const machineSetIndexes = { [BY_CONTROLLER]: byController } as const;

const KEPT: ReadonlySet<string> = new Set([NodeConditions.InPlaceUpdate, NodeConditions.Ready]);

/** Returns a copy of the machine without its addresses and most of its node conditions, to save memory. */
export function projectMachine(machine: Machine): Machine {
  if (machine.status === undefined) return machine;
  const { conditions, addresses: _addresses, ...status } = machine.status;
  const kept = conditions?.filter(({ type }) => KEPT.has(type)) ?? [];
  return { ...machine, status: kept.length > 0 ? { ...status, conditions: kept } : status };
}

/** Returns a copy of the node with only the fields that the controllers read, to save memory. */
export function projectNode(node: Node): Node {
  const { name, uid, resourceVersion, creationTimestamp, labels, annotations } = node.metadata;
  const { taints, unschedulable } = node.spec;
  const update = node.status?.conditions?.find(({ type }) => type === NodeConditions.InPlaceUpdate);
  return defined({
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
    status: update && {
      conditions: [defined({ type: update.type, status: update.status, reason: update.reason })],
    },
  });
}

/** Access to the nodes of the target cluster. */
export interface NodeAccess {
  readonly client: KubeClient;
  readonly informer: Informer<Node>;
}

/** The dependencies that the deployment, set and overshoot controllers share. */
export interface ControllerContext {
  readonly client: KubeClient;
  /** The namespace of the Machines, MachineSets and MachineDeployments of the controllers. */
  readonly namespace: string;
  readonly deployments: Informer<MachineDeployment>;
  readonly sets: Informer<MachineSet>;
  readonly machines: Informer<Machine>;
  readonly nodes: NodeAccess | undefined;
  readonly creations: CreationsUnderWay;
  readonly disruptions: DisruptionsUnderWay;
  readonly safeguards: Safeguards;
  readonly recorder: EventRecorder<EventReason>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics?: QueueMetrics | undefined;
  readonly journal?: Journal | undefined;
  readonly traceIdOf?: ((object: KubeObject) => string | undefined) | undefined;
  readonly blockedBy?: boolean | undefined;
  /** Stops disruptions by rollouts while the rollout budget of a fleet is used up. */
  readonly rollouts?: RolloutPermit | undefined;
  readonly protectNewNodes?: boolean | undefined;
  readonly report?: DisruptionReport | undefined;
  readonly canaryChecks?: CanaryChecks | undefined;
}

export function deploymentOf(
  set: MachineSet | Machine,
  { deployments }: Pick<ControllerContext, 'deployments'>,
): MachineDeployment | undefined {
  const controller = controllerOf(set);
  if (controller?.kind !== 'MachineDeployment') return undefined;
  const deployment = deployments.store.get(makeKey(set.metadata.namespace, controller.name));
  return deployment?.metadata.uid === controller.uid ? deployment : undefined;
}

export const controllerParts = ({ clock, random, log, metrics }: ControllerContext) => ({
  clock,
  random,
  log,
  metrics,
});

export const changedBeyondStatus = (old: KubeObject, object: KubeObject): boolean =>
  old.metadata.generation !== object.metadata.generation ||
  old.metadata.deletionTimestamp !== object.metadata.deletionTimestamp ||
  !sameJson(old.metadata.labels, object.metadata.labels) ||
  !sameJson(old.metadata.annotations, object.metadata.annotations) ||
  !sameJson(old.metadata.finalizers, object.metadata.finalizers) ||
  !sameJson(old.metadata.ownerReferences, object.metadata.ownerReferences);

const sameJson = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);

/**
 * Returns true if the object is being deleted with `kubectl delete --cascade=orphan`. A controller must not delete
 * children of the object before the garbage collector has removed the owner references.
 */
export const isOrphaning = (object: KubeObject): boolean => object.metadata.finalizers?.includes('orphan') === true;
