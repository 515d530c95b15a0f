import {
  Annotations,
  ConditionReasons,
  EventReasons,
  Finalizers,
  Labels,
  type Machine,
  type MachineDeployment,
  MachineDeploymentConditions,
  type MachineDeploymentConditionType,
  type MachineSet,
  machineDeployments,
} from '@mcm/api';
import {
  again,
  type Controller,
  createController,
  done,
  ignoreNotFound,
  isConflict,
  isNotFound,
  nodes as nodeResource,
  type Outcome,
  type ResourceClient,
  soonest,
} from '@mcm/kube';
import { patchNode } from '../node/patch.ts';
import { BY_CONTROLLER, type ControllerContext, controllerParts, isOrphaning, NOBODY } from '../set/caches.ts';
import { adoptionPatch, claim, releasePatch } from '../set/claim.ts';
import {
  type AnyCondition,
  type ConditionChange,
  findCondition,
  setDeploymentCondition,
  withoutCondition,
} from '../set/conditions.ts';
import { MachineWriter } from '../set/machine-writer.ts';
import { Pace } from '../set/pace.ts';
import { compileSelector, isEmptySelector } from '../set/selector.ts';
import { semanticEqual } from '../set/semantic-equal.ts';
import { inParallel } from '../set/slow-start.ts';
import { countMachines } from '../set/status.ts';
import { nextHashStep } from './adopted-set.ts';
import { limitsOf } from './limits.ts';
import { nodeMarks } from './node-marks.ts';
import { planRollout, type RolloutPlan } from './plan.ts';
import { isComplete, pauseCondition, progressDeadline, withProgress } from './progress.ts';
import { splitSets } from './revisions.ts';
import type { AutomaticPause } from './rollout-gate.ts';
import { planScaleIn, ScaleInReasons } from './scale-in.ts';
import { messageOf, type SetCreation, SetWriter } from './set-writer.ts';
import { type CountedSets, deploymentStatus, deploymentStatusDiffers } from './status.ts';
import { planTriggers, unmetTriggers } from './trigger-deletion.ts';
import { printViolations, validateDeployment } from './validation.ts';
import { wakeDeployments } from './wakeups.ts';

/** A status that only counts on towards its goal is written at most so often. */
const STATUS_INTERVAL_MS = 1_000;
/** After a node could not be marked. The rollout does not wait for it. */
const NODE_RETRY_MS = 5_000;

/** Somebody else changed a node's taints: until the cache shows how. */
const NODE_CHANGED_MS = 50;
const PARALLEL_NODES = 16;

const INVALID_SPEC = MachineDeploymentConditions.InvalidSpec;
/** Condition types of ours that stand only while something is wrong. */
const OURS: readonly MachineDeploymentConditionType[] = [INVALID_SPEC, MachineDeploymentConditions.RolloutBlocked];

/** Options of the deployment controller. */
export interface DeploymentOptions {
  /** Whether nodes are protected from the cluster autoscaler during a rollout. */
  readonly protectNodesDuringRollout: boolean;
}

/** Rolls MachineDeployments out over their sets (sheet 1.3). */
export class DeploymentReconciler {
  readonly #context: ControllerContext;
  readonly #options: DeploymentOptions;
  readonly #deployments: ResourceClient<MachineDeployment>;
  readonly #sets: SetWriter;
  readonly #machines: MachineWriter;
  readonly #pace = new Pace(STATUS_INTERVAL_MS);
  /** Uids of machines by deployment that are named for deletion and stay; said again after a restart. */
  readonly #unmet = new Map<string, ReadonlySet<string>>();

  constructor(context: ControllerContext, options: DeploymentOptions) {
    this.#context = context;
    this.#options = options;
    this.#deployments = context.client.resource(machineDeployments, context.namespace);
    this.#sets = new SetWriter(context);
    this.#machines = new MachineWriter(context);
  }

