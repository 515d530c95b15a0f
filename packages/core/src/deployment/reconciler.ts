import {
  type EventReason,
  EventReasons,
  Finalizers,
  Labels,
  type MachineDeployment,
  MachineDeploymentConditions,
  type MachineSet,
  phaseOf,
} from '@mcm/api';
import {
  again,
  type Controller,
  createController,
  done,
  errorText,
  faultText,
  type Informer,
  ignoreNotFound,
  isHeld,
  keyOf,
  makeKey,
  type Node,
  type Outcome,
  refusalOf,
  withoutUndefined,
} from '@mcm/kube';
import { blocksOfMachines } from '../blocked/causes.ts';
import { type ControllerContext, controllerParts, isOrphaning } from '../control/caches.ts';
import type { Guards } from '../disruption/guards.ts';
import { Waiters } from '../flow/waiters.ts';
import type { OpenEntry } from '../journal/journal.ts';
import { claim } from '../objects/claim.ts';
import {
  type AnyCondition,
  type ConditionChange,
  findCondition,
  setDeploymentCondition,
  withoutCondition,
} from '../objects/conditions.ts';
import { limitsOf } from '../objects/limits.ts';
import { isTerminating } from '../objects/machines.ts';
import { isEmptySelector, matcherOf } from '../objects/selector.ts';
import { printViolations } from '../objects/violations.ts';
import { checkOf } from '../rollout/canary-pods.ts';
import { splitSets } from '../rollout/revisions.ts';
import { sameRules } from '../rollout/windows/parse.ts';
import { CLASS_LOOK_MS, ClassLookup } from '../set/class-lookup.ts';
import { type DeploymentOptions, PlanExecution } from './execution.ts';
import { overlapsIn, SelectorOverlaps } from './overlaps.ts';
import { planRollout } from './plan.ts';
import { decideRecorded } from './recorded-decision.ts';
import { lookAtCanaries } from './rollout/canary-look.ts';
import { closedByBudget, needsOf } from './rollout/fleet-budget.ts';
import { ScaleRequests } from './scaling/scale-requests.ts';
import { PlanRefused } from './state/guard.ts';
import { deploymentStatus } from './state/status.ts';
import type { RolloutPlan } from './state/step.ts';
import type { DeploymentSnapshot } from './state/view.ts';
import { validateDeployment } from './validation.ts';
import { wakeDeployments } from './wakeups.ts';
import { WarmMachines } from './warm/warm-machines.ts';
import { DeploymentAccess } from './writes/access.ts';
import { SetClaims } from './writes/set-claims.ts';
import { StatusWriter } from './writes/status-writer.ts';

/**
 * Many machines that fail together become unreachable within seconds, so one reconcile handles them after this delay.
 */
const BREAKER_SWARM_MS = 1_000;

const INVALID_SPEC = MachineDeploymentConditions.InvalidSpec;

type Refusal = Extract<ConditionChange, { type: 'InvalidSpec' | 'RolloutBlocked' }> & {
  /** The reason of the event (default: the type of the condition). */
  readonly event?: EventReason;
};

/** An empty selector would adopt every machine of the namespace (docs/compatibility/rules-deployments.md §1.4). */
const SELECTS_ALL: Refusal = {
  type: INVALID_SPEC,
  status: 'True',
  reason: EventReasons.SelectingAll,
  event: EventReasons.SelectingAll,
  message: 'spec.selector: selects all machines. Add at least one label of the template to spec.selector.',
};

/**
 * Reconciles MachineDeployments: rolls out their templates with MachineSets (docs/compatibility/rules-deployments.md
 * §1.3).
 */
export class DeploymentReconciler {
  readonly #access: DeploymentAccess;
  readonly #claims: SetClaims;
  readonly #requests: ScaleRequests;
  readonly #status: StatusWriter;
  readonly #execution: PlanExecution;
  readonly #classLookup: ClassLookup;
  readonly #decide: typeof planRollout;
  readonly #overlaps: SelectorOverlaps;
  readonly #warm: WarmMachines;
  readonly #wake: (key: string, afterMs: number) => void;
  readonly classes = new Waiters();

