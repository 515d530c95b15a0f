import { isRecord } from '../../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look, number, text } from '../../../apimachinery/objects/plain.ts';
import { scaled } from '../../objects/fields.ts';
import { replicasOf } from '../pods.ts';

export interface Scaling {
  readonly set: ApiObject;
  readonly replicas: number;
}

/** `fresh` is the ReplicaSet with the template of the Deployment. */
export interface RolloutView {
  readonly deployment: ApiObject;
  readonly fresh: ApiObject;
  readonly old: readonly ApiObject[];
  /** Whether old ReplicaSets still have pods, including terminating pods. */
  readonly oldPodsLeft: boolean;
}

const availableOf = (set: ApiObject): number => number(look(set, 'status'), 'availableReplicas') ?? 0;

const sum = (sets: readonly ApiObject[], count: (set: ApiObject) => number): number =>
  sets.reduce((total, set) => total + count(set), 0);

/**
 * Returns the limits of a rollout. If both limits are zero, one pod may be unavailable, because the rollout could not
 * continue otherwise.
 */
export function bounds(deployment: ApiObject): { surge: number; unavailable: number } {
  const { type, rollingUpdate } = look(deployment, 'spec', 'strategy');
  if (type !== 'RollingUpdate') return { surge: 0, unavailable: 0 };
  const { maxSurge, maxUnavailable } = isRecord(rollingUpdate) ? rollingUpdate : {};
  const replicas = replicasOf(deployment);
  const surge = scaled(maxSurge ?? 0, replicas, true);
  const unavailable = scaled(maxUnavailable ?? 0, replicas, false);
  if (surge === 0 && unavailable === 0) return { surge, unavailable: Math.min(1, replicas) };
  return { surge, unavailable: Math.min(unavailable, replicas) };
}

/** Scales old ReplicaSets down: first their unready pods, and then as many ready pods as maxUnavailable allows. */
function shrinkOld({ deployment, fresh, old }: RolloutView): Scaling[] {
  const { unavailable } = bounds(deployment);
  const least = replicasOf(deployment) - unavailable;
  const all = [...old, fresh];
  const newUnavailable = replicasOf(fresh) - availableOf(fresh);
  let allowed = sum(all, replicasOf) - least - newUnavailable;
  const wanted = new Map(old.map((set) => [set, replicasOf(set)]));
  if (allowed <= 0) return old.map((set) => ({ set, replicas: replicasOf(set) }));
  const byAge = [...old].sort((a, b) => age(a) - age(b));
  for (const set of byAge) {
    if (allowed <= 0) break;
    const unready = replicasOf(set) - availableOf(set);
    const gone = Math.min(allowed, Math.max(0, unready));
    wanted.set(set, replicasOf(set) - gone);
    allowed -= gone;
  }
  let spare = sum(all, availableOf) - least;
  for (const set of byAge) {
    if (spare <= 0) break;
    const left = wanted.get(set) ?? 0;
    const gone = Math.min(spare, left);
    wanted.set(set, left - gone);
    spare -= gone;
  }
  return old.map((set) => ({ set, replicas: wanted.get(set) ?? 0 }));
}

const age = (set: ApiObject): number => new Date(set.metadata.creationTimestamp ?? 0).getTime();

export function growNew({ deployment, fresh, old }: Omit<RolloutView, 'oldPodsLeft'>): number {
  const wanted = replicasOf(deployment);
  const now = replicasOf(fresh);
  if (now >= wanted) return wanted;
  const room = wanted + bounds(deployment).surge - sum([...old, fresh], replicasOf);
  return Math.min(wanted, now + Math.max(0, room));
}

/** Plans the sizes of the ReplicaSets during a rollout, as `rolloutRolling` and `rolloutRecreate` in Kubernetes. */
export function planRollout(view: RolloutView): Scaling[] {
  const { deployment, fresh, old, oldPodsLeft } = view;
  const changed = (plan: readonly Scaling[]): Scaling[] =>
    plan.filter(({ set, replicas }) => replicasOf(set) !== replicas);
  const wanted = replicasOf(deployment);
  if (text(look(deployment, 'spec', 'strategy'), 'type') === 'Recreate') {
    const stop = changed(old.map((set) => ({ set, replicas: 0 })));
    if (stop.length > 0 || oldPodsLeft) return stop;
    return changed([{ set: fresh, replicas: wanted }]);
  }
  const grow = changed([{ set: fresh, replicas: growNew(view) }]);
  if (grow.length > 0) return grow;
  return changed(shrinkOld(view));
}
