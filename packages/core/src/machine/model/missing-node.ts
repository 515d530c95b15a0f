import type { MachineMemory } from './memory.ts';
import type { MachineObservation } from './observation.ts';
import { type Plan, wait } from './plan.ts';

const RETRY_MS = 5_000;

/**
 * Actions on a Node. While the cache contains a Node that no longer exists, the controller would repeat these actions
 * immediately.
 */
const ON_NODE: ReadonlySet<string> = new Set(['cordon', 'markOutOfService', 'deleteStaleNode']);

/** Returns the time of the next request for a Node that exists in the cache, but not in the API server. */
export function missingNodeUntil({ missingNode }: MachineMemory, now: Date): MachineObservation['missingNode'] {
  if (!missingNode) return undefined;
  const leftMs = missingNode.at.getTime() + RETRY_MS - now.getTime();
  // If the system clock was changed, the remaining time can be too long.
  if (leftMs <= 0 || leftMs > RETRY_MS) return undefined;
  return { uid: missingNode.uid, until: new Date(now.getTime() + leftMs) };
}

/** Delays actions on a Node that the API server does not have, until the watch reports the deletion of the Node. */
export function waitForMissingNode(plan: Plan, { missingNode, node, conflictingNode }: MachineObservation): Plan {
  if (!missingNode || missingNode.uid !== (node ?? conflictingNode)?.metadata.uid) return plan;
  if (!plan.actions.some((action) => ON_NODE.has(action.do))) return plan;
  return wait('the API server does not have the Node', missingNode.until);
}