  constructor(context: ControllerContext, options: DeploymentOptions, wake: (key: string, afterMs: number) => void) {
    this.#wake = wake;
    this.#overlaps = new SelectorOverlaps(context.deployments, (key) => wake(key, 0));
    this.#access = new DeploymentAccess(context);
    this.#claims = new SetClaims(this.#access);
    this.#warm = new WarmMachines(context);
    this.#requests = new ScaleRequests(this.#access);
    this.#classLookup = new ClassLookup(context);
    this.#decide = options.decide ?? planRollout;
    this.#status = new StatusWriter(this.#access, options);
    this.#execution = new PlanExecution(this.#access, this.#status, options);
  }

  readonly reconcile = async (key: string, signal: AbortSignal): Promise<Outcome> => {
    const stored = this.#access.context.deployments.store.get(key);
    if (stored === undefined) {
      this.#status.forget(key);
      this.#requests.forget(key);
      this.classes.forget(key);
      this.#execution.forget(key);
      this.#access.context.rollouts?.forget(key);
      this.#access.context.report?.forget(key);
      return done;
    }
    // If the spec is malformed, the cache contains a repaired copy, and no decision may use this copy.
    const fault = isHeld(stored) ? faultText(stored) : undefined;
    if (fault !== undefined)
      return this.#refuse(
        stored,
        { type: INVALID_SPEC, status: 'True', reason: 'ValidationFailed', message: fault },
        signal,
      );
    // An error in the spec must not stop the deletion of a deployment.
    if (stored.metadata.deletionTimestamp !== undefined) {
      this.#access.context.rollouts?.forget(key);
      this.#access.context.report?.forget(key);
      return this.#delete(key, stored, signal);
    }
    const violations = validateDeployment(stored);
    if (violations.length > 0) {
      const message = printViolations(violations);
      return this.#refuse(stored, { type: INVALID_SPEC, status: 'True', reason: 'ValidationFailed', message }, signal);
    }
    if (isEmptySelector(stored.spec.selector)) return this.#refuse(stored, SELECTS_ALL, signal);

