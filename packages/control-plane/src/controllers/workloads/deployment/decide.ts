import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look, number } from '../../../apimachinery/objects/plain.ts';
import { isDying } from '../../objects/fields.ts';
import { replicasOf } from '../pods.ts';
import { highest, nextRevision } from '../revision.ts';
import { missingAnnotations, REVISION, revisionOf } from './replica-sets.ts';
import { rollbackOf } from './rollback.ts';
import { wasScaled } from './scale.ts';
import { type ConditionFacts, deadlineOf, pausedCondition, progressFacts, progressOf } from './status.ts';

export interface DeploymentView {
  readonly deployment: ApiObject;
  readonly fresh: ApiObject | undefined;
  readonly old: readonly ApiObject[];
  /** Whether an old ReplicaSet still has a pod that has not ended. */
  readonly oldPodsLeft: boolean;
}

/** The sync ends after one step, and the writes of the step trigger the next sync. */
export type Step =
  | { readonly kind: 'count' }
  | { readonly kind: 'note'; readonly facts: ConditionFacts; readonly revision?: string | undefined }
  /** Copies the annotations and `minReadySeconds` of the Deployment to the ReplicaSet with the current template. */
  | { readonly kind: 'refresh'; readonly fresh: ApiObject; readonly change: SetChange }
  | { readonly kind: 'roll back'; readonly revision: bigint }
  | { readonly kind: 'follow size' }
  /** Scales the old ReplicaSets to zero. */
  | { readonly kind: 'stop old' }
  | { readonly kind: 'create'; readonly revision: bigint }
  | { readonly kind: 'roll out' };

export interface SetChange {
  readonly annotations: Readonly<Record<string, string>>;
  readonly minReadySeconds: number | undefined;
}

/** Returns all ReplicaSets. The ReplicaSet with the current template is first. */
export const setsOf = ({ fresh, old }: DeploymentView): readonly ApiObject[] =>
  fresh === undefined ? old : [fresh, ...old];

export function decide(view: DeploymentView): Step {
  const { deployment, fresh, old, oldPodsLeft } = view;
  if (isDying(deployment)) return { kind: 'count' };
  const paused = pausedCondition(deployment);
  if (paused !== undefined) return { kind: 'note', facts: paused };
  const revision = nextRevision(highest(old.map(revisionOf)));
  const change = fresh === undefined ? undefined : changeOf(deployment, fresh, revision);
  if (fresh !== undefined && change !== undefined) return { kind: 'refresh', fresh, change };
  const isPaused = look(deployment, 'spec').paused === true;
  const wish = isPaused ? undefined : rollbackOf(deployment);
  if (wish !== undefined) return { kind: 'roll back', revision: wish };
  if (isPaused || wasScaled(view)) return { kind: 'follow size' };
  if (fresh === undefined) {
    const isRecreated = look(deployment, 'spec', 'strategy').type === 'Recreate';
    const isRunning = oldPodsLeft || old.some((set) => replicasOf(set) > 0);
    return isRecreated && isRunning ? { kind: 'stop old' } : { kind: 'create', revision };
  }
  if (deadlineOf(deployment) !== undefined && progressOf(look(deployment, 'status')) === undefined) {
    const facts = progressFacts('True', 'FoundNewReplicaSet', `Found new replica set "${fresh.metadata.name}"`);
    return { kind: 'note', facts, revision: fresh.metadata.annotations?.[REVISION] };
  }
  return { kind: 'roll out' };
}

/** Returns the annotations and the `minReadySeconds` that the ReplicaSet with the current template lacks. */
function changeOf(deployment: ApiObject, fresh: ApiObject, revision: bigint): SetChange | undefined {
  const annotations = missingAnnotations(deployment, fresh.metadata.annotations ?? {}, revision);
  const wanted = number(look(deployment, 'spec'), 'minReadySeconds') ?? 0;
  const isAlike = (number(look(fresh, 'spec'), 'minReadySeconds') ?? 0) === wanted;
  if (Object.keys(annotations).length === 0 && isAlike) return undefined;
  return { annotations, minReadySeconds: isAlike ? undefined : wanted };
}