  readonly reconcile = async (key: string, signal: AbortSignal): Promise<Outcome> => {
    const stored = this.#context.deployments.store.get(key);
    if (stored === undefined) {
      this.#pace.forget(key);
      this.#unmet.delete(key);
      return done;
    }
    const violations = validateDeployment(stored);
    if (violations.length > 0) return this.#refuse(stored, INVALID_SPEC, printViolations(violations), signal);
    if (stored.metadata.deletionTimestamp !== undefined) return this.#delete(key, stored, signal);
    if (isEmptySelector(stored.spec.selector)) return this.#selectsAll(stored, signal);

    const deployment = await this.#ensureFinalizer(stored, signal);
    const sets = await this.#claim(deployment, signal);
    if (await this.#labelAdopted(deployment, sets, signal)) return again(0);
    const settled = await this.#settleScaleIn(deployment, sets, signal);
    const scaled = await this.#applyTriggers(settled, sets, signal);
    this.#reportUnmet(key, scaled, sets);
    const { nodes } = this.#context;
    const plan = planRollout({
      deployment: scaled,
      sets,
      creating: (uid) => this.#context.creations.of(uid),
      machines: new Map(sets.map((set) => [set.metadata.uid, this.#machinesOf(set)])),
      ...(nodes ? { nodeOf: (name: string) => nodes.informer.store.get(name) } : {}),
      now: this.#context.clock.now(),
    });
    return this.#carryOut(key, scaled, plan, signal);
  };

  #machinesOf(set: MachineSet): readonly Machine[] {
    return this.#context.machines.store.byIndex(BY_CONTROLLER, set.metadata.uid);
  }

  #setsOf(deployment: MachineDeployment): readonly MachineSet[] {
    return this.#context.sets.store.byIndex(BY_CONTROLLER, deployment.metadata.uid);
  }

  /** Says on the object what is wrong with it, once, and touches nothing else. */
  async #refuse(
    deployment: MachineDeployment,
    type: MachineDeploymentConditionType,
    problem: string,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const old: readonly AnyCondition[] = deployment.status?.conditions ?? [];
    if (findCondition(old, type)?.message === problem) return done;
    this.#context.recorder.event(deployment, 'Warning', type, problem);
    const change = { type, status: 'True', reason: 'ValidationFailed', message: problem } as const;
    const conditions = setDeploymentCondition(withoutCondition(old, type), change, this.#context.clock.now());
    await this.#putStatus(deployment, { ...deployment.status, conditions }, signal);
    return done;
  }

  /** A selector that matches everything is refused: it would take every machine of the namespace (sheet 1.4). */
  async #selectsAll(deployment: MachineDeployment, signal: AbortSignal): Promise<Outcome> {
    const generation = deployment.metadata.generation ?? 0;
    if ((deployment.status?.observedGeneration ?? 0) >= generation) return done;
    const message = 'This deployment is selecting all machines. A non-empty selector is required.';
    this.#context.recorder.event(deployment, 'Warning', EventReasons.SelectingAll, message);
    await this.#putStatus(deployment, { ...deployment.status, observedGeneration: generation }, signal);
    return done;
  }

  /** Writes metadata onto the newest state that we know; a conflict is thrown. */
  async #patch(
    deployment: MachineDeployment,
    metadata: object,
    signal: AbortSignal,
    spec?: object,
  ): Promise<MachineDeployment> {
    const { name, uid, resourceVersion } = deployment.metadata;
    const body = { metadata: { uid, resourceVersion, ...metadata }, ...(spec ? { spec } : {}) };
    const written = await this.#deployments.patch(name, { type: 'merge', body }, { signal });
    this.#context.deployments.recordWrite(written);
    return written;
  }

