import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look } from '../../../apimachinery/objects/plain.ts';
import { isDying, isReady, isTerminal, nodeNameOf, phaseOf, scaled } from '../../objects/fields.ts';
import { availability, minReadySecondsOf } from '../pods.ts';
import { HASH_LABEL, isUpdated, type Placement, placementOn, targetOf } from './node.ts';

export interface DaemonView {
  readonly set: ApiObject;
  readonly hash: string;
  /** The function omits a deleted pod that has ended, even if a finalizer keeps the object. */
  readonly podsOn: ReadonlyMap<string, readonly ApiObject[]>;
  readonly placements: ReadonlyMap<string, Placement>;
  readonly now: Date;
}

export function viewOf(
  set: ApiObject,
  hash: string,
  pods: readonly ApiObject[],
  nodes: Iterable<ApiObject>,
  now: Date,
): DaemonView {
  const podsOn = new Map<string, ApiObject[]>();
  for (const pod of pods) {
    const target = targetOf(pod);
    if (target === undefined || (isTerminal(pod) && isDying(pod))) continue;
    const known = podsOn.get(target);
    if (known === undefined) podsOn.set(target, [pod]);
    else known.push(pod);
  }
  const placements = new Map<string, Placement>();
  for (const node of nodes) placements.set(node.metadata.name ?? '', placementOn(set, node));
  return { set, hash, podsOn, placements, now };
}

export interface DaemonPlan {
  readonly create: readonly string[];
  readonly delete: readonly ApiObject[];
  readonly ended: readonly ApiObject[];
}

const createdAt = (pod: ApiObject): number => new Date(pod.metadata.creationTimestamp ?? 0).getTime();

export const byAge = (pods: readonly ApiObject[]): ApiObject[] => {
  const isBound = (pod: ApiObject): number => (nodeNameOf(pod) === '' ? 1 : 0);
  const byName = (a: ApiObject, b: ApiObject): number => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1);
  return [...pods].sort((a, b) => isBound(a) - isBound(b) || createdAt(a) - createdAt(b) || byName(a, b));
};

const isAvailable = ({ set, now }: DaemonView, pod: ApiObject): boolean =>
  availability(pod, minReadySecondsOf(set), now).available;

const desired = ({ placements }: DaemonView): number => [...placements.values()].filter(({ runs }) => runs).length;

/** Returns how many pods may be unavailable, and how many nodes may have an additional pod during an update. */
function limits({ set }: DaemonView, wanted: number): { unavailable: number; surge: number } {
  const { type, rollingUpdate } = look(set, 'spec', 'updateStrategy');
  const { maxUnavailable = 1, maxSurge = 0 } = look({ rollingUpdate }, 'rollingUpdate');
  if (type !== 'RollingUpdate') return { unavailable: 0, surge: 0 };
  const surge = scaled(maxSurge, wanted, true);
  const unavailable = scaled(maxUnavailable, wanted, true);
  return { surge, unavailable: wanted > 0 && surge === 0 && unavailable === 0 ? 1 : unavailable };
}

const allowsSurge = (view: DaemonView): boolean => limits(view, 1).surge > 0;

/**
 * Returns the surplus pods on a node. With a surge, one old pod and one new pod stay until the new pod is available.
 */
function surplusOn(view: DaemonView, running: readonly ApiObject[]): ApiObject[] {
  const sorted = byAge(running);
  if (!allowsSurge(view)) return sorted.slice(1);
  const isNew = (pod: ApiObject): boolean => pod.metadata.labels?.[HASH_LABEL] === view.hash;
  const fresh = sorted.find(isNew);
  const old = sorted.find((pod) => !isNew(pod));
  const surplus = sorted.filter((pod) => pod !== fresh && pod !== old);
  if (fresh !== undefined && old !== undefined && (!isReady(old) || isAvailable(view, fresh))) surplus.push(old);
  return surplus;
}

/** Returns the unbound pods whose target node does not exist. No scheduler can bind these pods. */
function waitingForNobody({ podsOn, placements }: DaemonView): ApiObject[] {
  return [...podsOn]
    .filter(([node]) => !placements.has(node))
    .flatMap(([, pods]) => pods.filter((pod) => nodeNameOf(pod) === '' && !isDying(pod)));
}

