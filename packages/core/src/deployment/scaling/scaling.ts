import type { Limits } from '../../objects/limits.ts';
import { added, type GrowthRule, grown } from '../state/growth.ts';
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
} from '../state/size.ts';

export interface ScaleTarget extends GrowthRule {
  readonly limits: Limits;
  readonly strategy: string | undefined;
  readonly statusReplicas: number;
  /** During a pause, the size of a set changes only after the user changes the replicas. */
  readonly paused?: boolean;
}

/** The new sizes of the sets, and the sets whose scaling annotations must change. */
export interface Scaling {
  readonly resize: Resize;
  readonly annotate: readonly string[];
  readonly because: string;
}

/**
 * Returns true if the replicas of the deployment changed since its sets were last scaled
 * (docs/compatibility/rules-deployments.md §1.11).
 */
export function isScalingEvent(sizes: Sizes, replicas: number): boolean {
  if (sizes.current === undefined) return false;
  const active = allOf(sizes).filter(isActive);
  if (active.length === 0) return replicas > 0;
  return active.some((size) => size.desired !== undefined && size.desired !== replicas);
}

/**
 * Returns true if the current set has all replicas and all its machines are available
 * (docs/compatibility/rules-deployments.md §2.9).
 */
export const isSaturated = (current: SetSize | undefined, replicas: number): boolean =>
  current !== undefined &&
  current.replicas === replicas &&
  current.desired === replicas &&
  current.available === replicas;

const newestFirst = (a: SetSize, b: SetSize): number => oldestSizeFirst(b, a);

const round = (value: number): number => Math.floor(value + 0.5);

const isRescaled = (active: readonly SetSize[], replicas: number): boolean =>
  active.some((size) => size.desired !== undefined && size.desired !== replicas);

/**
 * Returns the sizes of the sets after a change of the replicas, or during a pause
 * (docs/compatibility/rules-deployments.md §3.8).
 * - A single active set gets all replicas.
 * - While the current template is not proven, a scale-up adds machines to the last good set. A scale-down first reduces
 *   the sets of the machines that the autoscaler named, and then all sets.
 * - During a pause, sizes change only when the user changes the replicas or the rollout limits. The original creates
 *   surge machines during a pause, even if machines of the current template fail.
 */
export function planScaling(sizes: Sizes, target: ScaleTarget): Scaling {
  const { replicas, limits } = target;
  const active = allOf(sizes).filter(isActive);
  if (active.length <= 1) return scaleOnly(sizes, active[0], target);
  const annotate = active.map((size) => size.name);
  const paused = target.paused === true;
  const rolls = target.strategy === 'RollingUpdate';
  const stands = paused && !isRescaled(active, replicas);
  // If the total size exceeds the replicas plus the surge, the sets shrink only with the strategy RollingUpdate.
  if (stands && (!rolls || sum(active, (size) => size.replicas) <= replicas + limits.annotatedSurge)) {
    return { resize: new Map(), annotate, because: 'the rollout is paused: each MachineSet keeps its size' };
  }
  if (isSaturated(sizes.current, replicas)) {
    const resize = new Map(sizes.old.filter(isActive).map((size) => [size.name, 0]));
    return { resize, annotate: [], because: 'the current MachineSet has all replicas' };
  }
  const named = withoutNamed(sizes, replicas);
  // Without new annotations, each reconcile would detect the scaling event again, and the rollout would make no
  // progress (BUG-5).
  if (!rolls && !paused) {
    return { resize: named, annotate, because: 'the rollout strategy determines the size of each MachineSet' };
  }
  const after = active.map((size) => ({ ...size, replicas: named.get(size.name) ?? size.replicas }));
  const toAdd = allowedOf(target) - sum(after, (size) => size.replicas);
  if (toAdd < 0) {
    const shared = shareOut(after.filter(isActive), target, toAdd);
    return { resize: new Map([...named, ...shared]), annotate, because: 'in proportion' };
  }
  if (named.size > 0)
    return {
      resize: named,
      annotate,
      because: 'first deleting the machines that the annotation trigger-deletion lists',
    };
  const inactive = sizes.current === undefined || !isActive(sizes.current);
  if (inactive && !paused && target.ceiling === undefined)
    return { resize: new Map(), annotate, because: 'in proportion' };
  // During a pause, a template without machines gets no replicas.
  const growing = inactive && target.ceiling === undefined ? { current: undefined, old: sizes.old } : sizes;
  return addTo(growing, toAdd, roomFor(sizes, target), target);
}