  async #ensureFinalizer(deployment: MachineDeployment, signal: AbortSignal): Promise<MachineDeployment> {
    const { finalizers = [] } = deployment.metadata;
    if (finalizers.includes(Finalizers.MachineControllerManager)) return deployment;
    return this.#patch(deployment, { finalizers: [...finalizers, Finalizers.MachineControllerManager] }, signal);
  }

  async #claim(deployment: MachineDeployment, signal: AbortSignal): Promise<readonly MachineSet[]> {
    const matches = compileSelector(deployment.spec.selector);
    const candidates = [...this.#setsOf(deployment), ...this.#context.sets.store.byIndex(BY_CONTROLLER, NOBODY)];
    const { uid, name } = deployment.metadata;
    const { owned, adopt, release } = claim({ uid, deleting: false }, matches, candidates);
    if (adopt.length + release.length === 0) return owned;
    if (adopt.length > 0) {
      // A live read: a deployment that is being deleted, or a namesake, must not take sets that it would then delete.
      const live = await this.#deployments.get(name, { signal });
      if (live.metadata.uid !== uid || live.metadata.deletionTimestamp !== undefined) {
        const wanted = adopt.map((set) => set.metadata.name).join(', ');
        throw new Error(`${name} is gone or being deleted and may not adopt ${wanted}`);
      }
    }
    for (const set of adopt) await ignoreNotFound(this.#sets.patch(set, adoptionPatch(deployment, set), signal));
    for (const set of release) await ignoreNotFound(this.#sets.patch(set, releasePatch(uid, set), signal));
    return this.#setsOf(deployment);
  }

  /** Brings adopted sets a step nearer to a template hash of their own; true: look again. */
  async #labelAdopted(
    deployment: MachineDeployment,
    sets: readonly MachineSet[],
    signal: AbortSignal,
  ): Promise<boolean> {
    let stepped = false;
    for (const set of sets) {
      const step = nextHashStep(deployment, set, this.#machinesOf(set));
      if (step === undefined) continue;
      stepped = true;
      if (step.kind === 'writeSet') await this.#sets.update(step.set, signal);
      else {
        const body = { metadata: { labels: { [Labels.TemplateHash]: step.hash } } };
        await this.#machines.patchAll(
          step.machines.map((machine) => ({ machine, body })),
          signal,
        );
      }
    }
    return stepped;
  }

  /** Accepts or refuses a scale-in of named machines: one write. */
  async #settleScaleIn(
    deployment: MachineDeployment,
    sets: readonly MachineSet[],
    signal: AbortSignal,
  ): Promise<MachineDeployment> {
    const now = this.#context.clock.now();
    const plan = planScaleIn({ deployment, sets, machinesOf: (set) => this.#machinesOf(set), now });
    if (plan === undefined) return deployment;
    const { annotations, replicas, event } = plan;
    const spec = replicas === undefined ? undefined : { replicas };
    const written = await this.#patch(deployment, { annotations }, signal, spec);
    if (event) this.#context.recorder.event(written, event.type, event.reason, event.message);
    return written;
  }

  /** Says once of each machine that is named for deletion, and stays, why it does. */
  #reportUnmet(key: string, deployment: MachineDeployment, sets: readonly MachineSet[]): void {
    const unmet = sets.flatMap((set) => unmetTriggers(set, this.#machinesOf(set)));
    const before = this.#unmet.get(key);
    if (unmet.length === 0) this.#unmet.delete(key);
    else this.#unmet.set(key, new Set(unmet.map(({ machine }) => machine.metadata.uid)));
    for (const { machine, why } of unmet) {
      if (before?.has(machine.metadata.uid)) continue;
      const message = `Machine ${machine.metadata.name} is named for deletion and stays: ${why}. The next scale-down takes it first.`;
      this.#context.recorder.event(deployment, 'Normal', ScaleInReasons.Pending, message);
    }
  }

  /** Marks the machines that the cluster autoscaler named and prunes its list (sheet 9.2). */
  async #applyTriggers(
    deployment: MachineDeployment,
    sets: readonly MachineSet[],
    signal: AbortSignal,
  ): Promise<MachineDeployment> {
    if (deployment.metadata.annotations?.[Annotations.TriggerDeletion] === undefined) return deployment;
    const machines = sets
      .flatMap((set) => this.#machinesOf(set))
      .map((machine) => [machine.metadata.name, machine] as const);
    const plan = planTriggers(
      deployment,
      new Map(machines),
      this.#context.clock.now(),
      (name) => this.#context.machines.store.get(`${deployment.metadata.namespace ?? ''}/${name}`) !== undefined,
    );
    await this.#machines.patchAll(
      plan.marks.map(({ machine, annotations }) => ({ machine, body: { metadata: { annotations } } })),
      signal,
    );
    if (Object.keys(plan.annotations).length === 0) return deployment;
    const written = await this.#patch(deployment, { annotations: plan.annotations }, signal);
    if (plan.refused.length > 0) {
      const message = `metadata.annotations[${Annotations.TriggerDeletion}]: dropped ${plan.refused.join(', ')}`;
      this.#context.recorder.event(written, 'Warning', ScaleInReasons.Refused, message);
    }
    return written;
  }

  async #carryOut(
    key: string,
    deployment: MachineDeployment,
    plan: RolloutPlan,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { recorder, log } = this.#context;
    if (plan.write.length > 0 || plan.create || plan.rollback) {
      log.info('Deployment takes a step', { deployment: deployment.metadata.name, because: plan.because });
    }
    if (plan.pause) return this.#pause(deployment, plan.pause, signal);
    const nodesLeft = await this.#markNodes(plan, signal);
    if (plan.rollback) {
      for (const set of plan.write) await this.#sets.update(set, signal);
      const written = await this.#deployments.update(plan.rollback.deployment, { signal });
      for (const event of plan.events) recorder.event(deployment, event.type, event.reason, event.message);
      this.#context.deployments.recordWrite(written);
      return nodesLeft;
    }
    const revised = await this.#recordRevision(deployment, plan, signal);
    const creation = plan.create && (await this.#sets.create(revised, plan.create, signal));
    if (creation?.kind === 'collision') return this.#collide(revised, signal);
    const written = new Map<string, MachineSet>();
    for (const set of plan.write) written.set(set.metadata.uid, await this.#sets.update(set, signal));
    // The old sets are forbidden to refill by now, and the new one to delete what carries the label.
    await this.#handOver(plan, signal);
    if (creation?.kind !== 'failed') {
      for (const event of plan.events) recorder.event(revised, event.type, event.reason, event.message);
    }
    await this.#sets.delete(plan.remove, signal);
    const outcome = await this.#writeStatus(key, revised, plan, { written, creation }, signal);
    if (creation?.kind === 'failed') throw creation.error;
    const opens =
      plan.lookAgainAt && again(Math.max(plan.lookAgainAt.getTime() - this.#context.clock.now().getTime(), 1));
    return opens ? soonest(soonest(outcome, nodesLeft), opens) : soonest(outcome, nodesLeft);
  }

  /** One write: the pause and what it is for, so that a user who goes on is not stopped by the same failure. */
  async #pause(
    deployment: MachineDeployment,
    { note, message }: AutomaticPause,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { name, uid, resourceVersion } = deployment.metadata;
    const annotations = { [Annotations.RolloutPausedBy]: note };
    const body = { metadata: { uid, resourceVersion, annotations }, spec: { paused: true } };
    const written = await this.#deployments.patch(name, { type: 'merge', body }, { signal });
    this.#context.deployments.recordWrite(written);
    this.#context.recorder.event(deployment, 'Warning', 'RolloutPaused', message);
    return again(0);
  }

  async #handOver({ inPlace }: RolloutPlan, signal: AbortSignal): Promise<void> {
    const { nodes } = this.#context;
    await this.#machines.patchAll(inPlace.machines, signal);
    if (nodes === undefined) return;
    const client = nodes.client.resource(nodeResource);
    const errors = await inParallel(inPlace.nodes, PARALLEL_NODES, async ({ node, change }) => {
      nodes.informer.recordWrite(await patchNode(client, node, change, { signal }));
    });
    const failure = errors.find((error) => !isNotFound(error));
    if (failure !== undefined) throw failure;
  }

  async #recordRevision(
    deployment: MachineDeployment,
    plan: RolloutPlan,
    signal: AbortSignal,
  ): Promise<MachineDeployment> {
    const revision = String(plan.revision ?? '');
    const stale = plan.revision && deployment.metadata.annotations?.[Annotations.Revision] !== revision;
    if (!stale && !plan.forgetPause) return deployment;
    const annotations = {
      ...(stale ? { [Annotations.Revision]: revision } : {}),
      ...(plan.forgetPause ? { [Annotations.RolloutPausedBy]: null } : {}),
    };
    return this.#patch(deployment, { annotations }, signal);
  }

  /** Another template, or owner, has the name: the next pass makes another one (sheet 2.7). */
  async #collide(deployment: MachineDeployment, signal: AbortSignal): Promise<Outcome> {
    const collisionCount = (deployment.status?.collisionCount ?? 0) + 1;
    this.#context.log.warn('The name of the new set is taken, taking another', {
      deployment: deployment.metadata.name,
      collisionCount,
    });
    await this.#putStatus(deployment, { ...deployment.status, collisionCount }, signal);
    return again(1);
  }

  async #markNodes(plan: RolloutPlan, signal: AbortSignal): Promise<Outcome> {
    const { nodes, log } = this.#context;
    if (nodes === undefined) return done;
    const { store } = nodes.informer;
    const marks = nodeMarks(
      plan.nodes,
      (set) => this.#machinesOf(set),
      (name) => store.get(name),
      {
        protection: this.#options.protectNodesDuringRollout,
      },
    );
    const client = nodes.client.resource(nodeResource);
    const errors = await inParallel(marks, PARALLEL_NODES, async ({ node, change }) => {
      nodes.informer.recordWrite(await patchNode(client, node, change, { signal }));
    });
    const failures = errors.filter((error) => !isNotFound(error) && !isConflict(error));
    if (failures.length === 0) return errors.some(isConflict) ? again(NODE_CHANGED_MS) : done;
    log.warn('Nodes could not be marked for the rollout, trying again', {
      nodes: failures.length,
      error: messageOf(failures[0]),
    });
    return again(NODE_RETRY_MS);
  }

  async #delete(key: string, deployment: MachineDeployment, signal: AbortSignal): Promise<Outcome> {
    const { uid, name, resourceVersion, finalizers = [] } = deployment.metadata;
    if (!finalizers.includes(Finalizers.MachineControllerManager) || isOrphaning(deployment)) return done;
    const matches = compileSelector(deployment.spec.selector);
    const { owned } = claim({ uid, deleting: true }, matches, this.#setsOf(deployment));
    if (owned.length === 0) {
      const rest = finalizers.filter((finalizer) => finalizer !== Finalizers.MachineControllerManager);
      const body = { metadata: { uid, resourceVersion, finalizers: rest } };
      await ignoreNotFound(this.#deployments.patch(name, { type: 'merge', body }, { signal }));
      return done;
    }
    await this.#sets.delete(owned, signal);
    const { current, old } = splitSets(deployment, this.#setsOf(deployment));
    const counted = this.#count({ current, old });
    const now = this.#context.clock.now();
    const status = deploymentStatus(deployment, counted, limitsOf(deployment).unavailable, now);
    return this.#writeIfNew(key, deployment, status, { urgent: false }, signal);
  }

  #count({ current, old }: { current: MachineSet | undefined; old: readonly MachineSet[] }): CountedSets {
    const count = (set: MachineSet) => ({ set, counts: countMachines(set, this.#machinesOf(set)) });
    return { current: current && count(current), old: old.map(count) };
  }

  async #writeStatus(
    key: string,
    deployment: MachineDeployment,
    plan: RolloutPlan,
    did: { written: ReadonlyMap<string, MachineSet>; creation: SetCreation | undefined },
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { clock } = this.#context;
    const now = clock.now();
    const newest = (set: MachineSet) => did.written.get(set.metadata.uid) ?? set;
    const made = did.creation?.kind === 'created' ? did.creation.set : undefined;
    const current = made ?? (plan.sets.current && newest(plan.sets.current.set));
    const sets = this.#count({ current, old: plan.sets.old.map(({ set }) => newest(set)) });
    const base = {
      ...deployment,
      status: { ...deployment.status, conditions: [...ownConditions(deployment, plan, did.creation, now)] },
    };
    const counted = deploymentStatus(base, sets, limitsOf(deployment).unavailable, now);
    const status = plan.measureProgress ? withProgress(deployment, sets, counted, now) : counted;
    const urgent =
      isComplete(deployment, status) ||
      (!semanticEqual(status.conditions, deployment.status?.conditions) &&
        !onlyRefreshed(status.conditions, deployment.status?.conditions ?? []));
    const outcome = await this.#writeIfNew(key, deployment, status, { urgent }, signal);
    const deadline = isComplete(deployment, status) ? undefined : progressDeadline(deployment, status.conditions);
    if (deadline === undefined || deadline < now.getTime()) return outcome;
    return soonest(outcome, again(deadline - now.getTime() + 1000));
  }

  async #writeIfNew(
    key: string,
    deployment: MachineDeployment,
    status: NonNullable<MachineDeployment['status']>,
    { urgent }: { urgent: boolean },
    signal: AbortSignal,
  ): Promise<Outcome> {
    const now = this.#context.clock.now();
    if (!deploymentStatusDiffers(deployment.status, status)) return done;
    const isNews = (deployment.status?.observedGeneration ?? 0) < (status.observedGeneration ?? 0);
    const waitMs = urgent || isNews ? 0 : this.#pace.waitMs(key, now);
    if (waitMs > 0) return again(waitMs);
    await this.#putStatus(deployment, status, signal);
    this.#pace.wrote(key, now);
    return done;
  }

  async #putStatus(
    deployment: MachineDeployment,
    status: NonNullable<MachineDeployment['status']>,
    signal: AbortSignal,
  ): Promise<void> {
    const written = await ignoreNotFound(
      this.#deployments.update({ ...deployment, status }, { subresource: 'status', signal }),
    );
    if (written !== undefined) this.#context.deployments.recordWrite(written);
  }
}

