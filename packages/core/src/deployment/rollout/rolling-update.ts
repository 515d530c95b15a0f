import { rolloutRoom } from '../../disruption/budget.ts';
import { type GrowthRule, grown } from '../state/growth.ts';
import {
  allOf,
  isActive,
  maximumMachines,
  oldestSizeFirst,
  type Resize,
  type SetSize,
  type Sizes,
  steadyAvailable,
  sum,
  surplusMachines,
} from '../state/size.ts';

export interface RolloutTarget extends GrowthRule {
  readonly surge: number;
  readonly unavailable: number;
  /** The number of machines that the rollout may disrupt now. */
  readonly free?: number;
  /** True if failed machines wait for their replacement. */
  readonly repairsFirst?: boolean;
}

export interface RolloutStep {
  readonly resize: Resize;
  readonly because: string;
}

/**
 * Returns the replicas that the current set may have now (docs/compatibility/rules-deployments.md §3.2).
 * - For each set, the function counts the larger of two numbers: the replicas and the machines. Terminating machines
 *   and missing machines count against the surge.
 * - The original counts only the statuses of the sets, so it exceeds the surge when a status is outdated (incident 3).
 * - The original gives a new set its surge twice (BUG-4).
 */
export function currentReplicas(sizes: Sizes, { replicas, surge, ceiling = replicas }: RolloutTarget): number {
  const have = sizes.current?.replicas ?? 0;
  const roomAbove = (count: (size: SetSize) => number) => replicas + surge - sum(allOf(sizes), count);
  const own = sizes.current ? surplusMachines(sizes.current) : 0;
  const room = Math.max(
    roomAbove(maximumMachines),
    Math.min(
      own,
      roomAbove((size) => size.replicas),
    ),
  );
  return room <= 0 ? have : have + Math.min(room, Math.max(Math.min(replicas, ceiling) - have, 0));
}

function reduce(
  sizes: readonly SetSize[],
  budget: number,
  reducible: (size: SetSize) => number,
): [Map<string, number>, number] {
  const reduced = new Map<string, number>();
  let left = budget;
  for (const size of sizes) {
    const cut = Math.min(left, reducible(size));
    if (cut <= 0) continue;
    reduced.set(size.name, size.replicas - cut);
    left -= cut;
  }
  return [reduced, left];
}

/**
 * Returns the sizes to which the old sets may shrink (docs/compatibility/rules-deployments.md §3.4). The old sets lose
 * unhealthy machines first, and then as many available machines as `maxUnavailable` allows.
 * - Machines above the replicas of a set do not count, because the set is already deleting these machines.
 * - Unreachable machines stay while the circuit breaker is open, and available machines stay while their nodes postpone
 *   their disruption.
 * - mcm deletes available machines only if no failed machine waits for its replacement.
 * - The total never falls from several machines to 0 (incident 10).
 */
export function shrinkOld(
  { current, old }: Sizes,
  { replicas, unavailable, free, repairsFirst }: RolloutTarget,
): Resize {
  const active = old.filter(isActive).toSorted(oldestSizeFirst);
  const all = current ? [...active, current] : active;
  const total = sum(all, (size) => size.replicas);
  const minAvailable = replicas - unavailable;
  const joining = current ? current.replicas - steadyAvailable(current) : 0;
  const floor = replicas > 0 && (total > 1 || sum(allOf({ current, old }), maximumMachines) > 1) ? 1 : 0;
  const budget = Math.min(total - minAvailable - joining, total - floor);
  if (active.length === 0 || budget <= 0) return new Map();

  const unwell = (size: SetSize) => Math.max(size.replicas - steadyAvailable(size) - (size.held ?? 0), 0);
  const [empty, filled] = reduce(active, budget, (size) => Math.min(size.open ?? 0, unwell(size)));
  const resized = (size: SetSize) => ({ ...size, replicas: empty.get(size.name) ?? size.replicas, open: 0 });
  const [failing] = reduce(active.map(resized), Math.min(filled, free ?? filled), unwell);
  const unhealthy = new Map([...empty, ...failing]);
  const after = active.map((size) => ({ ...size, replicas: unhealthy.get(size.name) ?? size.replicas }));
  const left = budget - sum(active, (size) => size.replicas) + sum(after, (size) => size.replicas);
  const surplus = repairsFirst ? 0 : rolloutRoom(sum(all, steadyAvailable), replicas, unavailable);
  const [healthy] = reduce(after, Math.min(surplus, left), ({ held, replicas, postponed = 0 }) =>
    held ? 0 : Math.max(replicas - postponed, 0),
  );
  return new Map([...unhealthy, ...healthy]);
}

/** If the current set has reached its limit, adds the missing machines to the last good set. */
function addMissing(sizes: Sizes & { readonly current: SetSize }, target: RolloutTarget): Resize {
  const { replicas, surge, ceiling } = target;
  const missing = replicas - sum(allOf(sizes), (size) => size.replicas);
  if (ceiling === undefined || sizes.current.replicas < ceiling || missing <= 0) return new Map();
  const room = replicas + surge - sum(allOf(sizes), maximumMachines);
  return grown(sizes, Math.max(Math.min(missing, room), 0), target);
}

/** Grows the current set, or shrinks the old sets if the current set cannot grow. */
export function planRollingUpdate(sizes: Sizes & { readonly current: SetSize }, target: RolloutTarget): RolloutStep {
  const { current } = sizes;
  const wanted = current.replicas > target.replicas ? target.replicas : currentReplicas(sizes, target);
  if (wanted !== current.replicas) {
    return {
      resize: new Map([[current.name, wanted]]),
      because: `the rollout limits allow ${wanted} of ${target.replicas} machines in set ${current.name}`,
    };
  }
  const missing = addMissing(sizes, target);
  if (missing.size > 0)
    return { resize: missing, because: 'the last good set grows, because the current set never had all its machines' };
  // The old sets shrink only by as many machines as a limited current set may create. If the sets exceed the replicas
  // plus the surge, the old sets shrink first, so that the current set can grow.
  const isOver = sum(allOf(sizes), (size) => size.replicas) > target.replicas + target.surge;
  const isFree = target.ceiling === undefined || isOver;
  const growth = isFree ? target.unavailable : Math.max((target.ceiling ?? 0) - current.replicas, 0);
  const resize = shrinkOld(sizes, { ...target, unavailable: Math.min(target.unavailable, growth) });
  if (resize.size > 0) return { resize, because: 'enough machines are available: deleting old machines' };
  if (!sizes.old.some((size) => maximumMachines(size) > 0)) return { resize, because: 'no old machine remains' };
  return { resize, because: 'waiting: machines of the current set are not available, or old machines still exist' };
}
