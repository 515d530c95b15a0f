import { rolloutRoom } from '../../disruption/budget.ts';
import { type GrowthRule, grown } from '../state/growth.ts';
import {
  allOf,
  footprint,
  isActive,
  oldestSizeFirst,
  type Resize,
  type SetSize,
  type Sizes,
  steadyAvailable,
  sum,
} from '../state/size.ts';

/** What a rollout is measured against. */
export interface RolloutTarget extends GrowthRule {
  readonly surge: number;
  readonly unavailable: number;
  /** Places that it may yet take of the budget that it shares with repairs; absent: as many as its own bounds allow. */
  readonly free?: number;
  /** Failed machines wait for their repair: until they have been seen to, nothing that is available is given up. */
  readonly repairsFirst?: boolean;
}

/** One step of a rollout and why it is that one. */
export interface RolloutStep {
  readonly resize: Resize;
  readonly because: string;
}

/**
 * Replicas that the current set may have now (docs/compatibility/rules-deployments.md §3.2). Every set counts with its replicas or its machines,
 * whichever are more: machines that still terminate hold the surge back, and machines that are not made yet do too.
 * The original counts the status alone, gives a new set its surge twice (BUG-4 of docs/compatibility/rules-deployments.md) and overshoots when the
 * status lags (incident 3).
 */
export function currentReplicas(sizes: Sizes, { replicas, surge, ceiling = replicas }: RolloutTarget): number {
  const have = sizes.current?.replicas ?? 0;
  const room = replicas + surge - sum(allOf(sizes), footprint);
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
 * How the old sets may shrink (docs/compatibility/rules-deployments.md §3.4): unhealthy machines first, then as many as stay above what must be
 * available. Machines above a set's replicas are on their way out and count neither as available nor as unhealthy.
 *
 * Silent machines that a breaker keeps are given up neither way. A place that is empty anyway costs nothing; a machine
 * that has failed costs a place of the budget shared with repairs, which it does not have while it waits; available ones go
 * only while nobody waits for a repair.
 *
 * The sum of all sets does not fall from several to 0 by this: with 100 % unavailable allowed, one machine stays until
 * the current set has been scaled (incident 10), which machines that still terminate may have to make room for. A last
 * one goes if nothing else could ever move.
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
  const floor = replicas > 0 && (total > 1 || sum(allOf({ current, old }), footprint) > 1) ? 1 : 0;
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
  // A smaller set would give up first what is silent.
  const [healthy] = reduce(after, Math.min(surplus, left), (size) => (size.held ? 0 : size.replicas));
  return new Map([...unhealthy, ...healthy]);
}

/** Replicas that no set has and that the current set may not take: the last good set takes them. */
function addMissing(sizes: Sizes & { readonly current: SetSize }, target: RolloutTarget): Resize {
  const { replicas, surge, ceiling } = target;
  const missing = replicas - sum(allOf(sizes), (size) => size.replicas);
  if (ceiling === undefined || sizes.current.replicas < ceiling || missing <= 0) return new Map();
  const room = replicas + surge - sum(allOf(sizes), footprint);
  return grown(sizes, Math.max(Math.min(missing, room), 0), target);
}

/**
 * The next step of a rolling update: first the current set, then, when that cannot move, the old ones. At most one
 * of the two moves in a step, so that each decision is made on what the other did.
 */
export function planRollingUpdate(sizes: Sizes & { readonly current: SetSize }, target: RolloutTarget): RolloutStep {
  const { current } = sizes;
  const wanted = current.replicas > target.replicas ? target.replicas : currentReplicas(sizes, target);
  if (wanted !== current.replicas) {
    return {
      resize: new Map([[current.name, wanted]]),
      because: `${current.name} may have ${wanted} of ${target.replicas}`,
    };
  }
  const missing = addMissing(sizes, target);
  if (missing.size > 0)
    return { resize: missing, because: 'the newest template is not proven: the last good set grows' };
  // What may not be made yet must not be missing either. Where the sets ask for too many, the current one may make none.
  const isOver = sum(allOf(sizes), (size) => size.replicas) > target.replicas + target.surge;
  const isFree = target.ceiling === undefined || isOver;
  const growth = isFree ? target.unavailable : Math.max((target.ceiling ?? 0) - current.replicas, 0);
  const resize = shrinkOld(sizes, { ...target, unavailable: Math.min(target.unavailable, growth) });
  if (resize.size > 0) return { resize, because: 'enough machines are available to give old ones up' };
  if (!sizes.old.some((size) => footprint(size) > 0)) return { resize, because: 'no old machine is left' };
  return { resize, because: 'waiting: machines of the current set are not available, or old ones are not gone yet' };
}