    const deployment = await this.#ensureFinalizer(stored, signal);
    if (await this.#isClassNew(key, deployment, signal)) return again(CLASS_LOOK_MS);
    const alone = this.#overlaps.of(key).length === 0;
    const sets = await this.#claims.claim(deployment, alone, signal);
    if (await this.#claims.labelAdopted(deployment, sets, signal)) return again(0);
    const settled = await this.#requests.settleScaleIn(deployment, sets, signal);
    const scaled = await this.#requests.applyTriggers(settled, sets, signal);
    if (scaled === undefined) return again(0);
    const expiresMs = await this.#requests.expire(scaled, sets, signal);
    if (expiresMs === 0) return again(0);
    if (expiresMs !== undefined) this.#wake(key, expiresMs);
    const { nodes, clock, deployments, disruptions, canaryChecks } = this.#access.context;
    const unsettled = sets.filter((set) => disruptions.isShrinking(set));
    for (const set of unsettled) await this.#access.sets.settle(set, signal);
    if (unsettled.length > 0) return again(0);
    const now = clock.now();
    const snapshot: DeploymentSnapshot = {
      deployment: scaled,
      sets,
      creating: (uid) => this.#access.context.creations.of(uid),
      machines: new Map(sets.map((set) => [set.metadata.uid, this.#access.machinesOf(set)])),
      ...(nodes ? nodesSeen(nodes.informer) : {}),
      guards: this.#guards(now),
      disruptions,
      overlaps: overlapsIn(this.#overlaps, scaled, deployments),
      refusedRollback: this.#execution.refusedRollback(key, scaled),
      now,
    };
    const canaryPods = await lookAtCanaries(snapshot, nodes, signal);
    if (canaryPods) canaryChecks?.checked(checkOf(canaryPods));
    const { plan, entry } = await this.#plan(canaryPods ? { ...snapshot, canaryPods } : snapshot, signal);
    if (plan.write.length === 0) this.#requests.reportUnmet(key, scaled, sets);
    this.#listen(key, scaled, sets);
    try {
      const outcome = await this.#execution.carryOut(key, scaled, plan, signal);
      if (this.#warm.concern(scaled)) await this.#warm.reconcile(scaled, signal);
      entry?.ended();
      return outcome;
    } catch (error) {
      entry?.ended(errorText(error));
      throw error;
    }
  };

  #guards(now: Date): Guards {
    const { safeguards, namespace, rollouts } = this.#access.context;
    return {
      ...safeguards.settings,
      breakerOf: (machine) => safeguards.breakerOf(machine, now),
      hasClass: (name) =>
        safeguards.classes.refused !== undefined ||
        safeguards.classes.store.get(makeKey(namespace, name)) !== undefined,
      classAnnotations: (name) => safeguards.classes.store.get(makeKey(namespace, name))?.metadata.annotations,
      ...withoutUndefined({ budgetClosed: closedByBudget(rollouts) }),
    };
  }

  /** The cache may lack a new class, and a warning about the missing class would be wrong. */
  async #isClassNew(key: string, { spec, status }: MachineDeployment, signal: AbortSignal): Promise<boolean> {
    const template = spec.template.spec.class;
    if (!this.#classLookup.lacks(template) || findCondition(status?.conditions ?? [], INVALID_SPEC)) return false;
    this.classes.put(key, template.name);
    return this.#classLookup.isThere(template.name ?? '', signal);
  }

  #listen(key: string, { spec }: MachineDeployment, sets: readonly MachineSet[]): void {
    const { safeguards } = this.#access.context;
    const phases: readonly (string | undefined)[] = ['Unknown', 'Failed'];
    const unhealthy = sets.flatMap((set) =>
      this.#access.machinesOf(set).filter((one) => phases.includes(phaseOf(one))),
    );
    safeguards.onceChanged(unhealthy, `deployment ${key}`, () => this.#wake(key, BREAKER_SWARM_MS));
    this.classes.put(key, spec.template.spec.class.name);
  }

  /** Reports a problem once, as a condition and as an event. */
  async #refuse(deployment: MachineDeployment, { event, ...change }: Refusal, signal: AbortSignal): Promise<Outcome> {
    const { recorder, clock } = this.#access.context;
    const old: readonly AnyCondition[] = deployment.status?.conditions ?? [];
    const before = findCondition(old, change.type);
    if (before?.message === change.message && before.reason === change.reason) return done;
    recorder.event(deployment, 'Warning', event ?? change.type, change.message);
    const conditions = setDeploymentCondition(withoutCondition(old, change.type), change, clock.now());
    const observedGeneration = deployment.metadata.generation ?? 0;
    const seen = change.reason === SELECTS_ALL.reason ? { observedGeneration } : {};
    await this.#access.putStatus(deployment, { ...deployment.status, ...seen, conditions }, signal);
    return done;
  }

  /** Records the disruptions by this rollout plan, so that decisions about replacements count them. */
  #note({ deployment, sets }: DeploymentSnapshot, { write, inPlace }: RolloutPlan): void {
    const { disruptions } = this.#access.context;
    const before = new Map(sets.map((set) => [set.metadata.uid, set.spec.replicas ?? 0]));
    for (const set of write) {
      const { uid } = set.metadata;
      if ((set.spec.replicas ?? 0) < (before.get(uid) ?? 0)) disruptions.shrinks(set, deployment.metadata.uid);
    }
    for (const { node, change } of inPlace.nodes) {
      if (change.metadata?.labels?.[Labels.SelectedForUpdate]) disruptions.selects(node);
    }
  }

  /** A plan that breaks a limit is a defect of mcm. A condition reports this defect. */
  async #plan(
    snapshot: DeploymentSnapshot,
    signal: AbortSignal,
  ): Promise<{ readonly plan: RolloutPlan; readonly entry?: OpenEntry }> {
    const { journal } = this.#access.context;
    try {
      const decided = journal ? decideRecorded(journal, snapshot, this.#decide) : { plan: this.#decide(snapshot) };
      // mcm records the disruptions before the first `await`, so that reconciles of sets see them immediately.
      this.#note(snapshot, decided.plan);
      const { rollouts, report } = this.#access.context;
      report?.decided(snapshot.deployment, decided.plan.repairs);
      rollouts?.report(keyOf(snapshot.deployment), needsOf(snapshot.deployment, decided.plan));
      return decided;
    } catch (error) {
      if (error instanceof PlanRefused) {
        const blocked = {
          type: MachineDeploymentConditions.RolloutBlocked,
          status: 'True',
          reason: error.name,
        } as const;
        await this.#refuse(snapshot.deployment, { ...blocked, message: error.message }, signal);
      }
      throw error;
    }
  }

  async #ensureFinalizer(deployment: MachineDeployment, signal: AbortSignal): Promise<MachineDeployment> {
    const { finalizers = [] } = deployment.metadata;
    if (finalizers.includes(Finalizers.MachineControllerManager)) return deployment;
    return this.#access.patch(deployment, { finalizers: [...finalizers, Finalizers.MachineControllerManager] }, signal);
  }

  async #delete(key: string, deployment: MachineDeployment, signal: AbortSignal): Promise<Outcome> {
    const { uid, name, resourceVersion, finalizers = [] } = deployment.metadata;
    if (!finalizers.includes(Finalizers.MachineControllerManager) || isOrphaning(deployment)) return done;
    // The garbage collector deletes the sets and machines of a deleted deployment.
    const matches = matcherOf(deployment.spec.selector, true);
    const { owned } = claim({ uid, deleting: true }, matches, this.#access.setsOf(deployment));
    const warm = this.#warm.of(deployment);
    const left = warm.filter((machine) => !isTerminating(machine));
    if (left.length > 0) await this.#warm.delete(deployment, left, signal);
    if (owned.length + warm.length === 0) {
      const rest = finalizers.filter((finalizer) => finalizer !== Finalizers.MachineControllerManager);
      const body = { metadata: { uid, resourceVersion, finalizers: rest } };
      await ignoreNotFound(this.#access.client.patch(name, { type: 'merge', body }, { signal }));
      return done;
    }
    await this.#access.sets.delete(owned, signal);
    const { current, old } = splitSets(deployment, this.#access.setsOf(deployment));
    const counted = this.#status.count(deployment, { current, old });
    const now = this.#access.context.clock.now();
    const machines = owned.flatMap((set) => this.#access.machinesOf(set));
    const status = this.#status.withBlocks(
      deployment,
      deploymentStatus(deployment, counted, limitsOf(deployment).unavailable, now),
      () => blocksOfMachines(machines),
    );
    return this.#status.writeIfNew(key, deployment, status, { urgent: false }, signal);
  }
}

function nodesSeen(informer: Informer<Node>): Pick<DeploymentSnapshot, 'nodeOf' | 'nodesUnseen'> {
  const nodesUnseen = refusalOf(informer);
  return nodesUnseen === undefined ? { nodeOf: (name) => informer.store.get(name) } : { nodesUnseen };
}

/** Creates the controller that reconciles MachineDeployments. */
export function createDeploymentController(
  context: ControllerContext,
  options: DeploymentOptions & { readonly concurrency: number },
): Controller {
  const reconciler = new DeploymentReconciler(context, options, (key, afterMs) => controller.enqueue(key, afterMs));
  const controller: Controller = createController({
    name: 'machinedeployment',
    concurrency: options.concurrency,
    reconcile: reconciler.reconcile,
    ...controllerParts(context),
  });
  wakeDeployments(controller, context);
  context.rollouts?.onChange((rollouts) => {
    for (const key of rollouts) controller.enqueue(key);
  });
  controller.watch(
    context.safeguards.classes,
    (change) =>
      change.type === 'updated' && sameRules(change.old.metadata.annotations, change.object.metadata.annotations)
        ? []
        : reconciler.classes.of(change.object.metadata.name),
    () => context.deployments.store.list().map(keyOf),
  );
  return controller;
}
