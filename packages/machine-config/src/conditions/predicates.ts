import type { Node } from '@mcm/kube';
import { NodeAnnotations } from '../constants/annotations.ts';
import { NodeLabels } from '../constants/labels.ts';
import { DaemonStates } from '../constants/states.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';

const { CurrentConfig, DesiredConfig, CurrentImage, DesiredImage, State, Reason } = NodeAnnotations;

/** An annotation of a node; '' if it has none. */
export const annotationOf = (node: Node, key: string): string => node.metadata.annotations?.[key] ?? '';
const has = (node: Node, key: string): boolean => node.metadata.annotations?.[key] !== undefined;

/** Name of the rendered config that the pool's nodes are to have; empty when there is none yet. */
export const targetOf = ({ spec }: MachineConfigPool): string => spec?.configuration?.name ?? '';

/**
 * Why a node is not ready; undefined if it is. Absent conditions are fine, unknown ones are not; memory and process
 * pressure do not count. DiskPressure is called OutOfDisk, after the condition that it replaced.
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

/** Whether nothing speaks against the node's readiness. */
export const isReady = (node: Node): boolean => notReadyReason(node) === undefined;

/** Whether the daemon knows the node's config; without it nothing is known of the node. */
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

/** Whether a node has what it was told to have, and the daemon has finished. */
export const isDone = (node: Node): boolean =>
  configDone(node) && imageDone(node) && annotationOf(node, State) === DaemonStates.Done;

/** Whether a node was told the pool's target, and nothing of image mode is left over. */
export const isTargeted = (node: Node, pool: MachineConfigPool): boolean =>
  annotationOf(node, DesiredConfig) === targetOf(pool);

/** Whether the node has the pool's target and is done with it. */
export const isUpdated = (node: Node, pool: MachineConfigPool): boolean =>
  isDone(node) && isTargeted(node, pool) && !has(node, DesiredImage);

/** Counted as ready: updated as well. */
export const isUpdatedAndReady = (node: Node, pool: MachineConfigPool): boolean =>
  isUpdated(node, pool) && isReady(node);

/** Whether the daemon says that it cannot go on. */
export const isDegraded = (node: Node): boolean => {
  const state = annotationOf(node, State);
  return state === DaemonStates.Degraded || state === DaemonStates.Unreconcilable;
};

/** Whether a node cannot be brought to what it was told: it may be told something else, so it is not unavailable. */
export const isFailing = (node: Node): boolean =>
  annotationOf(node, CurrentConfig) !== annotationOf(node, DesiredConfig) && isDegraded(node);

/** A node that is older is none that has just joined: it has workloads, and takes even its first config in its turn. */
export const NEW_NODE_MS = 600_000;

/** Whether a node was there for longer than a new one. @param now milliseconds */
export const isSettled = ({ metadata }: Node, now: number): boolean =>
  now - Date.parse(metadata.creationTimestamp) >= NEW_NODE_MS;

/** Whether a node has no config, and its daemon waits for its turn to get the first one. */
export const awaitsConfig = (node: Node): boolean =>
  annotationOf(node, State) === DaemonStates.Waiting &&
  annotationOf(node, CurrentConfig) === '' &&
  annotationOf(node, DesiredConfig) === '';

/** Whether the node counts towards `maxUnavailable`: not ready, or at work on its config. */
export const isUnavailable = (node: Node): boolean =>
  !isReady(node) || (!isDone(node) && !isFailing(node) && !awaitsConfig(node));

/** Whether a node has yet to be told the target, ready or not. */
export const needsTarget = (node: Node, pool: MachineConfigPool): boolean =>
  !isTargeted(node, pool) || has(node, DesiredImage);

/** Whether all that keeps a node from being ready is the drain that its own daemon asked for. */
const isDrainedForUpdate = (node: Node): boolean => {
  const asked = annotationOf(node, NodeAnnotations.DesiredDrain);
  const answered = annotationOf(node, NodeAnnotations.LastAppliedDrain);
  const schedulable = { ...node, spec: { ...node.spec, unschedulable: false } };
  return node.spec?.unschedulable === true && asked.startsWith('drain-') && asked === answered && isReady(schedulable);
};

/**
 * Whether a node failed after it was drained and waits to be told something else. It is unavailable as it is: telling
 * it takes no room, and is the only way back.
 */
export const isStranded = (node: Node, pool: MachineConfigPool): boolean =>
  isFailing(node) && needsTarget(node, pool) && isDrainedForUpdate(node);

/** Why a node is degraded, in the daemon's words. */
export const degradedReason = (node: Node): string => annotationOf(node, Reason);
