import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { items, labels, look, number, type Plain } from '../../../apimachinery/objects/plain.ts';
import { ApiError, allowing, hasCode } from '../../runtime/api.ts';
import type { Controller, ControllerContext } from '../../runtime/controller.ts';
import { keyOf } from '../../runtime/informer.ts';
import { controllerOf, isDying, isTerminal, namespaceOf } from '../../runtime/objects.ts';
import { DEPLOYMENTS, PODS, REPLICA_SETS } from '../../runtime/resources.ts';
import { Adoption } from '../adopt.ts';
import { isTerminating, replicasOf } from '../pods.ts';
import { compareRevisions, highest, nextRevision } from '../revision.ts';
import { findFresh, missingAnnotations, newReplicaSet, REVISION, revisionOf, sameTemplate } from './replica-sets.ts';
import { planRollback, rollbackOf, rolledBack } from './rollback.ts';
import { planRollout, type Scaling } from './rollout.ts';
import { planScale, sizeAnnotations, wasScaled } from './scale.ts';
import {
  type ConditionFacts,
  countStatus,
  deadlineOf,
  isComplete,
  pausedCondition,
  progressCheckAt,
  progressFacts,
  progressOf,
  rolloutStatus,
  sameStatus,
  withCondition,
} from './status.ts';

const byRevision = (a: ApiObject, b: ApiObject): number => compareRevisions(revisionOf(a), revisionOf(b));

const isEmptySelector = (selector: unknown): boolean =>
  Object.keys(labels(selector, 'matchLabels')).length === 0 && items(selector, 'matchExpressions').length === 0;

