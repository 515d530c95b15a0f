import {
  Annotations,
  ConditionReasons,
  counted,
  EventReasons,
  isFrozen,
  Labels,
  type Machine,
  type MachineDeployment,
  type MachineSet,
  type MachineSetConditionType,
  machineDeployments,
  machineSets,
  presenceProblem,
  TRUE,
} from '@mcm/api';
import {
  again,
  type Controller,
  createController,
  done,
  isConflict,
  isNotFound,
  keyOf,
  type Outcome,
  type ResourceClient,
} from '@mcm/kube';
import { BY_CONTROLLER, type ControllerContext, controllerParts, deploymentOf } from '../../control/caches.ts';
import { subjectOf } from '../../journal/journal.ts';
import {
  type AnyCondition,
  findCondition,
  setDeploymentCondition,
  setSetCondition,
  withoutCondition,
} from '../../objects/conditions.ts';
import { isUndrained } from '../../objects/machines.ts';
import { setOf } from '../../set/wakeups.ts';
import {
  asksForThaw,
  FROZEN,
  hasMark,
  type OvershootOptions,
  planOvershoot,
  type Thresholds,
} from './overshoot-rules.ts';

const ATTEMPTS = 5;

/** Freezes sets with far too many machines, and their deployments, until the number of machines is low enough. */
export class OvershootReconciler {
  readonly #context: ControllerContext;
  readonly #options: OvershootOptions;
  readonly #sets: ResourceClient<MachineSet>;
  readonly #deployments: ResourceClient<MachineDeployment>;

  constructor(context: ControllerContext, options: OvershootOptions) {
    this.#context = context;
    this.#options = options;
    this.#sets = context.client.resource(machineSets, context.namespace);
    this.#deployments = context.client.resource(machineDeployments, context.namespace);
  }

  /** The keys are `set/<namespace>/<name>` and `deployment/<namespace>/<name>`. */
  readonly reconcile = async (key: string, signal: AbortSignal): Promise<Outcome> => {
    const slash = key.indexOf('/');
    const object = key.slice(slash + 1);
    if (key.slice(0, slash) === 'set') return this.#lookAtSet(object, signal);
    return this.#lookAtDeployment(object, signal);
  };

