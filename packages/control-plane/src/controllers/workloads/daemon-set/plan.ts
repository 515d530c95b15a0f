import { look } from '../../../kinds/plain.ts';
import type { ApiObject } from '../../../object.ts';
import { isDying, isReady, phaseOf, scaled } from '../../runtime/objects.ts';
import { availability, minReadySecondsOf } from '../pods.ts';
import { HASH_LABEL, type Placement } from './node.ts';

/** A set, its pods by the node that they are meant for, and what the set wants of each node. */
export interface DaemonView {
  readonly set: ApiObject;
  readonly hash: string;
  readonly podsOn: ReadonlyMap<string, readonly ApiObject[]>;
  readonly placements: ReadonlyMap<string, Placement>;
  readonly now: Date;
}

export interface DaemonPlan {
  readonly create: readonly string[];
  readonly delete: readonly ApiObject[];
  /** Pods among those that ended, to be told of. */
  readonly ended: readonly ApiObject[];
}

const createdAt = (pod: ApiObject): number => new Date(pod.metadata.creationTimestamp ?? 0).getTime();
const PHASES = ['Failed', 'Unknown', 'Pending', 'Running'];

/** The oldest first, bound before unbound. */
export const byAge = (pods: readonly ApiObject[]): ApiObject[] =>
  [...pods].sort((a, b) => {
    const bound = (pod: ApiObject): number => (look(pod, 'spec').nodeName === undefined ? 1 : 0);
    return (
      bound(a) - bound(b) || createdAt(a) - createdAt(b) || PHASES.indexOf(phaseOf(b)) - PHASES.indexOf(phaseOf(a))
    );
  });

const isNew = ({ hash }: DaemonView, pod: ApiObject): boolean => pod.metadata.labels?.[HASH_LABEL] === hash;

const isAvailable = ({ set, now }: DaemonView, pod: ApiObject): boolean =>
  !isDying(pod) && availability(pod, minReadySecondsOf(set), now).available;

const desired = ({ placements }: DaemonView): number => [...placements.values()].filter(({ runs }) => runs).length;

/** How many pods may be missing, and how many may stand beside an old one; either is at least one. */
function limits(view: DaemonView): { unavailable: number; surge: number } {
  const { type, rollingUpdate } = look(view.set, 'spec', 'updateStrategy');
  const { maxUnavailable = 1, maxSurge = 0 } = look({ rollingUpdate }, 'rollingUpdate');
  if (type !== 'RollingUpdate') return { unavailable: 0, surge: 0 };
  const wanted = desired(view);
  const surge = scaled(maxSurge, wanted, true);
  const unavailable = scaled(maxUnavailable, wanted, true);
  return { surge, unavailable: wanted > 0 && surge === 0 && unavailable === 0 ? 1 : unavailable };
}

/** Which of a node's running pods are too many: one stays, with a surge one of each template until the new one is available. */
function surplusOn(view: DaemonView, running: readonly ApiObject[]): ApiObject[] {
  const sorted = byAge(running);
  if (limits(view).surge === 0) return sorted.slice(1);
  const fresh = sorted.find((pod) => isNew(view, pod));
  const old = sorted.find((pod) => !isNew(view, pod));
  const surplus = sorted.filter((pod) => pod !== fresh && pod !== old);
  if (fresh !== undefined && old !== undefined && (!isReady(old) || isAvailable(view, fresh))) surplus.push(old);
  return surplus;
}

/** Pods where there should be one, and none where there should not. */
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
      if (limits(view).surge > 0 && runs && running.length === 0) create.push(node);
    } else gone.push(...pods.filter((pod) => !isDying(pod)));
  }
  return { create, delete: gone, ended };
}

/** The old and the new pod of a node; undefined where there are more of one kind. */
function pairOn(view: DaemonView, pods: readonly ApiObject[]): { fresh?: ApiObject; old?: ApiObject } | undefined {
  const live = pods.filter((pod) => !isDying(pod));
  const fresh = live.filter((pod) => isNew(view, pod));
  const old = live.filter((pod) => !isNew(view, pod));
  if (fresh.length > 1 || old.length > 1) return undefined;
  return {
    ...(fresh[0] === undefined ? {} : { fresh: fresh[0] }),
    ...(old[0] === undefined ? {} : { old: old[0] }),
  };
}

function replaceInPlace(view: DaemonView, unavailable: number): DaemonPlan {
  let down = 0;
  const broken: ApiObject[] = [];
  const candidates: ApiObject[] = [];
  for (const [node, { runs }] of view.placements) {
    const pair = pairOn(view, view.podsOn.get(node) ?? []);
    const { fresh, old } = pair ?? {};
    if (!runs && fresh === undefined && old === undefined) continue;
    if (old === undefined) {
      if (fresh === undefined || !isAvailable(view, fresh)) down++;
    } else if (fresh !== undefined) down++;
    else if (isAvailable(view, old)) candidates.push(old);
    else {
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
  for (const [node, { runs }] of view.placements) {
    const pods = view.podsOn.get(node) ?? [];
    if (pods.length === 0) continue;
    const pair = pairOn(view, pods);
    if (pair === undefined) {
      surging++;
      continue;
    }
    const { fresh, old } = pair;
    const counted = old ?? fresh;
    if (counted !== undefined && isAvailable(view, counted)) available++;
    if (old === undefined) continue;
    if (fresh !== undefined) {
      if (isAvailable(view, fresh)) gone.push(old);
      else surging++;
    } else if (!isAvailable(view, old)) {
      if (runs) allowed.push(node);
      else gone.push(old);
    } else if (runs) candidates.push(node);
    else misplaced.push(old);
  }
  const deletable = Math.max(0, available - desired(view));
  return {
    create: [...allowed, ...candidates.slice(0, Math.max(0, surge - surging))],
    delete: [...gone, ...misplaced.slice(0, deletable)],
    ended: [],
  };
}

/** Which pods of an old template may be replaced now (`rollingUpdate`). */
export function planUpdate(view: DaemonView): DaemonPlan {
  if (look(view.set, 'spec', 'updateStrategy').type !== 'RollingUpdate') return { create: [], delete: [], ended: [] };
  const { surge, unavailable } = limits(view);
  return surge === 0 ? replaceInPlace(view, unavailable) : replaceBeside(view, surge);
}
