import type { Node } from '@mcm/kube';
import { isFailing, isReady, isUnavailable, needsTarget } from '../../conditions/predicates.ts';
import { compareBytes } from '../../config/order.ts';
import { NodeLabels } from '../../constants/labels.ts';
import type { MachineConfigPool } from '../../kinds/machine-config-pool.ts';

/** The nodes that may get the target now. */
export interface Candidates {
  readonly nodes: readonly Node[];
  readonly capacity: number;
}

const NONE: Candidates = { nodes: [], capacity: 0 };

/**
 * Finds the nodes that may get the target of the pool. A node that fails with an old target may get the current target,
 * so that a reverted config repairs the node.
 * @param maxUnavailable the result of {@link maxUnavailableOf}
 */
export function candidatesOf(pool: MachineConfigPool, nodes: readonly Node[], maxUnavailable: number): Candidates {
  const unavailable = nodes.filter(isUnavailable).length;
  if (unavailable >= maxUnavailable) return NONE;
  const capacity = maxUnavailable - unavailable;
  const waiting = nodes.filter((node) => needsTarget(node, pool) && isReady(node));
  const candidates = new Set(waiting);
  const failing = nodes.filter((node) => !candidates.has(node) && isFailing(node)).length;
  return failing >= capacity ? NONE : { nodes: waiting, capacity: capacity - failing };
}

const zoneOf = ({ metadata }: Node): string | undefined => metadata.labels?.[NodeLabels.Zone];

/** Sorts nodes by zone, and within a zone by age, oldest first. */
export function byZoneAndAge(nodes: readonly Node[]): Node[] {
  const zoned = nodes.map((node) => ({ node, zone: zoneOf(node), born: Date.parse(node.metadata.creationTimestamp) }));
  return zoned.toSorted((a, b) => compareZones(a.zone, b.zone) || a.born - b.born).map(({ node }) => node);
}

function compareZones(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return compareBytes(a, b);
}

/** Selects candidates up to the capacity. */
export const chooseNodes = (candidates: readonly Node[], capacity: number): readonly Node[] =>
  candidates.length <= capacity ? candidates : byZoneAndAge(candidates).slice(0, Math.max(capacity, 0));
