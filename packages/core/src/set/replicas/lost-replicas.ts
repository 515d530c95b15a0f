import { Labels, type Machine, type MachineSet, MachineSetConditions } from '@mcm/api';
import { findCondition } from '../../objects/conditions.ts';
import { type Loss, lossOf } from '../../objects/machines.ts';

/** Number of lost replicas, by the state that their former machines had reached. */
type Losses = Readonly<Record<Loss, number>>;

const NONE: Losses = { served: 0, unjoined: 0 };

/**
 * Limits the number of lost replicas to the number of missing machines. Replicas whose machine has run pods come
 * first, because their replacements delay other replacements longer.
 */
function atMost(open: number, { served, unjoined }: Losses): Losses {
  const first = Math.min(served, open);
  return { served: first, unjoined: Math.min(unjoined, open - first) };
}

/**
 * A set with a status has had machines, unless a label or a condition prevented it. The count in the status returns to
 * 0 when the last machine is deleted.
 */
function hasHadMachines({ metadata, status }: MachineSet): boolean {
  if ((status?.replicas ?? 0) > 0) return true;
  const conditions = status?.machineSetCondition ?? [];
  const isBlocked =
    metadata.labels?.[Labels.ScaleUpDisabled] !== undefined ||
    BLOCKING_CONDITIONS.some((type) => findCondition(conditions, type));
  return (status?.observedGeneration ?? 0) > 0 && !isBlocked;
}

const BLOCKING_CONDITIONS = [MachineSetConditions.InvalidSpec, MachineSetConditions.ReplicaFailure] as const;

/**
 * Counts the replicas of a set that lost their machine and have no replacement yet. With this count, the set
 * distinguishes replacements from additional machines.
 */
export class LostReplicas {
  /**
   * The state that each existing machine has reached, by UID. The state stays known after the deletion of the machine.
   */
  #adoption: Map<string, Loss> | undefined;
  #lost: Losses = NONE;

  #places(set: MachineSet, alive: readonly Machine[]): Losses {
    const open = Math.max((set.spec.replicas ?? 0) - alive.length, 0);
    // At the first call, the history of the set is unknown. If the set has had machines, all missing machines count as
    // lost.
    if (this.#adoption === undefined) return { ...NONE, served: hasHadMachines(set) ? open : 0 };
    const there = new Set(alive.map(({ metadata }) => metadata.uid));
    const lost = { ...this.#lost };
    for (const [uid, loss] of this.#adoption) if (!there.has(uid)) lost[loss]++;
    return atMost(open, lost);
  }

  count(set: MachineSet, alive: readonly Machine[]): number {
    const { served, unjoined } = this.#places(set, alive);
    return served + unjoined;
  }

  /**
   * Determines the lost replicas and records them.
   * @returns The states of the former machines, in the order in which the replicas get new machines.
   */
  look(set: MachineSet, alive: readonly Machine[]): readonly Loss[] {
    this.#lost = this.#places(set, alive);
    this.#adoption = new Map(alive.map((one) => [one.metadata.uid, lossOf(one)]));
    const { served, unjoined } = this.#lost;
    return [...Array<Loss>(served).fill('served'), ...Array<Loss>(unjoined).fill('unjoined')];
  }

  /**
   * Records a new machine. If the machine does not exist at the next call, its replica counts as lost.
   * @param loss The state of the former machine, if the new machine is a replacement.
   */
  made(uid: string, loss: Loss | undefined): void {
    this.#adoption?.set(uid, 'served');
    if (loss !== undefined) this.#lost = { ...this.#lost, [loss]: Math.max(this.#lost[loss] - 1, 0) };
  }
}
