import type { Change, Node } from '@mcm/kube';
import { annotationOf, isDone, notReadyReason } from '../conditions/predicates.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { selects } from '../kinds/selectors.ts';
import type { ClaimsOf } from '../machines/fleet.ts';
import { MembershipError, poolsOfNode } from './membership.ts';

const WATCHED = [
  NodeAnnotations.CurrentConfig,
  NodeAnnotations.DesiredConfig,
  NodeAnnotations.State,
  NodeAnnotations.Reason,
  NodeAnnotations.CurrentImage,
  NodeAnnotations.DesiredImage,
  NodeAnnotations.DesiredCertificates,
];

const sameRecord = (a: Record<string, string> = {}, b: Record<string, string> = {}): boolean => {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
};

const sameTaints = (a: Node, b: Node): boolean =>
  JSON.stringify(a.spec?.taints ?? []) === JSON.stringify(b.spec?.taints ?? []);

/** If several custom pools select a node, each of them reports the node. */
function namesOf(node: Node, pools: readonly MachineConfigPool[], claimsOf: ClaimsOf = () => []): readonly string[] {
  try {
    return poolsOfNode(node, pools, claimsOf).map(({ metadata }) => metadata.name);
  } catch (error) {
    if (!(error instanceof MembershipError)) throw error;
    const claiming = [...claimsOf(node), ...pools.filter(({ spec }) => selects(spec?.nodeSelector, node))];
    return claiming.map(({ metadata }) => metadata.name);
  }
}

/** Returns true if a change of a Node affects its pool. A heartbeat does not affect the pool. */
export function matters(old: Node, node: Node): boolean {
  if (!sameRecord(old.metadata.labels, node.metadata.labels) || !sameTaints(old, node)) return true;
  if (WATCHED.some((key) => annotationOf(old, key) !== annotationOf(node, key))) return true;
  return notReadyReason(old) !== notReadyReason(node) || isDone(old) !== isDone(node);
}

/**
 * Returns the pools to reconcile after a change of a node. When a node moves to another pool, its old pools are also
 * reconciled, because their counts change.
 */
export function poolsToWake(
  change: Change<Node>,
  pools: readonly MachineConfigPool[],
  claimsOf?: ClaimsOf,
): readonly string[] {
  const now = namesOf(change.object, pools, claimsOf);
  if (change.type !== 'updated') return now;
  if (!matters(change.old, change.object)) return [];
  const before = namesOf(change.old, pools, claimsOf);
  const left = before.filter((name) => !now.includes(name));
  return [...new Set([...left, ...now])];
}

const selection = ({ spec }: MachineConfigPool): string =>
  JSON.stringify([spec?.nodeSelector, spec?.machineRef, spec?.machineRefs]);

/**
 * Returns the pools to reconcile after a change of a pool. A changed selector starts a reconcile of all pools, because
 * nodes may move without an event.
 */
export function poolsToWakeWith(
  change: Change<MachineConfigPool>,
  pools: readonly MachineConfigPool[],
): readonly string[] {
  if (change.type === 'updated' && selection(change.old) === selection(change.object)) return [change.key];
  return [...new Set([change.key, ...pools.map(({ metadata }) => metadata.name)])];
}
