import { isActive, oldestSizeFirst, type SetSize, type Sizes, steadyAvailable, sum } from './size.ts';

export interface GrowthRule {
  readonly replicas: number;
  /** The maximum replicas of the current set while its template is not proven, or undefined without a limit. */
  readonly ceiling?: number | undefined;
  /** The last good set. This set gets the replicas that the current set may not have yet. */
  readonly good?: string | undefined;
}

export interface LastGoodOptions {
  readonly named: string | undefined;
  readonly hasFailed: (set: string) => boolean;
}

/** Returns the old set that gets new machines while the current template is not proven. */
export function lastGood(old: readonly SetSize[], { named, hasFailed }: LastGoodOptions): string | undefined {
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
 * Distributes additional machines between the current set and the last good set. The current set never exceeds its
 * limit or `spec.replicas`.
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

export const added = (sizes: Sizes, resize: ReadonlyMap<string, number>): number =>
  sum(sizes.current ? [...sizes.old, sizes.current] : sizes.old, (size) =>
    Math.max((resize.get(size.name) ?? size.replicas) - size.replicas, 0),
  );
