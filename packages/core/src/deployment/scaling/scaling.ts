import type { Limits } from '../../objects/limits.ts';
import { added, type GrowthRule, grown } from '../state/growth.ts';
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

/** The base of a scaling. */
export interface ScaleTarget extends GrowthRule {
  readonly limits: Limits;
  readonly strategy: string | undefined;
  /** `status.replicas` of the deployment: replaces a missing max-replicas annotation. */
  readonly statusReplicas: number;
  /** True if the rollout is paused. Then the sizes follow only the replicas of the user. */
  readonly paused?: boolean;
}

/** New sizes, and the sets whose desired- and max-replicas annotations must be written even without a new size. */
export interface Scaling {
  readonly resize: Resize;
  readonly annotate: readonly string[];
  readonly because: string;
}

/**
 * Whether the deployment's replicas were changed since its sets were last scaled (docs/compatibility/rules-deployments.md §1.11). A template change wins
 * over a change of replicas made together with it: without a current set, the change is not a scaling event.
 */
export function isScalingEvent(sizes: Sizes, replicas: number): boolean {
  if (sizes.current === undefined) return false;
  const active = allOf(sizes).filter(isActive);
  if (active.length === 0) return replicas > 0;
  return active.some((size) => size.desired !== undefined && size.desired !== replicas);
}

/** Whether the current set carries the whole deployment (docs/compatibility/rules-deployments.md §2.9). */
export const isSaturated = (current: SetSize | undefined, replicas: number): boolean =>
  current !== undefined &&
  current.replicas === replicas &&
  current.desired === replicas &&
  current.available === replicas;

const newestFirst = (a: SetSize, b: SetSize): number => oldestSizeFirst(b, a);

/** Rounds half up; the value is never negative. */
const round = (value: number): number => Math.floor(value + 0.5);

/** The same during a pause, in which a template without a set gets none. */
const isRescaled = (active: readonly SetSize[], replicas: number): boolean =>
  active.some((size) => size.desired !== undefined && size.desired !== replicas);

/**
 * Sizes after a change of replicas, or while paused (docs/compatibility/rules-deployments.md §3.8). A single active set gets all
 * replicas. If the current set is saturated, the others are scaled to 0. During a rollout, the current set grows, and all sets
 * share a reduction. If its template is not proven, the last good set grows instead. During a pause, sizes change only when the
 * user changes the replicas or limits. The original continues up to the surge, and so creates machines of a template that was
 * paused because its machines fail.
 */
export function planScaling(sizes: Sizes, target: ScaleTarget): Scaling {
  const { replicas, limits } = target;
  const active = allOf(sizes).filter(isActive);
  if (active.length <= 1) return scaleOnly(sizes, active[0], target);
  const annotate = active.map((size) => size.name);
  const paused = target.paused === true;
  const rolls = target.strategy === 'RollingUpdate';
  const stands = paused && !isRescaled(active, replicas);
  // A limit that was lowered is kept to by those who scale by it: the surge of updates in place is their own.
  if (stands && (!rolls || sum(active, (size) => size.replicas) <= replicas + limits.annotatedSurge)) {
    return { resize: new Map(), annotate, because: 'the rollout is paused: the sets keep their sizes' };
  }
  if (isSaturated(sizes.current, replicas)) {
    const resize = new Map(sizes.old.filter(isActive).map((size) => [size.name, 0]));
    return { resize, annotate: [], because: 'all replicas belong to the current set' };
  }
  // Without new annotations every later pass would see a scaling event again and the rollout stood still (BUG-5).
  // During a pause the strategy changes no sizes, so this function distributes the replicas of the user.
  if (!rolls && !paused) {
    return { resize: new Map(), annotate, because: 'the strategy of the rollout sets the sizes of the sets' };
  }
  const toAdd = allowedOf(target) - sum(active, (size) => size.replicas);
  if (toAdd < 0) return { resize: shareOut(active, target, toAdd), annotate, because: 'in proportion' };
  const inactive = sizes.current === undefined || !isActive(sizes.current);
  if (inactive && !paused && target.ceiling === undefined)
    return { resize: new Map(), annotate, because: 'in proportion' };
  // A template without machines gets none during a pause.
  const growing = inactive && target.ceiling === undefined ? { current: undefined, old: sizes.old } : sizes;
  return addTo(growing, toAdd, roomFor(sizes, target), target);
}

