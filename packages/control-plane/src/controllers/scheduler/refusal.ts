import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { look } from '../../apimachinery/objects/plain.ts';

export interface Refusal {
  readonly reasons: readonly string[];
  /** Whether the node is unsuitable even without its other pods (`UnschedulableAndUnresolvable`). */
  readonly isFinal: boolean;
}

/** Returns the refusal of a node that is unsuitable even without its other pods. */
export const final = (...reasons: string[]): Refusal => ({ reasons, isFinal: true });

/** Returns the refusal of a node that is unsuitable only because of its other pods. */
export const crowded = (...reasons: string[]): Refusal => ({ reasons, isFinal: false });

/**
 * Returns the start of the message for an unschedulable pod: `0/3 nodes are available: 1 Insufficient cpu, 2 node(s)
 * were unschedulable.`
 */
function available(nodes: number, reasons: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const parts = [...counts].map(([reason, count]) => `${count} ${reason}`).sort();
  return `0/${nodes} nodes are available: ${parts.join(', ')}.`;
}

const preemption = (pod: ApiObject, nodes: number, refusals: readonly Refusal[]): string => {
  if (look(pod, 'spec').preemptionPolicy === 'Never') return 'not eligible due to preemptionPolicy=Never.';
  const outlooks = refusals.map(({ isFinal }) =>
    isFinal ? 'Preemption is not helpful for scheduling' : 'No preemption victims found for incoming pod',
  );
  return available(nodes, outlooks);
};

/** Returns the message of kube-scheduler for an unschedulable pod. */
export function unschedulableMessage(pod: ApiObject, refusals: readonly Refusal[]): string {
  const nodes = refusals.length;
  if (nodes === 0) return 'no nodes available to schedule pods';
  const why = available(
    nodes,
    refusals.flatMap(({ reasons }) => reasons),
  );
  return `${why} no new claims to deallocate, preemption: ${preemption(pod, nodes, refusals)}`;
}

/** Returns the message for an unschedulable pod. */
export const blockedMessage = (nodes: number, why: string): string =>
  nodes === 0 ? 'no nodes available to schedule pods' : `0/${nodes} nodes are available: ${why}. not found`;
