import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, type Plain } from '../../apimachinery/objects/plain.ts';
import { conditionOf } from '../objects/fields.ts';

/** The conditions that a kubelet reports. A kubelet does not report `NetworkUnavailable`. */
const WATCHED_CONDITIONS = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

export function readyOf(node: ApiObject): string | undefined {
  const condition = conditionOf(node, 'Ready');
  return condition === undefined ? undefined : String(condition.status);
}

/**
 * Returns the new conditions of a node without heartbeats.
 * @param now the current time as RFC 3339
 */
export function lostConditions(node: ApiObject, now: string): Plain[] | undefined {
  if (readyOf(node) === 'Unknown') return undefined;
  const next = [...items(look(node, 'status'), 'conditions')];
  for (const type of WATCHED_CONDITIONS) {
    const at = next.findIndex((condition) => condition.type === type);
    const old = next[at];
    if (old?.status === 'Unknown') continue;
    const never = old === undefined;
    const condition: Plain = {
      ...old,
      type,
      status: 'Unknown',
      lastHeartbeatTime: old?.lastHeartbeatTime ?? node.metadata.creationTimestamp ?? null,
      lastTransitionTime: now,
      reason: never ? 'NodeStatusNeverUpdated' : 'NodeStatusUnknown',
      message: never ? 'Kubelet never posted node status.' : 'Kubelet stopped posting node status.',
    };
    if (never) next.push(condition);
    else next[at] = condition;
  }
  return next;
}

const statuses = (node: ApiObject): string =>
  items(look(node, 'status'), 'conditions')
    .map(({ type, status }) => `${type}=${status}`)
    .join();

/** Returns whether a change of a node is irrelevant: conditions, taints, cordon and labels are unchanged. */
export const looksAlike = (node: ApiObject, old: ApiObject): boolean =>
  statuses(node) === statuses(old) &&
  JSON.stringify(node.spec) === JSON.stringify(old.spec) &&
  JSON.stringify(node.metadata.labels) === JSON.stringify(old.metadata.labels);