/** Plans the creations and deletions that give each node its wanted number of pods (`podsShouldBeOnNode`). */
export function planPlacement(view: DaemonView): DaemonPlan {
  const create: string[] = [];
  const gone: ApiObject[] = [];
  const ended: ApiObject[] = [];
  for (const [node, { runs, stays }] of view.placements) {
    const pods = view.podsOn.get(node) ?? [];
    if (runs && pods.length === 0) create.push(node);
    else if (stays) {
      const live = pods.filter((pod) => !isDying(pod));
      const over = live.filter((pod) => phaseOf(pod) === 'Failed' || phaseOf(pod) === 'Succeeded');
      const running = live.filter((pod) => !over.includes(pod));
      ended.push(...over);
      gone.push(...over, ...surplusOn(view, running));
      if (allowsSurge(view) && runs && running.length === 0) create.push(node);
    } else gone.push(...pods.filter((pod) => !isDying(pod)));
  }
  return { create, delete: [...gone, ...waitingForNobody(view)], ended };
}

/** Returns two pods on a node: the pod with the old template, and the pod with the new template. */
function pairOn(
  view: DaemonView,
  pods: readonly ApiObject[],
): { fresh?: ApiObject | undefined; old?: ApiObject | undefined } | undefined {
  const live = pods.filter((pod) => !isDying(pod));
  const [fresh, ...others] = live.filter((pod) => isUpdated(view.set, view.hash, pod));
  const [old, ...more] = live.filter((pod) => !isUpdated(view.set, view.hash, pod));
  if (others.length + more.length > 0) return undefined;
  return { fresh, old };
}

function* nodesOf({ podsOn, placements }: DaemonView): Generator<readonly [string, readonly ApiObject[]]> {
  yield* podsOn;
  for (const [node, { runs }] of placements) if (runs && !podsOn.has(node)) yield [node, []];
}

function replaceInPlace(view: DaemonView, unavailable: number): DaemonPlan {
  let down = 0;
  const broken: ApiObject[] = [];
  const candidates: ApiObject[] = [];
  for (const [, pods] of nodesOf(view)) {
    const { fresh, old } = pairOn(view, pods) ?? {};
    // A node with the wrong number of pods counts as unavailable until another step corrects the number.
    if ((fresh === undefined) === (old === undefined)) down++;
    else if (fresh !== undefined) down += isAvailable(view, fresh) ? 0 : 1;
    else if (old !== undefined && isAvailable(view, old)) candidates.push(old);
    else if (old !== undefined) {
      broken.push(old);
      down++;
    }
  }
  const spare = Math.max(0, unavailable - down);
  return { create: [], delete: [...broken, ...candidates.slice(0, spare)], ended: [] };
}

function replaceBeside(view: DaemonView, surge: number): DaemonPlan {
  let surging = 0;
  let available = 0;
  const gone: ApiObject[] = [];
  const misplaced: ApiObject[] = [];
  const allowed: string[] = [];
  const candidates: string[] = [];
  for (const [node, pods] of view.podsOn) {
    const pair = pairOn(view, pods);
    if (pair === undefined) {
      surging++;
      continue;
    }
    const { fresh, old } = pair;
    const counted = old ?? fresh;
    if (counted !== undefined && isAvailable(view, counted)) available++;
    const placement = view.placements.get(node);
    // If a node no longer exists, its pods are not part of the update.
    if (old === undefined || placement === undefined) continue;
    if (fresh !== undefined) {
      if (isAvailable(view, fresh)) gone.push(old);
      else surging++;
    } else if (!isAvailable(view, old)) {
      if (placement.runs) allowed.push(node);
      else gone.push(old);
    } else if (placement.runs) candidates.push(node);
    else misplaced.push(old);
  }
  const deletable = Math.max(0, available - desired(view));
  return {
    create: [...allowed, ...candidates.slice(0, Math.max(0, surge - surging))],
    delete: [...gone, ...misplaced.slice(0, deletable)],
    ended: [],
  };
}

/** Plans the replacement of pods with an old template (`rollingUpdate`). */
export function planUpdate(view: DaemonView): DaemonPlan {
  if (look(view.set, 'spec', 'updateStrategy').type !== 'RollingUpdate') return { create: [], delete: [], ended: [] };
  const { surge, unavailable } = limits(view, desired(view));
  return surge === 0 ? replaceInPlace(view, unavailable) : replaceBeside(view, surge);
}
