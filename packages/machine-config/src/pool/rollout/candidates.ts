import type { Node } from '@mcm/kube';
import { isFailing, isReady, isUnavailable, needsTarget } from '../../conditions/predicates.ts';
import { compareBytes } from '../../config/order.ts';
import { NodeLabels } from '../../constants/labels.ts';
import type { MachineConfigPool } from '../../kinds/machine-config-pool.ts';

/** Which nodes may be told the target now. */
export interface Candidates {
  /** In the order given. */
  readonly nodes: readonly Node[];
  /** How many of them. */
  readonly capacity: number;
}

const NONE: Candidates = { nodes: [], capacity: 0 };

/**
 * Finds the nodes that may be told the pool's target. Nodes that fail on this target take capacity, so that a bad
 * config stops at maxUnavailable nodes; nodes that fail on another may be told again, which is how an undone config heals.
 * @param maxUnavailable as {@link maxUnavailableOf} says
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

/** Orders nodes by zone, within a zone the oldest first; nodes without a zone come last. */
export function byZoneAndAge(nodes: readonly Node[]): Node[] {
  const zoned = nodes.map((node) => ({ node, zone: zoneOf(node), born: Date.parse(node.metadata.creationTimestamp) }));
  return zoned.toSorted((a, b) => compareZones(a.zone, b.zone) || a.born - b.born).map(({ node }) => node);
}

function compareZones(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return compareBytes(a, b);
}

/** The nodes to tell: all candidates if there is room for all, in their order; otherwise the first by zone and age. */
export const chooseNodes = (candidates: readonly Node[], capacity: number): readonly Node[] =>
  candidates.length <= capacity ? candidates : byZoneAndAge(candidates).slice(0, Math.max(capacity, 0));
