import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look, number } from '../../../apimachinery/objects/plain.ts';
import { replicasOf } from '../pods.ts';
import { bounds, type Scaling } from './rollout.ts';

export const DESIRED = 'deployment.kubernetes.io/desired-replicas';
export const MAX = 'deployment.kubernetes.io/max-replicas';

/** `fresh` is the ReplicaSet with the template of the Deployment. */
export interface ScaleView {
  readonly deployment: ApiObject;
  readonly fresh: ApiObject | undefined;
  readonly old: readonly ApiObject[];
}

const availableOf = (set: ApiObject): number => number(look(set, 'status'), 'availableReplicas') ?? 0;
const createdAt = (set: ApiObject): number => new Date(set.metadata.creationTimestamp ?? 0).getTime();
const nameOf = (set: ApiObject): string => set.metadata.name ?? '';

export function sizeAnnotations(deployment: ApiObject): Record<string, string> {
  const replicas = replicasOf(deployment);
  return { [DESIRED]: String(replicas), [MAX]: String(replicas + bounds(deployment).surge) };
}

const annotated = (set: ApiObject, name: string): number | undefined => {
  const value = set.metadata.annotations?.[name];
  return value !== undefined && /^-?\d+$/.test(value) ? Number(value) : undefined;
};

/** Returns whether the size of the Deployment has changed. */
export const wasScaled = ({ deployment, fresh, old }: ScaleView): boolean =>
  [...old, ...(fresh === undefined ? [] : [fresh])]
    .filter((set) => replicasOf(set) > 0)
    .some((set) => {
      const desired = annotated(set, DESIRED);
      return desired !== undefined && desired !== replicasOf(deployment);
    });

/** Rounds a number to an integer. As in Go, the function rounds a half away from zero. */
const rounded = (value: number): number => Math.sign(value) * Math.round(Math.abs(value));

function fraction(deployment: ApiObject, set: ApiObject): number {
  const replicas = replicasOf(set);
  const wanted = replicasOf(deployment);
  if (wanted === 0) return -replicas;
  const before = annotated(set, MAX) || (number(look(deployment, 'status'), 'replicas') ?? 0);
  if (before === 0) return 0;
  return rounded((replicas * (wanted + bounds(deployment).surge)) / before) - replicas;
}

function largestFirst(sets: readonly ApiObject[], newer: boolean): ApiObject[] {
  const sign = newer ? -1 : 1;
  return [...sets].sort((a, b) => {
    const bySize = replicasOf(b) - replicasOf(a);
    if (bySize !== 0) return bySize;
    const byAge = (createdAt(a) - createdAt(b)) * sign;
    return byAge !== 0 ? byAge : (nameOf(a) < nameOf(b) ? -1 : 1) * sign;
  });
}

/**
 * Distributes a change of the size over all ReplicaSets with pods, in proportion to their sizes. The largest ReplicaSet
 * gets the remainder.
 */
function proportional(deployment: ApiObject, active: readonly ApiObject[]): Scaling[] {
  const wanted = replicasOf(deployment);
  const allowed = wanted > 0 ? wanted + bounds(deployment).surge : 0;
  const toAdd = allowed - active.reduce((sum, set) => sum + replicasOf(set), 0);
  const sets = toAdd === 0 ? active : largestFirst(active, toAdd > 0);
  let added = 0;
  const plan = sets.map((set) => {
    if (toAdd === 0 || toAdd === added) return { set, replicas: replicasOf(set) };
    const share = fraction(deployment, set);
    const part = toAdd > 0 ? Math.min(share, toAdd - added) : Math.max(share, toAdd - added);
    added += part;
    return { set, replicas: replicasOf(set) + part };
  });
  const [first, ...others] = plan;
  if (first === undefined || toAdd === added) return plan;
  return [{ set: first.set, replicas: Math.max(0, first.replicas + toAdd - added) }, ...others];
}

/**
 * Plans the sizes of the ReplicaSets after the size of the Deployment changed during a pause or a rollout (`scale`).
 */
export function planScale({ deployment, fresh, old }: ScaleView): Scaling[] {
  const wanted = replicasOf(deployment);
  const activeOld = old.filter((set) => replicasOf(set) > 0);
  const active = [...activeOld, ...(fresh !== undefined && replicasOf(fresh) > 0 ? [fresh] : [])];
  if (active.length <= 1) {
    const newest = [...old].sort((a, b) => createdAt(b) - createdAt(a))[0];
    const only = active[0] ?? fresh ?? newest;
    return only === undefined || replicasOf(only) === wanted ? [] : [{ set: only, replicas: wanted }];
  }
  const isSaturated =
    fresh !== undefined &&
    replicasOf(fresh) === wanted &&
    annotated(fresh, DESIRED) === wanted &&
    availableOf(fresh) === wanted;
  if (isSaturated) return activeOld.map((set) => ({ set, replicas: 0 }));
  const isRolling = look(deployment, 'spec', 'strategy').type === 'RollingUpdate';
  return isRolling ? proportional(deployment, active) : [];
}
