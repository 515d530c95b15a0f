import type { Clock } from '../../../apimachinery/objects/clock.ts';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { defined, items, look, number, type Plain } from '../../../apimachinery/objects/plain.ts';
import { StatusError } from '../../../apimachinery/objects/status.ts';
import { type Api, allowing, hasCode } from '../../client/api.ts';
import { DEPLOYMENTS, REPLICA_SETS } from '../../client/resources.ts';
import type { Recorder } from '../../events/events.ts';
import { controllerOf, namespaceOf } from '../../objects/fields.ts';
import { isTerminating, replicasOf } from '../pods.ts';
import { compareRevisions } from '../revision.ts';
import { type DeploymentView, type SetChange, type Step, setsOf } from './decide.ts';
import { newReplicaSet, REVISION, revisionOf, sameTemplate } from './replica-sets.ts';
import { planRollback, rolledBack } from './rollback.ts';
import { planRollout, type Scaling } from './rollout.ts';
import { planScale, sizeAnnotations } from './scale.ts';
import {
  type ConditionFacts,
  countStatus,
  deadlineOf,
  isComplete,
  progressCheckAt,
  progressFacts,
  rolloutStatus,
  sameStatus,
  withCondition,
} from './status.ts';

const byRevision = (a: ApiObject, b: ApiObject): number => compareRevisions(revisionOf(a), revisionOf(b));

/** Writes the steps of a Deployment. */
export class DeploymentWriter {
  readonly #api: Api;
  readonly #clock: Clock;
  readonly #tell: Recorder;

  constructor(api: Api, clock: Clock, tell: Recorder) {
    this.#api = api;
    this.#clock = clock;
    this.#tell = tell;
  }

  async apply(view: DeploymentView, step: Step): Promise<Date | undefined> {
    const { deployment, fresh } = view;
    switch (step.kind) {
      case 'count':
        await this.#writeStatus(deployment, countStatus(deployment, fresh, setsOf(view), this.#clock.now()));
        return undefined;
      case 'note':
        await this.#note(deployment, step.facts, step.revision);
        return undefined;
      case 'refresh':
        await this.#refresh(step.fresh, step.change);
        return undefined;
      case 'roll back':
        await this.#rollBack(view, step.revision);
        return undefined;
      case 'follow size':
        await this.#followSize(view);
        return undefined;
      case 'create':
        await this.#create(view, step.revision);
        return undefined;
      case 'stop old':
        for (const set of view.old) if (replicasOf(set) > 0) await this.#scaleTo(deployment, { set, replicas: 0 });
        return this.#rollOut(view);
      default:
        return this.#rollOut(view);
    }
  }

  async #writeStatus(deployment: ApiObject, status: Plain, revision?: string): Promise<void> {
    const { namespace, name, resourceVersion, annotations } = deployment.metadata;
    const isNewRevision = revision !== undefined && annotations?.[REVISION] !== revision;
    if (!isNewRevision && sameStatus(status, look(deployment, 'status'))) return;
    const metadata = defined({ resourceVersion, annotations: isNewRevision ? { [REVISION]: revision } : undefined });
    const place = { namespace, name, subresource: 'status' };
    await allowing(this.#api.patch(DEPLOYMENTS, place, { metadata, status }), 404, 409);
  }

  #note(deployment: ApiObject, facts: ConditionFacts, revision?: string): Promise<void> {
    const old = look(deployment, 'status');
    const conditions = withCondition(items(old, 'conditions'), facts, this.#clock.now());
    return this.#writeStatus(deployment, { ...old, conditions }, revision);
  }

  async #refresh({ metadata }: ApiObject, { annotations, minReadySeconds }: SetChange): Promise<void> {
    const { namespace, name, resourceVersion } = metadata;
    const patch = defined({
      metadata: { resourceVersion, annotations },
      spec: minReadySeconds === undefined ? undefined : { minReadySeconds },
    });
    await allowing(this.#api.patch(REPLICA_SETS, { namespace, name }, patch), 404, 409);
  }

