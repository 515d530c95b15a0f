import { Annotations, formatTime, type Machine, type MachineDeployment, type MachineSet } from '@mcm/api';
import { coveredUntil, fallOf } from '../../objects/scaler.ts';
import { splitSets } from '../../rollout/revisions.ts';
import { isTakenBack, isUndone, newlySeen, type ScalerTimeInput, scalerTimes } from '../state/scaler-time.ts';
import type { DeploymentAccess } from '../writes/access.ts';
import { expiredText, planExpiry, unmarked } from './mark-expiry.ts';
import { planScaleIn, ScaleInReasons } from './scale-in.ts';
import { planTriggers, type TriggerPlan, unmetTriggers } from './trigger-deletion.ts';

export class ScaleRequests {
  readonly #access: DeploymentAccess;
  /**
   * For each deployment, the UIDs of the marked machines that no set deletes. After a restart, the manager repeats the
   * events about marked machines that no set deletes.
   */
  readonly #unmet = new Map<string, ReadonlySet<string>>();

  constructor(access: DeploymentAccess) {
    this.#access = access;
  }

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

  reportUnmet(key: string, deployment: MachineDeployment, sets: readonly MachineSet[]): void {
    const unmet = sets.flatMap((set) => unmetTriggers(set, this.#access.machinesOf(set)));
    const before = this.#unmet.get(key);
    if (unmet.length === 0) this.#unmet.delete(key);
    else this.#unmet.set(key, new Set(unmet.map(({ machine }) => machine.metadata.uid)));
    for (const { machine, why } of unmet) {
      if (before?.has(machine.metadata.uid)) continue;
      const message = `Machine ${machine.metadata.name} is marked for deletion but not deleted yet: ${why}. The next scale-down deletes this machine first.`;
      this.#access.context.recorder.event(deployment, 'Normal', ScaleInReasons.Pending, message);
    }
  }

  /**
   * Marks the machines that the cluster autoscaler named, and removes obsolete names from its list
   * (docs/compatibility/rules-deployments.md §9.2). mcm writes the deletion list first, because each machine gets its
   * mark time from the list. Returns undefined if mcm wrote the current set; the caller must then read all objects
   * again.
   */
  async applyTriggers(
    deployment: MachineDeployment,
    sets: readonly MachineSet[],
    signal: AbortSignal,
  ): Promise<MachineDeployment | undefined> {
    if (!deployment.metadata.annotations?.[Annotations.TriggerDeletion]?.trim()) return deployment;
    const { machines: cache, clock } = this.#access.context;
    const { current } = splitSets(deployment, sets);
    const undone = current !== undefined && isUndone(deployment, this.#access.machinesOf(current));
    const owned = sets.flatMap((set) => this.#access.machinesOf(set).map((machine) => ({ set, machine })));
    const setOf = new Map(owned.map(({ set, machine }) => [machine.metadata.name, set]));
    const plan = planTriggers(
      deployment,
      new Map(owned.map(({ machine }) => [machine.metadata.name, machine])),
      clock.now(),
      (name) => cache.store.get(`${deployment.metadata.namespace ?? ''}/${name}`) !== undefined,
      ({ metadata }) => {
        const set = setOf.get(metadata.name);
        return set === undefined || undone || fallOf(set, deployment) > 0 ? undefined : coveredUntil(set);
      },
    );
    const written = await this.#writeList(deployment, plan, signal);
    const input = current && this.#inputOf(written, current, undone);
    if (input !== undefined && (undone || isTakenBack(input)) && (await this.#coverUndone(input, signal))) {
      return undefined;
    }
    const seen = input === undefined ? new Map<string, string>() : newlySeen(input);
    await this.#access.machines.patchAll(marksWith(plan, input?.machines ?? [], seen), signal);
    return written;
  }

  /**
   * Removes expired deletion marks. The cache may not show a new scale-down that needs the marks, so mcm reads the
   * deployment from the API server.
   * @returns the milliseconds until the next mark expires, 0 if marks were removed, or undefined if no mark will expire
   */
  async expire(
    deployment: MachineDeployment,
    sets: readonly MachineSet[],
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { clock, recorder } = this.#access.context;
    const now = clock.now();
    const plan = planExpiry(deployment, sets, (set) => this.#access.machinesOf(set), now);
    if (plan === undefined) return undefined;
    const { machines, list, nextAt, afterMs } = plan;
    if (machines.length === 0) return nextAt && Math.max(nextAt.getTime() - now.getTime(), 1);
    const listed = list === undefined ? {} : { [Annotations.TriggerDeletion]: list };
    const annotations = { ...listed, [Annotations.MarksExpired]: formatTime(now) };
    await this.#access.patch(deployment, { annotations }, signal);
    await this.#access.machines.patchAll(
      machines.map((machine) => ({ machine, body: unmarked(machine) })),
      signal,
    );
    recorder.event(deployment, 'Normal', 'AutoscalerMarkExpired', expiredText(machines, afterMs));
    return 0;
  }

  #inputOf(deployment: MachineDeployment, set: MachineSet, undone: boolean): ScalerTimeInput {
    return { deployment, set, machines: this.#access.machinesOf(set), undone, now: this.#access.context.clock.now() };
  }

  async #writeList(
    deployment: MachineDeployment,
    { annotations, refused }: TriggerPlan,
    signal: AbortSignal,
  ): Promise<MachineDeployment> {
    if (Object.keys(annotations).length === 0) return deployment;
    const written = await this.#access.patch(deployment, { annotations }, signal);
    if (refused.length > 0) {
      const message = `metadata.annotations[${Annotations.TriggerDeletion}]: dropped ${refused.join(', ')}`;
      this.#access.context.recorder.event(written, 'Warning', ScaleInReasons.Refused, message);
    }
    return written;
  }

  /**
   * A client may reduce the replicas and raise them again before the manager sees the reduction. In this case, mcm
   * writes the time of the reduction to the set before it marks the machines.
   * @returns true if the method wrote the set
   */
  async #coverUndone(input: ScalerTimeInput, signal: AbortSignal): Promise<boolean> {
    const { deployment, set } = input;
    const { withFall } = scalerTimes(input);
    if (withFall === undefined) return false;
    // One write reduces the replicas of the set and records the scaler time.
    if (fallOf(set, deployment) > 0 && withFall === scalerTimes({ ...input, undone: false }).withFall) return false;
    const { uid, resourceVersion } = set.metadata;
    const annotations = { [Annotations.LastReplicaChangeByScaler]: withFall };
    await this.#access.sets.patch(set, { metadata: { uid, resourceVersion, annotations } }, signal);
    return true;
  }

  forget(key: string): void {
    this.#unmet.delete(key);
  }
}

/** One write per machine contains both the marks and the times in `seen`. */
function marksWith({ marks }: TriggerPlan, machines: readonly Machine[], seen: ReadonlyMap<string, string>) {
  const planned = new Map(marks.map(({ machine, annotations }) => [machine, annotations]));
  const marked = [...new Set([...planned.keys(), ...machines.filter(({ metadata }) => seen.has(metadata.name))])];
  return marked.map((machine) => {
    const time = seen.get(machine.metadata.name);
    const record = time === undefined ? {} : { [Annotations.ScaleInSeen]: time };
    return { machine, body: { metadata: { annotations: { ...planned.get(machine), ...record } } } };
  });
}
