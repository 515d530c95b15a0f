import { isActive, oldestSizeFirst, type SetSize, type Sizes, steadyAvailable, sum } from './size.ts';

/** Where machines go that are added to a deployment. */
export interface GrowthRule {
  /** `spec.replicas` of the deployment. */
  readonly replicas: number;
  /** The limit of the current set while its template is not proven; absent: no limit. */
  readonly ceiling?: number | undefined;
  /** The last good set, which gets the replicas that the current set may not have; absent if it does not exist. */
  readonly good?: string | undefined;
}

/** The information about sets that {@link lastGood} needs in addition to their sizes. */
export interface Repute {
  /** The set that last carried the whole deployment. */
  readonly named: string | undefined;
  /** Whether a machine of the set paused the rollout by its failure. */
  readonly hasFailed: (set: string) => boolean;
}

/**
 * The old set that takes new machines while the current template is not proven: the one that last carried the whole
 * deployment. If nothing names it, the one with the most available machines. Sets without replicas come last.
 */
export function lastGood(old: readonly SetSize[], { named, hasFailed }: Repute): string | undefined {
  const active = old.filter(isActive);
  const candidates = active.length > 0 ? active : old;
  const order = (a: SetSize, b: SetSize) =>
    Number(b.name === named) - Number(a.name === named) ||
    b.available - a.available ||
    Number(hasFailed(a.name)) - Number(hasFailed(b.name)) ||
    oldestSizeFirst(b, a);
  return candidates.toSorted(order)[0]?.name;
}

/**
 * The sizes after at most `count` machines are added. Every path that adds machines to a deployment uses this function, so
 * none of them exceeds the ceiling. The current set never gets more than the replicas. The last good set grows until it
 * has all replicas together with the available machines of other old sets.
 */
export function grown({ current, old }: Sizes, count: number, rule: GrowthRule): Map<string, number> {
  const { replicas, ceiling = replicas, good } = rule;
  const resize = new Map<string, number>();
  const have = current?.replicas ?? 0;
  const most = current ? Math.min(replicas, ceiling) : 0;
  const own = Math.max(Math.min(count, most - have), 0);
  if (current && own > 0) resize.set(current.name, have + own);
  const target = old.find(({ name }) => name === good);
  if (!target || have + own >= replicas) return resize;
  const others = sum(old, (size) => (size === target ? 0 : steadyAvailable(size)));
  const lacking = replicas - target.replicas - others;
  const rest = Math.min(count - own, lacking);
  if (rest > 0) resize.set(target.name, target.replicas + rest);
  return resize;
}

/** How many machines a growth adds. */
export const added = (sizes: Sizes, resize: ReadonlyMap<string, number>): number =>
  sum(sizes.current ? [...sizes.old, sizes.current] : sizes.old, (size) =>
    Math.max((resize.get(size.name) ?? size.replicas) - size.replicas, 0),
  );