  async #lookAtSet(key: string, signal: AbortSignal): Promise<Outcome> {
    const set = this.#context.sets.store.get(key);
    if (set === undefined || set.metadata.deletionTimestamp !== undefined) return done;
    const deployment = deploymentOf(set, this.#context);
    const all = this.#context.machines.store.byIndex(BY_CONTROLLER, set.metadata.uid);
    const machines = all.filter((machine) => !isUndrained(machine)).length;
    const { safetyUp, safetyDown } = this.#options;
    const input = { set, deployment, machines, safetyUp, safetyDown };
    const plan = planOvershoot(input);
    const { verdict, limits } = plan;
    const entry = this.#context.journal?.record({
      kind: 'overshoot',
      subject: subjectOf('MachineSet', set),
      at: this.#context.clock.now(),
      input,
      decision: plan,
      because: `the set has ${counted(machines, 'machine')}, and ${limits.upper} or more machines freeze the set`,
      actions: verdict === 'leave' ? [] : [verdict],
    });
    if (verdict === 'leave') {
      return hasMark(set, set.status?.machineSetCondition) ? again(this.#options.periodMs) : done;
    }
    if (verdict === 'freeze') await this.#freezeNow(set, machines, limits, signal);
    else await this.#thawSet(set, machines, limits, signal);
    entry?.ended();
    return again(this.#options.periodMs);
  }

  /**
   * If another client writes the set at the same time, the method reads the set from the API server and tries again.
   * Without the retry, mcm would not report an overshoot whose machines are deleted before the next reconcile.
   */
  async #freezeNow(set: MachineSet, machines: number, limits: Thresholds, signal: AbortSignal): Promise<void> {
    let newest = set;
    for (let left = ATTEMPTS; ; left--) {
      try {
        return await this.#freezeSet(newest, machines, limits, signal);
      } catch (error) {
        if (!isConflict(error) || left <= 1) throw error;
        newest = await this.#sets.get(set.metadata.name, { signal });
        if (newest.metadata.uid !== set.metadata.uid) return;
      }
    }
  }

  async #freezeSet(set: MachineSet, machines: number, { upper }: Thresholds, signal: AbortSignal): Promise<void> {
    const message = `MachineSet "${set.metadata.name}" had ${counted(machines, 'machine')} at the start of the freeze, and its limit is ${upper}. mcm adds no machine until the set has fewer machines`;
    const change = {
      type: FROZEN,
      status: 'True',
      reason: ConditionReasons.OverShootingReplicaCount,
      message,
    } as const;
    const conditions = setSetCondition(set.status?.machineSetCondition ?? [], change, this.#context.clock.now());
    await this.#writeSet(set, conditions, { labels: { [Labels.Freeze]: TRUE } }, signal);
    if (!isFrozen(set)) this.#context.recorder.event(set, 'Normal', EventReasons.FrozeMachineSet, message);
  }

  async #thawSet(set: MachineSet, machines: number, { upper }: Thresholds, signal: AbortSignal): Promise<void> {
    const conditions = withoutCondition(set.status?.machineSetCondition ?? [], FROZEN);
    const marked = hasMark(set, set.status?.machineSetCondition);
    this.#reportValue(set);
    await this.#writeSet(
      set,
      conditions,
      { labels: { [Labels.Freeze]: null }, annotations: { [Annotations.Unfreeze]: null } },
      signal,
    );
    if (!marked) return;
    const because =
      machines < upper
        ? `the set has ${counted(machines, 'machine')}`
        : 'an annotation of the MachineSet requests the end of the freeze';
    this.#context.recorder.event(
      set,
      'Normal',
      EventReasons.UnfrozeMachineSet,
      `MachineSet "${set.metadata.name}" may add machines again: ${because}`,
    );
  }

  /** Any value of the annotation ends the freeze, so mcm reports a misleading value. */
  #reportValue(object: MachineSet | MachineDeployment): void {
    const problem = presenceProblem(object, Annotations.Unfreeze);
    if (problem) this.#context.recorder.event(object, 'Warning', 'InputIgnored', problem, { once: true });
  }

  /** As in the original, mcm writes the status of the set before the label. */
  async #writeSet(
    set: MachineSet,
    conditions: readonly AnyCondition<MachineSetConditionType>[],
    metadata: object,
    signal: AbortSignal,
  ): Promise<void> {
    const { sets } = this.#context;
    const { name, uid } = set.metadata;
    if (conditions.length !== (set.status?.machineSetCondition ?? []).length) {
      const status = {
        ...set.status,
        machineSetCondition: [...conditions],
      };
      sets.recordWrite(await this.#sets.update({ ...set, status }, { subresource: 'status', signal }));
    }
    sets.recordWrite(
      await this.#sets.patch(name, { type: 'merge', body: { metadata: { uid, ...metadata } } }, { signal }),
    );
  }

  /** Freezes a deployment while one of its sets is frozen (docs/compatibility/rules-deployments.md §8.1, B and C). */
  async #lookAtDeployment(key: string, signal: AbortSignal): Promise<Outcome> {
    const deployment = this.#context.deployments.store.get(key);
    if (deployment === undefined || deployment.metadata.deletionTimestamp !== undefined) return done;
    const sets = this.#context.sets.store.byIndex(BY_CONTROLLER, deployment.metadata.uid);
    const frozen = sets.find((set) => hasMark(set, set.status?.machineSetCondition));
    const stored: readonly AnyCondition[] = deployment.status?.conditions ?? [];
    const condition = findCondition(stored, FROZEN);
    if (frozen !== undefined && !asksForThaw(deployment)) {
      if (isFrozen(deployment) && condition !== undefined) return done;
      const { OverShootingReplicaCount, MachineDeploymentStateSync } = ConditionReasons;
      const said = findCondition(frozen.status?.machineSetCondition ?? [], FROZEN)?.reason;
      const reason = said === OverShootingReplicaCount ? OverShootingReplicaCount : MachineDeploymentStateSync;
      const message = `MachineSet "${frozen.metadata.name}" of this deployment is frozen`;
      const conditions = setDeploymentCondition(
        stored,
        { type: FROZEN, status: 'True', reason, message },
        this.#context.clock.now(),
      );
      await this.#writeDeployment(deployment, conditions, { labels: { [Labels.Freeze]: TRUE } }, signal);
    } else if (hasMark(deployment, stored) || asksForThaw(deployment)) {
      // The annotation on a deployment ends the freeze of all its sets.
      if (frozen !== undefined) for (const set of sets) await this.#lookAtSet(keyOf(set), signal);
      this.#reportValue(deployment);
      const metadata = { labels: { [Labels.Freeze]: null }, annotations: { [Annotations.Unfreeze]: null } };
      const newest = this.#context.deployments.store.get(key) ?? deployment;
      await this.#writeDeployment(newest, withoutCondition(stored, FROZEN), metadata, signal);
    }
    return done;
  }

  async #writeDeployment(
    deployment: MachineDeployment,
    conditions: readonly AnyCondition[],
    metadata: object,
    signal: AbortSignal,
  ): Promise<void> {
    const { deployments } = this.#context;
    const { name, uid } = deployment.metadata;
    try {
      if (conditions.length !== (deployment.status?.conditions ?? []).length) {
        const status = {
          ...deployment.status,
          conditions: [...conditions],
        };
        deployments.recordWrite(
          await this.#deployments.update({ ...deployment, status }, { subresource: 'status', signal }),
        );
      }
      const body = { metadata: { uid, ...metadata } };
      deployments.recordWrite(await this.#deployments.patch(name, { type: 'merge', body }, { signal }));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

const keyOfSet = (set: MachineSet): string => `set/${keyOf(set)}`;
const keyOfDeployment = (deployment: MachineDeployment): string => `deployment/${keyOf(deployment)}`;

function keysAroundSet(set: MachineSet, context: ControllerContext): string[] {
  const deployment = deploymentOf(set, context);
  return deployment ? [keyOfSet(set), keyOfDeployment(deployment)] : [keyOfSet(set)];
}

/**
 * Creates the overshoot controller. Changes of machines and replicas start a reconcile of the overshoot controller, so
 * the controller needs no timer.
 */
export function createOvershootController(
  context: ControllerContext,
  options: OvershootOptions & { readonly concurrency: number },
): Controller {
  const reconciler = new OvershootReconciler(context, options);
  const controller = createController({
    name: 'overshoot-safety',
    concurrency: options.concurrency,
    reconcile: reconciler.reconcile,
    ...controllerParts(context),
  });
  controller.watch(context.machines, (change) => {
    if (change.type === 'updated' && isUndrained(change.old) === isUndrained(change.object)) return [];
    const set = setOf(change.object as Machine, context);
    return set ? [keyOfSet(set)] : [];
  });
  controller.watch(context.sets, (change) => keysAroundSet(change.object, context));
  controller.watch(context.deployments, (change) => [
    keyOfDeployment(change.object),
    ...context.sets.store.byIndex(BY_CONTROLLER, change.object.metadata.uid).map(keyOfSet),
  ]);
  return controller;
}
