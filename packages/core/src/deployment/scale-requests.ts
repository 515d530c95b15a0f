import { Annotations, type MachineDeployment, type MachineSet } from '@mcm/api';
import type { DeploymentAccess } from './access.ts';
import { planScaleIn, ScaleInReasons } from './scale-in.ts';
import { planTriggers, unmetTriggers } from './trigger-deletion.ts';

/** Settles what an autoscaler or a user asks for by naming machines. */
export class ScaleRequests {
  readonly #access: DeploymentAccess;
  /** Uids of machines by deployment that are named for deletion and stay; said again after a restart. */
  readonly #unmet = new Map<string, ReadonlySet<string>>();

  constructor(access: DeploymentAccess) {
    this.#access = access;
  }

  /** Accepts or refuses a scale-in of named machines: one write. */
  async settleScaleIn(
    deployment: MachineDeployment,
    sets: readonly MachineSet[],
    signal: AbortSignal,
  ): Promise<MachineDeployment> {
    const now = this.#access.context.clock.now();
    const plan = planScaleIn({ deployment, sets, machinesOf: (set) => this.#access.machinesOf(set), now });
    if (plan === undefined) return deployment;
    const { annotations, replicas, event } = plan;
    const spec = replicas === undefined ? undefined : { replicas };
    const written = await this.#access.patch(deployment, { annotations }, signal, spec);
    if (event) this.#access.context.recorder.event(written, event.type, event.reason, event.message);
    return written;
  }

  /** Says once of each machine that is named for deletion, and stays, why it does. */
  reportUnmet(key: string, deployment: MachineDeployment, sets: readonly MachineSet[]): void {
    const unmet = sets.flatMap((set) => unmetTriggers(set, this.#access.machinesOf(set)));
    const before = this.#unmet.get(key);
    if (unmet.length === 0) this.#unmet.delete(key);
    else this.#unmet.set(key, new Set(unmet.map(({ machine }) => machine.metadata.uid)));
    for (const { machine, why } of unmet) {
      if (before?.has(machine.metadata.uid)) continue;
      const message = `Machine ${machine.metadata.name} is named for deletion and stays: ${why}. The next scale-down takes it first.`;
      this.#access.context.recorder.event(deployment, 'Normal', ScaleInReasons.Pending, message);
    }
  }

  /** Marks the machines that the cluster autoscaler named and prunes its list (docs/rules.md §9.2). */
  async applyTriggers(
    deployment: MachineDeployment,
    sets: readonly MachineSet[],
    signal: AbortSignal,
  ): Promise<MachineDeployment> {
    if (deployment.metadata.annotations?.[Annotations.TriggerDeletion] === undefined) return deployment;
    const machines = sets
      .flatMap((set) => this.#access.machinesOf(set))
      .map((machine) => [machine.metadata.name, machine] as const);
    const plan = planTriggers(
      deployment,
      new Map(machines),
      this.#access.context.clock.now(),
      (name) => this.#access.context.machines.store.get(`${deployment.metadata.namespace ?? ''}/${name}`) !== undefined,
    );
    await this.#access.machines.patchAll(
      plan.marks.map(({ machine, annotations }) => ({ machine, body: { metadata: { annotations } } })),
      signal,
    );
    if (Object.keys(plan.annotations).length === 0) return deployment;
    const written = await this.#access.patch(deployment, { annotations: plan.annotations }, signal);
    if (plan.refused.length > 0) {
      const message = `metadata.annotations[${Annotations.TriggerDeletion}]: dropped ${plan.refused.join(', ')}`;
      this.#access.context.recorder.event(written, 'Warning', ScaleInReasons.Refused, message);
    }
    return written;
  }

  /** The deployment has gone. */
  forget(key: string): void {
    this.#unmet.delete(key);
  }
}