function setup({ api, clock, informer, queue, recorder }: ControllerContext): void {
  const deployments = informer(DEPLOYMENTS);
  const replicaSets = informer(REPLICA_SETS);
  const pods = informer(PODS);
  const tell = recorder('deployment-controller');
  const adoption = new Adoption(api, { owners: DEPLOYMENTS, resource: REPLICA_SETS, objects: replicaSets });
  const podsOf = pods.index((pod) => {
    const owner = controllerOf(pod);
    return owner === undefined ? [] : [owner.uid];
  });

  /** Writes a status and, with it, the revision that the deployment has come to. */
  const writeStatus = async (deployment: ApiObject, status: Plain, revision?: string): Promise<void> => {
    const { namespace, name, resourceVersion, annotations } = deployment.metadata;
    const isNewRevision = revision !== undefined && annotations?.[REVISION] !== revision;
    if (!isNewRevision && sameStatus(status, look(deployment, 'status'))) return;
    const metadata = { resourceVersion, ...(isNewRevision ? { annotations: { [REVISION]: revision } } : {}) };
    await allowing(
      api.patch(DEPLOYMENTS, { namespace, name, subresource: 'status' }, { metadata, status }),
      404,
      // Written meanwhile: the event of that brings the deployment back.
      409,
    );
  };

  const note = (deployment: ApiObject, facts: ConditionFacts, revision?: string): Promise<void> => {
    const old = look(deployment, 'status');
    const conditions = withCondition(items(old, 'conditions'), facts, clock.now());
    return writeStatus(deployment, { ...old, conditions }, revision);
  };

  /** A set of the name is there: it is this deployment's, or its hash is taken and another one is tried. */
  const collide = async (deployment: ApiObject, set: ApiObject): Promise<void> => {
    const { namespace, name } = set.metadata;
    const there = await api.get(REPLICA_SETS, { namespace: namespaceOf(deployment), name });
    if (controllerOf(there)?.uid === deployment.metadata.uid && sameTemplate(there, deployment)) return;
    const status = look(deployment, 'status');
    const collisionCount = (number(status, 'collisionCount') ?? 0) + 1;
    await writeStatus(deployment, { ...status, collisionCount });
    throw new Error(`the name ${namespace ?? ''}/${name} is another set's; the next one is tried`);
  };

  const createFresh = async (deployment: ApiObject, old: readonly ApiObject[], revision: bigint): Promise<void> => {
    const set = newReplicaSet(deployment, old, revision);
    const { name } = set.metadata;
    try {
      await api.create(REPLICA_SETS, set, { namespace: namespaceOf(deployment) });
    } catch (error) {
      if (hasCode(error, 409)) return collide(deployment, set);
      if (!(error instanceof ApiError) || isTerminating(error)) throw error;
      const message = `Failed to create new replica set "${name}": ${error.message}`;
      tell(deployment, 'Warning', 'ReplicaSetCreateError', message);
      if (deadlineOf(deployment) !== undefined) {
        await note(deployment, progressFacts('False', 'ReplicaSetCreateError', message));
      }
      throw error;
    }
    const replicas = replicasOf(set);
    if (replicas > 0) {
      tell(deployment, 'Normal', 'ScalingReplicaSet', `Scaled up replica set ${name} from 0 to ${replicas}`);
    }
    if (deadlineOf(deployment) === undefined) return;
    const facts = progressFacts('True', 'NewReplicaSetCreated', `Created new replica set "${name}"`);
    await note(deployment, facts, String(revision));
  };

  /** Updates the annotations of the new set. Returns true if nothing changed, so that the sync can continue. */
  const isCurrent = async (deployment: ApiObject, fresh: ApiObject, next: bigint): Promise<boolean> => {
    const annotations = missingAnnotations(deployment, fresh.metadata.annotations ?? {}, next);
    const minReadySeconds = number(look(deployment, 'spec'), 'minReadySeconds') ?? 0;
    const isReadyAlike = (number(look(fresh, 'spec'), 'minReadySeconds') ?? 0) === minReadySeconds;
    if (Object.keys(annotations).length === 0 && isReadyAlike) return true;
    const { namespace, name, resourceVersion } = fresh.metadata;
    const patch = {
      metadata: { resourceVersion, annotations },
      ...(isReadyAlike ? {} : { spec: { minReadySeconds } }),
    };
    await allowing(api.patch(REPLICA_SETS, { namespace, name }, patch), 404, 409);
    return false;
  };

  const scaleTo = async (deployment: ApiObject, { set, replicas }: Scaling): Promise<void> => {
    const before = replicasOf(set);
    const known = set.metadata.annotations ?? {};
    const annotations = sizeAnnotations(deployment);
    const isAnnotated = Object.entries(annotations).every(([name, value]) => known[name] === value);
    if (before === replicas && isAnnotated) return;
    const { namespace, name, resourceVersion } = set.metadata;
    const patch = { metadata: { resourceVersion, annotations }, spec: { replicas } };
    const done = await allowing(api.patch(REPLICA_SETS, { namespace, name }, patch), 404, 409);
    if (done === undefined || before === replicas) return;
    const direction = before < replicas ? 'up' : 'down';
    tell(
      deployment,
      'Normal',
      'ScalingReplicaSet',
      `Scaled ${direction} replica set ${name} from ${before} to ${replicas}`,
    );
  };

  /** Sets of the past beyond the history that the deployment keeps. */
  const cleanUp = async (deployment: ApiObject, old: readonly ApiObject[]): Promise<void> => {
    const limit = number(look(deployment, 'spec'), 'revisionHistoryLimit');
    if (limit === undefined) return;
    const surplus = [...old].sort(byRevision).slice(0, Math.max(0, old.length - limit));
    for (const set of surplus) {
      const status = look(set, 'status');
      const isIdle = (number(status, 'replicas') ?? 0) === 0 && replicasOf(set) === 0;
      const isSeen = (set.metadata.generation ?? 0) <= (number(status, 'observedGeneration') ?? 0);
      if (!isIdle || !isSeen) continue;
      const { namespace, name } = set.metadata;
      await allowing(api.delete(REPLICA_SETS, { namespace, name }, { propagationPolicy: 'Background' }), 404);
    }
  };

  /** A rollout that is paused, or was scaled on its way: the sets follow the size, and nothing else moves. */
  const followSize = async (
    deployment: ApiObject,
    fresh: ApiObject | undefined,
    old: readonly ApiObject[],
  ): Promise<void> => {
    const sets = fresh === undefined ? old : [fresh, ...old];
    const plan = planScale({ deployment, fresh, old });
    for (const step of plan) await scaleTo(deployment, step);
    // Each other set with pods records the new size. Otherwise the next sync would see another change of the size.
    const planned = new Set(plan.map(({ set }) => set));
    for (const set of sets.filter((one) => !planned.has(one) && replicasOf(one) > 0)) {
      await scaleTo(deployment, { set, replicas: replicasOf(set) });
    }
    if (look(deployment, 'spec').paused === true) await cleanUp(deployment, old);
    await writeStatus(deployment, countStatus(deployment, fresh, sets, clock.now()));
  };

  const rollOut = async (
    key: string,
    deployment: ApiObject,
    fresh: ApiObject | undefined,
    old: readonly ApiObject[],
  ): Promise<void> => {
    const sets = fresh === undefined ? old : [fresh, ...old];
    if (fresh !== undefined) {
      // A Recreate rollout waits until no pod of an old set runs any more.
      const oldPodsLeft = old.some((set) => podsOf(set.metadata.uid ?? '').some((pod) => !isTerminal(pod)));
      for (const step of planRollout({ deployment, fresh, old, oldPodsLeft })) await scaleTo(deployment, step);
    }
    const status = rolloutStatus(deployment, fresh, sets, clock.now());
    await writeStatus(deployment, status, fresh?.metadata.annotations?.[REVISION]);
    const at = progressCheckAt(deployment, status);
    if (at !== undefined) work.addAt(key, at);
    if (isComplete(deployment, look(deployment, 'status'))) await cleanUp(deployment, old);
  };

  const stopOld = async (deployment: ApiObject, old: readonly ApiObject[]): Promise<boolean> => {
    const running = old.filter((set) => replicasOf(set) > 0);
    for (const set of running) await scaleTo(deployment, { set, replicas: 0 });
    return running.length > 0 || old.some((set) => podsOf(set.metadata.uid ?? '').some((pod) => !isTerminal(pod)));
  };

  const rollBack = async (deployment: ApiObject, sets: readonly ApiObject[], revision: bigint): Promise<void> => {
    const plan = planRollback(deployment, sets, revision);
    // Written meanwhile: the event of that brings the deployment back.
    const done = await allowing(api.update(DEPLOYMENTS, rolledBack(deployment, plan)), 404, 409);
    if (done !== undefined) tell(deployment, plan.type, plan.reason, plan.message);
  };

  const sync = async (key: string, deployment: ApiObject): Promise<void> => {
    if (isEmptySelector(look(deployment, 'spec').selector)) {
      tell(
        deployment,
        'Warning',
        'SelectingAll',
        'This deployment is selecting all pods. A non-empty selector is required.',
      );
      return;
    }
    const sets = (await adoption.claim(deployment)).filter((set) => !isDying(set));
    const fresh = findFresh(deployment, sets);
    const old = sets.filter((set) => set !== fresh);
    if (isDying(deployment)) {
      return writeStatus(deployment, countStatus(deployment, fresh, sets, clock.now()));
    }
    const paused = pausedCondition(deployment);
    if (paused !== undefined) return note(deployment, paused);
    const next = nextRevision(highest(old.map(revisionOf)));
    if (fresh !== undefined && !(await isCurrent(deployment, fresh, next))) return;
    const wish = look(deployment, 'spec').paused === true ? undefined : rollbackOf(deployment);
    if (wish !== undefined) return rollBack(deployment, sets, wish);
    if (look(deployment, 'spec').paused === true || wasScaled({ deployment, fresh, old })) {
      return followSize(deployment, fresh, old);
    }
    if (fresh === undefined) {
      const isRecreated = look(deployment, 'spec', 'strategy').type === 'Recreate';
      if (isRecreated && (await stopOld(deployment, old))) return rollOut(key, deployment, undefined, old);
      return createFresh(deployment, old, next);
    }
    if (deadlineOf(deployment) !== undefined && progressOf(look(deployment, 'status')) === undefined) {
      const facts = progressFacts('True', 'FoundNewReplicaSet', `Found new replica set "${fresh.metadata.name}"`);
      return note(deployment, facts, fresh.metadata.annotations?.[REVISION]);
    }
    return rollOut(key, deployment, fresh, old);
  };

  const work = queue(async (key) => {
    const deployment = deployments.get(key);
    if (deployment !== undefined) await sync(key, deployment);
  });

  deployments.onChange(({ type, object }) => {
    if (type !== 'deleted') work.add(keyOf(object));
  });
  const enqueueOwner = (object: ApiObject): void => {
    const owner = controllerOf(object);
    if (owner?.kind === 'Deployment') work.add(`${namespaceOf(object)}/${owner.name}`);
  };
  const deploymentsIn = deployments.index((deployment) => [namespaceOf(deployment)]);
  replicaSets.onChange(({ type, object, old }) => {
    for (const set of old === undefined ? [object] : [object, old]) enqueueOwner(set);
    if (type === 'deleted' || controllerOf(object) !== undefined) return;
    for (const deployment of deploymentsIn(namespaceOf(object))) {
      if (adoption.selects(deployment, object)) work.add(keyOf(deployment));
    }
  });
  pods.onChange(({ type, object }) => {
    if (type !== 'deleted' && !isTerminal(object)) return;
    const owner = controllerOf(object);
    if (owner?.kind !== 'ReplicaSet') return;
    const set = replicaSets.get(`${namespaceOf(object)}/${owner.name}`);
    if (set !== undefined) enqueueOwner(set);
  });
}

/**
 * Rolls Deployments out over ReplicaSets.
 * @see kubernetes pkg/controller/deployment
 */
export const deploymentController: Controller = { name: 'deployment', setup };