/** Whether conditions differ in nothing but the time of their last update. */
function onlyRefreshed(now: readonly AnyCondition[], before: readonly AnyCondition[]): boolean {
  const essence = (conditions: readonly AnyCondition[]) =>
    conditions.map(({ type, status, reason }) => `${type}=${status}/${reason}`).sort();
  return semanticEqual(essence(now), essence(before));
}

/** The stored conditions with what this step itself says: pause, a new set, a failure, an obstacle. */
function ownConditions(
  deployment: MachineDeployment,
  plan: RolloutPlan,
  creation: SetCreation | undefined,
  now: Date,
): readonly AnyCondition[] {
  const stored: readonly AnyCondition[] = pauseCondition(deployment, now) ?? deployment.status?.conditions ?? [];
  const cleared = stored.filter(({ type }) => !OURS.includes(type) || type === plan.condition?.type);
  const change = creation?.kind === 'failed' ? creationFailure(creation) : plan.condition;
  return change ? setDeploymentCondition(cleared, change, now) : cleared;
}

function creationFailure({
  error,
  namespaceTerminating,
}: Extract<SetCreation, { kind: 'failed' }>): ConditionChange | undefined {
  if (namespaceTerminating) return undefined;
  return {
    type: MachineDeploymentConditions.Progressing,
    status: 'False',
    reason: ConditionReasons.MachineSetCreateError,
    message: `Failed to create new machine set: ${messageOf(error)}`,
  };
}

/** The controller of MachineDeployments over the context's caches. */
export function createDeploymentController(
  context: ControllerContext,
  options: DeploymentOptions & { readonly concurrency: number },
): Controller {
  const reconciler = new DeploymentReconciler(context, options);
  const controller = createController({
    name: 'machinedeployment',
    concurrency: options.concurrency,
    reconcile: reconciler.reconcile,
    ...controllerParts(context),
  });
  wakeDeployments(controller, context);
  return controller;
}