  async #create({ deployment, old }: DeploymentView, revision: bigint): Promise<void> {
    const set = newReplicaSet(deployment, old, revision);
    const { name } = set.metadata;
    try {
      await this.#api.create(REPLICA_SETS, set, { namespace: namespaceOf(deployment) });
    } catch (error) {
      if (hasCode(error, 409)) return this.#collide(deployment, set);
      if (!(error instanceof StatusError) || isTerminating(error)) throw error;
      const message = `Failed to create new replica set "${name}": ${error.message}`;
      this.#tell(deployment, 'Warning', 'ReplicaSetCreateError', message);
      if (deadlineOf(deployment) !== undefined) {
        await this.#note(deployment, progressFacts('False', 'ReplicaSetCreateError', message));
      }
      throw error;
    }
    const replicas = replicasOf(set);
    if (replicas > 0) {
      this.#tell(deployment, 'Normal', 'ScalingReplicaSet', `Scaled up replica set ${name} from 0 to ${replicas}`);
    }
    if (deadlineOf(deployment) === undefined) return;
    const facts = progressFacts('True', 'NewReplicaSetCreated', `Created new replica set "${name}"`);
    await this.#note(deployment, facts, String(revision));
  }

  /** Handles a ReplicaSet that already has the name of the new ReplicaSet. */
  async #collide(deployment: ApiObject, set: ApiObject): Promise<void> {
    const { namespace, name } = set.metadata;
    const there = await this.#api.get(REPLICA_SETS, { namespace: namespaceOf(deployment), name });
    if (controllerOf(there)?.uid === deployment.metadata.uid && sameTemplate(there, deployment)) return;
    const status = look(deployment, 'status');
    const collisionCount = (number(status, 'collisionCount') ?? 0) + 1;
    await this.#writeStatus(deployment, { ...status, collisionCount });
    throw new Error(`the name ${namespace ?? ''}/${name} is another set's; the next one is tried`);
  }

  async #scaleTo(deployment: ApiObject, { set, replicas }: Scaling): Promise<void> {
    const before = replicasOf(set);
    const known = set.metadata.annotations ?? {};
    const annotations = sizeAnnotations(deployment);
    const isAnnotated = Object.entries(annotations).every(([name, value]) => known[name] === value);
    if (before === replicas && isAnnotated) return;
    const { namespace, name, resourceVersion } = set.metadata;
    const patch = { metadata: { resourceVersion, annotations }, spec: { replicas } };
    const done = await allowing(this.#api.patch(REPLICA_SETS, { namespace, name }, patch), 404, 409);
    if (done === undefined || before === replicas) return;
    const direction = before < replicas ? 'up' : 'down';
    const message = `Scaled ${direction} replica set ${name} from ${before} to ${replicas}`;
    this.#tell(deployment, 'Normal', 'ScalingReplicaSet', message);
  }

  /** Scales the ReplicaSets of a Deployment that is paused or has a new size. The rollout does not continue. */
  async #followSize(view: DeploymentView): Promise<void> {
    const { deployment, fresh, old } = view;
    const sets = setsOf(view);
    const plan = planScale({ deployment, fresh, old });
    for (const step of plan) await this.#scaleTo(deployment, step);
    // Every ReplicaSet with pods gets the new size of the Deployment in an annotation, even if the ReplicaSet keeps its
    // size.
    const planned = new Set(plan.map(({ set }) => set));
    for (const set of sets.filter((one) => !planned.has(one) && replicasOf(one) > 0)) {
      await this.#scaleTo(deployment, { set, replicas: replicasOf(set) });
    }
    if (look(deployment, 'spec').paused === true) await this.#cleanUp(deployment, old);
    await this.#writeStatus(deployment, countStatus(deployment, fresh, sets, this.#clock.now()));
  }

  async #rollOut(view: DeploymentView): Promise<Date | undefined> {
    const { deployment, fresh, old, oldPodsLeft } = view;
    if (fresh !== undefined) {
      const plan = planRollout({ deployment, fresh, old, oldPodsLeft });
      for (const step of plan) await this.#scaleTo(deployment, step);
    }
    const status = rolloutStatus(deployment, fresh, setsOf(view), this.#clock.now());
    await this.#writeStatus(deployment, status, fresh?.metadata.annotations?.[REVISION]);
    if (isComplete(deployment, look(deployment, 'status'))) await this.#cleanUp(deployment, old);
    return progressCheckAt(deployment, status);
  }

  async #rollBack(view: DeploymentView, revision: bigint): Promise<void> {
    const { deployment } = view;
    const plan = planRollback(deployment, setsOf(view), revision);
    const done = await allowing(this.#api.update(DEPLOYMENTS, rolledBack(deployment, plan)), 404, 409);
    if (done !== undefined) this.#tell(deployment, plan.type, plan.reason, plan.message);
  }

  async #cleanUp(deployment: ApiObject, old: readonly ApiObject[]): Promise<void> {
    const limit = number(look(deployment, 'spec'), 'revisionHistoryLimit');
    if (limit === undefined) return;
    const surplus = [...old].sort(byRevision).slice(0, Math.max(0, old.length - limit));
    for (const set of surplus) {
      const status = look(set, 'status');
      const isIdle = (number(status, 'replicas') ?? 0) === 0 && replicasOf(set) === 0;
      const isSeen = (set.metadata.generation ?? 0) <= (number(status, 'observedGeneration') ?? 0);
      if (!isIdle || !isSeen) continue;
      const { namespace, name } = set.metadata;
      await allowing(this.#api.delete(REPLICA_SETS, { namespace, name }, { propagationPolicy: 'Background' }), 404);
    }
  }
}
