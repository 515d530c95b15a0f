import type { Limits } from './limits.ts';
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
} from './size.ts';

/** What a scaling is measured against. */
export interface ScaleTarget {
  readonly replicas: number;
  readonly limits: Limits;
  readonly strategy: string | undefined;
  /** `status.replicas` of the deployment: stands in for a missing max-replicas annotation. */
  readonly statusReplicas: number;
  /** Whether the rollout is paused: then sizes follow what the user asks for, and nothing else. */
  readonly paused?: boolean;
}

/** New sizes, and the sets whose desired- and max-replicas annotations are to be written even if their size stays. */
export interface Scaling {
  readonly resize: Resize;
  readonly annotate: readonly string[];
  readonly because: string;
}

/**
 * Whether the deployment's replicas were changed since its sets were last scaled (docs/rules.md §1.11). A template change wins
 * over a change of replicas made together with it: without a current set this is no scaling event.
 */
export function isScalingEvent(sizes: Sizes, replicas: number): boolean {
  if (sizes.current === undefined) return false;
  const active = allOf(sizes).filter(isActive);
  if (active.length === 0) return replicas > 0;
  return active.some((size) => size.desired !== undefined && size.desired !== replicas);
}

/** Whether the current set carries the whole deployment (docs/rules.md §2.9). */
export const isSaturated = (current: SetSize | undefined, replicas: number): boolean =>
  current !== undefined &&
  current.replicas === replicas &&
  current.desired === replicas &&
  current.available === replicas;

const newestFirst = (a: SetSize, b: SetSize): number => oldestSizeFirst(b, a);

/** Half away from zero, for what is never negative. */
const round = (value: number): number => Math.floor(value + 0.5);

/**
 * Sizes after a change of replicas, or while paused (docs/rules.md §3.8): one active set takes it all; next to a saturated
 * current set the others go to 0; in the middle of a rollout growth goes to the current set and shrinking is shared.
 * During a pause none of it happens before the user changes the replicas or allows fewer: the original goes on as far as
 * the surge reaches, and so makes machines of a template that was paused because its machines fail.
 */
export function planScaling(sizes: Sizes, target: ScaleTarget): Scaling {
  const { replicas, limits } = target;
  const active = allOf(sizes).filter(isActive);
  if (active.length <= 1) {
    const only = active[0] ?? sizes.current ?? sizes.old.toSorted(newestFirst)[0];
    if (!only) return { resize: new Map(), annotate: [], because: 'there is no set to scale' };
    const size = Math.min(replicas, only.replicas + roomFor(sizes, target));
    return {
      resize: new Map([[only.name, size]]),
      annotate: [only.name],
      because: `${only.name} is the only one`,
    };
  }
  const annotate = active.map((size) => size.name);
  const paused = target.paused === true;
  const rolls = target.strategy === 'RollingUpdate';
  const stands = paused && !isScalingEvent(sizes, replicas);
  // A limit that was lowered is kept to by those who scale by it: the surge of updates in place is their own.
  if (stands && (!rolls || sum(active, (size) => size.replicas) <= replicas + limits.annotatedSurge)) {
    return { resize: new Map(), annotate, because: 'paused: every set stays as large as it is' };
  }
  if (isSaturated(sizes.current, replicas)) {
    const resize = new Map(sizes.old.filter(isActive).map((size) => [size.name, 0]));
    return { resize, annotate: [], because: 'the current set carries the deployment' };
  }
  // Without new annotations every later pass would see a scaling event again and the rollout stood still (BUG-5).
  // During a pause the strategy moves nothing: what the user asks for is shared out here.
  if (!rolls && !paused) {
    return { resize: new Map(), annotate, because: 'the strategy moves the machines itself' };
  }
  const resize = shareOut(sizes, active, target);
  return { resize, annotate: isHeldBack(sizes, active, resize, target) ? [] : annotate, because: 'in proportion' };
}

/**
 * Whether a scaling during a pause waits for machines that are going: it stays one, by the annotations of the other sets,
 * until it is through, since no rollout adds what was held back.
 */
function isHeldBack(sizes: Sizes, active: readonly SetSize[], resize: Resize, target: ScaleTarget): boolean {
  if (target.paused !== true || target.replicas === 0) return false;
  const toAdd = allowedOf(target) - sum(active, (size) => resize.get(size.name) ?? size.replicas);
  const grown = active.find((size) => size.name === sizes.current?.name);
  return toAdd > 0 && (grown === undefined || (resize.get(grown.name) ?? grown.replicas) < target.replicas);
}

/** Machines that all sets together may have. */
const allowedOf = ({ replicas, limits }: ScaleTarget): number => (replicas > 0 ? replicas + limits.annotatedSurge : 0);

/**
 * Machines that may be added now. Those that are going, or are to go and do not know it yet, still count; what is held
 * back because of them is added by the rollout when they are gone.
 */
const roomFor = (sizes: Sizes, { replicas, limits }: ScaleTarget): number =>
  Math.max(replicas + limits.surge - sum(allOf(sizes), footprint), 0);

function shareOut(sizes: Sizes, active: readonly SetSize[], target: ScaleTarget): Resize {
  const { replicas, limits } = target;
  const allowed = allowedOf(target);
  const toAdd = allowed - sum(active, (size) => size.replicas);
  if (toAdd >= 0) {
    const grown = active.find((size) => size.name === sizes.current?.name);
    if (!grown) return new Map();
    // Never beyond what is asked for: the rollout's next step would delete again what had just been made.
    const lacking = Math.max(replicas - grown.replicas, 0);
    return new Map([[grown.name, grown.replicas + Math.min(toAdd, lacking, roomFor(sizes, target))]]);
  }
  const sorted = active.toSorted((a, b) => b.replicas - a.replicas || oldestSizeFirst(a, b));
  const resize = new Map<string, number>();
  let added = 0;
  for (const size of sorted) {
    const fraction =
      replicas === 0 ? -size.replicas : round((size.replicas * allowed) / basis(size, target)) - size.replicas;
    const share = added === toAdd ? 0 : Math.max(Math.min(fraction, 0), toAdd - added);
    resize.set(size.name, size.replicas + share);
    added += share;
  }
  const [largest] = sorted;
  if (largest) resize.set(largest.name, Math.max((resize.get(largest.name) ?? 0) + toAdd - added, 0));
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
  let lacking = goal - sum(active, staying);
  for (const taker of active) {
    for (const giver of active) {
      const wanted = Math.min(steadyAvailable(taker) - staying(taker), lacking);
      const spare = now(giver) - staying(giver);
      const moved = Math.min(wanted, spare);
      if (giver === taker || moved <= 0) continue;
      resize.set(taker.name, now(taker) + moved);
      resize.set(giver.name, now(giver) - moved);
      lacking -= moved;
    }
  }
  return resize;
}
