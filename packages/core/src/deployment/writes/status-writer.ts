import {
  ConditionReasons,
  type MachineDeployment,
  MachineDeploymentConditions,
  type MachineDeploymentConditionType,
  type MachineDeploymentStatus,
  type MachineSet,
} from '@mcm/api';
import { again, done, type Outcome, soonest } from '@mcm/kube';
import { BlockedByField, type Blocking, blocksOf } from '../../blocked/blocks.ts';
import { isReplicaOf } from '../../disruption/safeguards.ts';
import { Pace } from '../../flow/pace.ts';
import {
  type AnyCondition,
  type ConditionChange,
  findCondition,
  setDeploymentCondition,
} from '../../objects/conditions.ts';
import { limitsOf } from '../../objects/limits.ts';
import { isComplete } from '../../rollout/rollout-completion.ts';
import { countMachines } from '../../set/status.ts';
import { semanticEqual } from '../../values/semantic-equal.ts';
import { pauseCondition, progressDeadline, withProgress } from '../state/progress.ts';
import { type CountedSets, deploymentStatus, deploymentStatusDiffers } from '../state/status.ts';
import type { RolloutPlan } from '../state/step.ts';
import type { DeploymentAccess } from './access.ts';
import { blocksOfDeployment } from './blocked-by.ts';
import { withoutReadiness, withReadiness } from './ready-condition.ts';
import { messageOf, type SetCreation } from './set-writer.ts';

const STATUS_INTERVAL_MS = 1_000;

/** Only mcm writes conditions of these types, and removes them when their problem is gone. */
const OURS: readonly MachineDeploymentConditionType[] = [
  MachineDeploymentConditions.InvalidSpec,
  MachineDeploymentConditions.RolloutBlocked,
  MachineDeploymentConditions.RolloutWaiting,
  MachineDeploymentConditions.ReplacementHeld,
  MachineDeploymentConditions.InputIgnored,
];

export class StatusWriter {
  readonly #access: DeploymentAccess;
  readonly #pace = new Pace(STATUS_INTERVAL_MS);
  readonly #blockedBy = new BlockedByField();
  readonly #readyCondition: boolean;
  /** The deployments that were in a soak time at their last reconcile. */
  readonly #soaking = new Set<string>();

  constructor(access: DeploymentAccess, options: { readonly readyCondition?: boolean | undefined } = {}) {
    this.#access = access;
    this.#readyCondition = options.readyCondition ?? false;
  }

