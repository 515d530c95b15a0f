import { items, look, type Plain } from '../../kinds/plain.ts';
import type { ApiObject } from '../../object.ts';

const PREFIX = 'node.kubernetes.io';
export const NOT_READY = `${PREFIX}/not-ready`;
export const UNREACHABLE = `${PREFIX}/unreachable`;
const UNSCHEDULABLE = `${PREFIX}/unschedulable`;

/** Taints that a condition with a status brings. */
const BY_CONDITION: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: NOT_READY, Unknown: UNREACHABLE },
  MemoryPressure: { True: `${PREFIX}/memory-pressure` },
  DiskPressure: { True: `${PREFIX}/disk-pressure` },
  PIDPressure: { True: `${PREFIX}/pid-pressure` },
  NetworkUnavailable: { True: `${PREFIX}/network-unavailable` },
};

const OWN_NO_SCHEDULE = new Set([UNSCHEDULABLE, ...Object.values(BY_CONDITION).flatMap((keys) => Object.values(keys))]);
const OWN_NO_EXECUTE = new Set([NOT_READY, UNREACHABLE]);

const isOwn = ({ key, effect }: Plain): boolean =>
  (effect === 'NoSchedule' && OWN_NO_SCHEDULE.has(String(key))) ||
  (effect === 'NoExecute' && OWN_NO_EXECUTE.has(String(key)));

/** The taints that a node's conditions and its cordon ask for: `key:effect`. */
function wantedTaints(node: ApiObject): Set<string> {
  const wanted = new Set<string>();
  for (const { type, status } of items(look(node, 'status'), 'conditions')) {
    const key = BY_CONDITION[String(type)]?.[String(status)];
    if (key === undefined) continue;
    wanted.add(`${key}:NoSchedule`);
    if (type === 'Ready') wanted.add(`${key}:NoExecute`);
  }
  if (look(node, 'spec').unschedulable === true) wanted.add(`${UNSCHEDULABLE}:NoSchedule`);
  return wanted;
}

/**
 * The taints that a node should have; undefined when it has them. Taints of others stay as they are, and in their order.
 * `now`: RFC 3339, for the time at which a taint was added.
 */
export function taintsOf(node: ApiObject, now: string): Plain[] | undefined {
  const taints = items(look(node, 'spec'), 'taints');
  const wanted = wantedTaints(node);
  const kept = taints.filter((taint) => !isOwn(taint) || wanted.has(`${taint.key}:${taint.effect}`));
  const present = new Set(kept.map(({ key, effect }) => `${key}:${effect}`));
  const missing = [...wanted].filter((id) => !present.has(id));
  if (missing.length === 0 && kept.length === taints.length) return undefined;
  const added = missing.map((id) => {
    const [key = '', effect = ''] = id.split(':');
    return { key, effect, timeAdded: now };
  });
  return [...kept, ...added];
}
