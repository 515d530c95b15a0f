import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, type Plain } from '../../apimachinery/objects/plain.ts';

const PREFIX = 'node.kubernetes.io';
const NOT_READY = `${PREFIX}/not-ready`;
const UNREACHABLE = `${PREFIX}/unreachable`;
const UNSCHEDULABLE = `${PREFIX}/unschedulable`;

const BY_CONDITION: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: NOT_READY, Unknown: UNREACHABLE },
  MemoryPressure: { True: `${PREFIX}/memory-pressure` },
  DiskPressure: { True: `${PREFIX}/disk-pressure` },
  PIDPressure: { True: `${PREFIX}/pid-pressure` },
  NetworkUnavailable: { True: `${PREFIX}/network-unavailable` },
};

const OWN_NO_SCHEDULE = new Set([UNSCHEDULABLE, ...Object.values(BY_CONDITION).flatMap((keys) => Object.values(keys))]);
const EXPELLING: readonly string[] = [NOT_READY, UNREACHABLE];

const taintsOf = (node: ApiObject): Plain[] => items(look(node, 'spec'), 'taints');

function wantedKeys(node: ApiObject): Set<string> {
  const wanted = new Set<string>();
  for (const { type, status } of items(look(node, 'status'), 'conditions')) {
    const key = BY_CONDITION[String(type)]?.[String(status)];
    if (key !== undefined) wanted.add(key);
  }
  if (look(node, 'spec').unschedulable === true) wanted.add(UNSCHEDULABLE);
  return wanted;
}

/** Returns the changed taints of a node. */
function changed(
  node: ApiObject,
  isKept: (taint: Plain) => boolean,
  effect: string,
  keys: Iterable<string>,
  now: string,
) {
  const taints = taintsOf(node);
  const kept = taints.filter(isKept);
  const present = new Set(kept.filter((taint) => taint.effect === effect).map(({ key }) => key));
  const added = [...keys].filter((key) => !present.has(key)).map((key) => ({ key, effect, timeAdded: now }));
  return added.length === 0 && kept.length === taints.length ? undefined : [...kept, ...added];
}

export function scheduleTaints(node: ApiObject, now: string): Plain[] | undefined {
  const wanted = wantedKeys(node);
  const isKept = ({ key, effect }: Plain): boolean =>
    effect !== 'NoSchedule' || !OWN_NO_SCHEDULE.has(String(key)) || wanted.has(String(key));
  return changed(node, isKept, 'NoSchedule', wanted, now);
}

/**
 * Returns the changed taints of a node: the taint `key` replaces the NoExecute taints for nodes that are not ready or
 * unreachable.
 */
export function expellingTaints(node: ApiObject, key: string | undefined, now: string): Plain[] | undefined {
  const isKept = (taint: Plain): boolean =>
    taint.effect !== 'NoExecute' || !EXPELLING.includes(String(taint.key)) || taint.key === key;
  return changed(node, isKept, 'NoExecute', key === undefined ? [] : [key], now);
}

export const expellingKey = (node: ApiObject): string | undefined =>
  EXPELLING.find((key) => taintsOf(node).some((taint) => taint.effect === 'NoExecute' && taint.key === key));

/** Returns the key of the taint that belongs to a status of the condition Ready. */
export const expellingKeyFor = (ready: string): string | undefined => BY_CONDITION.Ready?.[ready];