  async write(
    key: string,
    deployment: MachineDeployment,
    plan: RolloutPlan,
    did: { written: ReadonlyMap<string, MachineSet>; creation: SetCreation | undefined },
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { clock } = this.#access.context;
    const now = clock.now();
    const newest = (set: MachineSet) => did.written.get(set.metadata.uid) ?? set;
    const made = did.creation?.kind === 'created' ? did.creation.set : undefined;
    const current = made ?? (plan.sets.current && newest(plan.sets.current.set));
    const sets = this.count(deployment, { current, old: plan.sets.old.map(({ set }) => newest(set)) });
    const base = {
      ...deployment,
      status: { ...deployment.status, conditions: [...ownConditions(deployment, plan, did.creation, now)] },
    };
    const counted = deploymentStatus(base, sets, limitsOf(deployment).unavailable, now);
    const measured = plan.measureProgress
      ? withProgress(deployment, sets, counted, { now, soakEnd: this.#soakEndOf(key, plan, now) })
      : counted;
    if (plan.soakEnd !== undefined && plan.soakEnd > now) this.#soaking.add(key);
    const machinesOf = (set: MachineSet) => this.#access.machinesOf(set);
    const status = this.withBlocks(
      deployment,
      this.#readyCondition ? withReadiness(deployment, measured, now) : withoutReadiness(measured),
      () => blocksOfDeployment(deployment, plan, sets, machinesOf),
    );
    const urgent =
      isComplete(deployment, status) ||
      (!semanticEqual(status.conditions, deployment.status?.conditions) &&
        !onlyRefreshed(status.conditions, deployment.status?.conditions ?? []));
    const outcome = await this.writeIfNew(key, deployment, status, { urgent }, signal);
    if (plan.measureProgress && outcome === done) this.#soaking.delete(key);
    const deadline = isComplete(deployment, status) ? undefined : progressDeadline(deployment, status.conditions);
    if (deadline === undefined || deadline < now.getTime()) return outcome;
    return soonest(outcome, again(deadline - now.getTime() + 1000));
  }

  /** A user can end a soak time early. The deployment then has no soak time any more, and the deadline starts now. */
  #soakEndOf(key: string, { soakEnd }: RolloutPlan, now: Date): Date | undefined {
    return soakEnd ?? (this.#soaking.has(key) ? now : undefined);
  }

  /** Writes `status.blockedBy` if the flag is set and the API server stores the field. */
  withBlocks<T extends MachineDeploymentStatus>(
    deployment: MachineDeployment,
    status: T,
    blocking: () => readonly Blocking[],
  ): T {
    const { blockedBy, clock } = this.#access.context;
    if (!blockedBy || !this.#blockedBy.stored) return status;
    const blocks = blocksOf(deployment.status?.blockedBy ?? [], blocking(), clock.now());
    return blocks.length > 0 ? { ...status, blockedBy: [...blocks] } : status;
  }

  async writeIfNew(
    key: string,
    deployment: MachineDeployment,
    status: NonNullable<MachineDeployment['status']>,
    { urgent }: { urgent: boolean },
    signal: AbortSignal,
  ): Promise<Outcome> {
    const now = this.#access.context.clock.now();
    if (!deploymentStatusDiffers(deployment.status, status)) return done;
    const isNews = (deployment.status?.observedGeneration ?? 0) < (status.observedGeneration ?? 0);
    const waitMs = urgent || isNews ? 0 : this.#pace.waitMs(key, now);
    if (waitMs > 0) return again(waitMs);
    const written = await this.#access.putStatus(deployment, status, signal);
    if (written) this.#blockedBy.wrote(status.blockedBy, written.status?.blockedBy);
    this.#pace.wrote(key, now);
    return done;
  }

  count(
    deployment: MachineDeployment,
    { current, old }: { current: MachineSet | undefined; old: readonly MachineSet[] },
  ): CountedSets {
    const isReplica = isReplicaOf(deployment, this.#access.context.safeguards.settings);
    const count = (set: MachineSet) => ({ set, counts: countMachines(set, this.#access.machinesOf(set), isReplica) });
    return { current: current && count(current), old: old.map(count) };
  }

  forget(key: string): void {
    this.#pace.forget(key);
    this.#soaking.delete(key);
  }
}

function onlyRefreshed(now: readonly AnyCondition[], before: readonly AnyCondition[]): boolean {
  const essence = (conditions: readonly AnyCondition[]) =>
    conditions.map(({ type, status, reason }) => `${type}=${status}/${reason}`).sort();
  return semanticEqual(essence(now), essence(before));
}

function ownConditions(
  deployment: MachineDeployment,
  plan: RolloutPlan,
  creation: SetCreation | undefined,
  now: Date,
): readonly AnyCondition[] {
  const stored: readonly AnyCondition[] = pauseCondition(deployment, now) ?? deployment.status?.conditions ?? [];
  const change = creation?.kind === 'failed' ? creationFailure(creation) : plan.condition;
  const changes = [...(change ? [change] : []), ...plan.problems.conditions];
  const stands = (type: MachineDeploymentConditionType) => changes.some((one) => one.type === type);
  const cleared = stored.filter(({ type }) => !OURS.includes(type) || stands(type));
  return changes.reduce((conditions, one) => {
    const refresh = OURS.includes(one.type) && findCondition(conditions, one.type)?.message !== one.message;
    return setDeploymentCondition(conditions, one, now, { refresh });
  }, cleared);
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
