import type { Node } from '@mcm/kube';
import { NodeAnnotations } from '../constants/annotations.ts';
import { NodeLabels } from '../constants/labels.ts';
import { DaemonStates } from '../constants/states.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';

const { CurrentConfig, DesiredConfig, CurrentImage, DesiredImage, State, Reason } = NodeAnnotations;

/** Returns the value of a Node annotation, or '' if the annotation is absent. */
export const annotationOf = (node: Node, key: string): string => node.metadata.annotations?.[key] ?? '';
const has = (node: Node, key: string): boolean => node.metadata.annotations?.[key] !== undefined;

/** Returns the target of a pool, or '' if the pool has no target yet. */
export const targetOf = ({ spec }: MachineConfigPool): string => spec?.configuration?.name ?? '';

/**
 * Returns why a node is not ready, or undefined if the node is ready.
 * - An absent Node condition counts as healthy. A Node condition with the status Unknown counts as unhealthy.
 * - Node conditions for memory and process pressure do not make a node unready.
 * - The reason for DiskPressure is OutOfDisk, the older name of the condition.
 */
export function notReadyReason(node: Node): string | undefined {
  const reporting = `node ${node.metadata.name} is reporting`;
  for (const { type, status } of node.status?.conditions ?? []) {
    if (type === 'Ready' && status !== 'True') return `${reporting} NotReady=${status}`;
    if (type === 'DiskPressure' && status !== 'False') return `${reporting} OutOfDisk=${status}`;
    if (type === 'NetworkUnavailable' && status !== 'False') return `${reporting} NetworkUnavailable=${status}`;
  }
  return node.spec?.unschedulable ? `${reporting} Unschedulable` : undefined;
}

/** Returns true if the node is ready: see {@link notReadyReason}. */
export const isReady = (node: Node): boolean => notReadyReason(node) === undefined;

/** Returns true if the node has a machine-config-daemon. */
export const isManaged = (node: Node): boolean =>
  annotationOf(node, CurrentConfig) !== '' && node.metadata.labels?.[NodeLabels.OperatingSystem] !== 'windows';

function configDone(node: Node): boolean {
  const current = annotationOf(node, CurrentConfig);
  return current !== '' && current === annotationOf(node, DesiredConfig);
}

function imageDone(node: Node): boolean {
  if (!has(node, CurrentImage) && !has(node, DesiredImage)) return true;
  const current = annotationOf(node, CurrentImage);
  return current !== '' && current === annotationOf(node, DesiredImage);
}

/** Returns true if the node has its desired config, and its daemon has completed the update. */
export const isDone = (node: Node): boolean =>
  configDone(node) && imageDone(node) && annotationOf(node, State) === DaemonStates.Done;

/**
 * Returns true if the target of the node equals the target of the pool, and the node has no annotations of image mode.
 */
export const isTargeted = (node: Node, pool: MachineConfigPool): boolean =>
  annotationOf(node, DesiredConfig) === targetOf(pool);

/** Returns true if the daemon of the node completed the update to the pool's target. */
export const isUpdated = (node: Node, pool: MachineConfigPool): boolean =>
  isDone(node) && isTargeted(node, pool) && !has(node, DesiredImage);

/** Returns true if the node is updated and ready. */
export const isUpdatedAndReady = (node: Node, pool: MachineConfigPool): boolean =>
  isUpdated(node, pool) && isReady(node);

/** Returns true if the daemon reports that it cannot continue. */
export const isDegraded = (node: Node): boolean => {
  const state = annotationOf(node, State);
  return state === DaemonStates.Degraded || state === DaemonStates.Unreconcilable;
};

/**
 * Returns true if the node failed to apply its target. A failing node does not count as unavailable, because it may get
 * a new target.
 */
export const isFailing = (node: Node): boolean =>
  annotationOf(node, CurrentConfig) !== annotationOf(node, DesiredConfig) && isDegraded(node);

/** A node is new up to this age; an older node has workloads, so its first config waits for the rollout. */
export const NEW_NODE_MS = 600_000;

/** @param now milliseconds */
export const isSettled = ({ metadata }: Node, now: number): boolean =>
  now - Date.parse(metadata.creationTimestamp) >= NEW_NODE_MS;

export const awaitsConfig = (node: Node): boolean =>
  annotationOf(node, State) === DaemonStates.Waiting &&
  annotationOf(node, CurrentConfig) === '' &&
  annotationOf(node, DesiredConfig) === '';

/** Returns true if the node counts towards `maxUnavailable`: the node is not ready, or its update is in progress. */
export const isUnavailable = (node: Node): boolean =>
  !isReady(node) || (!isDone(node) && !isFailing(node) && !awaitsConfig(node));

/** Returns true if a node still needs the target, independent of its readiness. */
export const needsTarget = (node: Node, pool: MachineConfigPool): boolean =>
  !isTargeted(node, pool) || has(node, DesiredImage);

const isDrainedForUpdate = (node: Node): boolean => {
  const asked = annotationOf(node, NodeAnnotations.DesiredDrain);
  const answered = annotationOf(node, NodeAnnotations.LastAppliedDrain);
  const schedulable = { ...node, spec: { ...node.spec, unschedulable: false } };
  return node.spec?.unschedulable === true && asked.startsWith('drain-') && asked === answered && isReady(schedulable);
};

/**
 * Returns true if a node failed after its drain, so that only a new target can repair the node. A node that failed
 * after its drain is already unavailable, so a new target does not increase the number of unavailable nodes.
 */
export const isStranded = (node: Node, pool: MachineConfigPool): boolean =>
  isFailing(node) && needsTarget(node, pool) && isDrainedForUpdate(node);

/** Returns the reason for the state Degraded that the daemon of the node reports. */
export const degradedReason = (node: Node): string => annotationOf(node, Reason);