/** With at most one active set, this set takes all replicas that its template may have. */
function scaleOnly(sizes: Sizes, active: SetSize | undefined, target: ScaleTarget): Scaling {
  const { replicas, ceiling, good } = target;
  const proven = sizes.old.find(({ name }) => name === good);
  const only = active ?? sizes.current ?? proven ?? sizes.old.toSorted(newestFirst)[0];
  if (!only) return { resize: new Map(), annotate: [], because: 'there is no set to scale' };
  const room = roomFor(sizes, target);
  if (only === sizes.current && ceiling !== undefined && replicas > only.replicas) {
    return addTo(sizes, allowedOf(target) - only.replicas, room, target);
  }
  const size = Math.min(replicas, only.replicas + room);
  return {
    resize: new Map([[only.name, size]]),
    annotate: [only.name],
    because: `${only.name} is the only active set`,
  };
}

/**
 * Adds machines up to the limit. Replicas that terminating machines delay stay requested in the annotations of the other sets
 * until they are added. During a pause, or at a ceiling, no rollout adds them.
 */
function addTo(sizes: Sizes, count: number, room: number, target: ScaleTarget): Scaling {
  const resize = grown(sizes, Math.min(count, room), target);
  const waits = added(sizes, resize) < added(sizes, grown(sizes, count, target));
  const stays = waits && (target.paused === true || target.ceiling !== undefined);
  const names = allOf(sizes).filter((size) => isActive(size) || resize.has(size.name));
  const because =
    target.good !== undefined && resize.has(target.good)
      ? `the newest template is not yet proven: the last good set ${target.good} grows`
      : 'in proportion';
  return { resize, annotate: stays ? [] : names.map(({ name }) => name), because };
}

/** Machines that all sets together may have. */
const allowedOf = ({ replicas, limits }: ScaleTarget): number => (replicas > 0 ? replicas + limits.annotatedSurge : 0);

/**
 * Machines that may be added now. Terminating machines count, including machines whose deletion was just sent. The rollout adds the
 * delayed machines after their deletion.
 */
const roomFor = (sizes: Sizes, { replicas, limits }: ScaleTarget): number =>
  Math.max(replicas + limits.surge - sum(allOf(sizes), footprint), 0);

/** Takes machines off the sets, in proportion to their sizes. */
function shareOut(active: readonly SetSize[], target: ScaleTarget, toAdd: number): Resize {
  const { replicas, limits } = target;
  const allowed = allowedOf(target);
  const sorted = active.toSorted((a, b) => b.replicas - a.replicas || oldestSizeFirst(a, b));
  const resize = new Map<string, number>();
  let shared = 0;
  for (const size of sorted) {
    const fraction =
      replicas === 0 ? -size.replicas : round((size.replicas * allowed) / basis(size, target)) - size.replicas;
    const share = Math.max(Math.min(fraction, 0), toAdd - shared);
    resize.set(size.name, size.replicas + share);
    shared += share;
  }
  const [largest] = sorted;
  if (largest) resize.set(largest.name, Math.max((resize.get(largest.name) ?? 0) + toAdd - shared, 0));
  return keepAvailable(active, resize, replicas - limits.unavailable);
}

const basis = (size: SetSize, { statusReplicas, replicas, limits }: ScaleTarget): number =>
  size.max || statusReplicas || replicas + limits.annotatedSurge;

/**
 * Moves reductions from sets whose machines are available to sets whose machines are not, until as many stay available
 * as must be. Plain proportion drains working machines while the new ones still boot (incident 9).
 */
function keepAvailable(active: readonly SetSize[], proportional: Resize, minAvailable: number): Resize {
  const resize = new Map(proportional);
  const now = (size: SetSize) => resize.get(size.name) ?? size.replicas;
  const staying = (size: SetSize) => Math.min(size.available, now(size));
  const goal = Math.min(minAvailable, sum(active, steadyAvailable));
  let lacking = Math.max(goal - sum(active, staying), 0);
  for (const taker of active) {
    // A set that takes machines has no spare ones, so it gives itself none.
    for (const giver of active) {
      const wanted = Math.min(steadyAvailable(taker) - staying(taker), lacking);
      const spare = now(giver) - staying(giver);
      const moved = Math.min(wanted, spare);
      resize.set(taker.name, now(taker) + moved);
      resize.set(giver.name, now(giver) - moved);
      lacking -= moved;
    }
  }
  return resize;
}