/**
 * Reduces the sets whose machines the autoscaler named. All sets together shrink by at most the reduction of the
 * deployment. If another set shrank, an unnamed machine would be deleted, and a new machine would replace the named
 * machine. The current set shrinks first. Without a reduction, only the current set deletes a named machine. The
 * current set would then replace the machine (`coveredByScaler`).
 */
function withoutNamed(sizes: Sizes, replicas: number): Map<string, number> {
  const active = allOf(sizes).filter(isActive);
  const fall = Math.max(...active.map((size) => (size.desired ?? replicas) - replicas));
  let left = Math.min(fall, sum(active, (size) => size.replicas) - replicas);
  const resize = new Map<string, number>();
  for (const size of active.toReversed()) {
    const cut = Math.min(size.named ?? 0, size.replicas, left);
    if (cut <= 0) continue;
    resize.set(size.name, size.replicas - cut);
    left -= cut;
  }
  return resize;
}

/**
 * A single active set gets all replicas that its template may have. During a pause, a set keeps its surge machines,
 * because a smaller set would delete an unnamed machine.
 */
function scaleOnly(sizes: Sizes, active: SetSize | undefined, target: ScaleTarget): Scaling {
  const { replicas, ceiling, good } = target;
  const proven = sizes.old.find(({ name }) => name === good);
  const only = active ?? sizes.current ?? proven ?? sizes.old.toSorted(newestFirst)[0];
  if (!only) return { resize: new Map(), annotate: [], because: 'the deployment has no MachineSet to scale' };
  const room = roomFor(sizes, target);
  if (only === sizes.current && ceiling !== undefined && replicas > only.replicas) {
    return addTo(sizes, allowedOf(target) - only.replicas, room, target);
  }
  const size = Math.min(replicas, only.replicas + room);
  const kept = Math.min(only.replicas, replicas + surplusOf(only, target));
  return {
    resize: new Map([[only.name, Math.max(size, kept)]]),
    annotate: [only.name],
    because: `${only.name} is the only active set`,
  };
}

const surplusOf = ({ replicas, desired = replicas }: SetSize, target: ScaleTarget): number =>
  target.paused && target.replicas > 0 ? Math.min(Math.max(replicas - desired, 0), target.limits.annotatedSurge) : 0;

/**
 * If a paused rollout cannot create all machines now, the annotations stay unchanged, so that a later reconcile creates
 * the remaining machines.
 */
function addTo(sizes: Sizes, count: number, room: number, target: ScaleTarget): Scaling {
  const resize = grown(sizes, Math.min(count, room), target);
  const waits = added(sizes, resize) < added(sizes, grown(sizes, count, target));
  const stays = waits && (target.paused === true || target.ceiling !== undefined);
  const names = allOf(sizes).filter((size) => isActive(size) || resize.has(size.name));
  const because =
    target.good !== undefined && resize.has(target.good)
      ? `the last good set ${target.good} grows, because the current set never had all its machines`
      : 'in proportion';
  return { resize, annotate: stays ? [] : names.map(({ name }) => name), because };
}

const allowedOf = ({ replicas, limits }: ScaleTarget): number => (replicas > 0 ? replicas + limits.annotatedSurge : 0);

/** Returns the number of machines that mcm can create now. Terminating machines reduce this number. */
const roomFor = (sizes: Sizes, { replicas, limits }: ScaleTarget): number =>
  Math.max(replicas + limits.surge - sum(allOf(sizes), maximumMachines), 0);

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
 * Sets with unavailable machines shrink more than other sets, so that enough machines stay available. A purely
 * proportional scale-down could drain working machines while new machines still boot (incident 9).
 */
function keepAvailable(active: readonly SetSize[], proportional: Resize, minAvailable: number): Resize {
  const resize = new Map(proportional);
  const now = (size: SetSize) => resize.get(size.name) ?? size.replicas;
  const staying = (size: SetSize) => Math.min(size.available, now(size));
  const goal = Math.min(minAvailable, sum(active, steadyAvailable));
  let lacking = Math.max(goal - sum(active, staying), 0);
  for (const taker of active) {
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
