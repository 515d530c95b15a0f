import { Labels, type Machine, type MachineSet, MachineSetConditions } from '@mcm/api';
import { findCondition } from '../../objects/conditions.ts';
import { type Loss, lossOf } from '../../objects/machines.ts';

/** Number of places by the state of their former machine. */
type Losses = Readonly<Record<Loss, number>>;

const NONE: Losses = { served: 0, unjoined: 0 };

/** Limits the places to the open ones. Places of machines that served come first, because they delay others longer. */
function atMost(open: number, { served, unjoined }: Losses): Losses {
  const first = Math.min(served, open);
  return { served: first, unjoined: Math.min(unjoined, open - first) };
}

/**
 * True if the status shows that the set has had machines. Its count returns to 0 when the last machine is gone. But a set
 * with a written status has received its machines, unless a label or a condition prevented that.
 */
function hasHadMachines({ metadata, status }: MachineSet): boolean {
  if ((status?.replicas ?? 0) > 0) return true;
  const conditions = status?.machineSetCondition ?? [];
  const hindered =
    metadata.labels?.[Labels.ScaleUpDisabled] !== undefined ||
    HINDRANCES.some((type) => findCondition(conditions, type));
  return (status?.observedGeneration ?? 0) > 0 && !hindered;
}

/** Conditions of a set that cannot create machines. */
const HINDRANCES = [MachineSetConditions.InvalidSpec, MachineSetConditions.ReplicaFailure] as const;

/**
 * Places of a set whose machine is lost for any cause and has no successor yet. They distinguish a replacement from a
 * machine by which the set grows, after the former machine is gone.
 */
export class LostReplicas {
  /** By UID, the loss if the machine were gone. */
  #adoption: Map<string, Loss> | undefined;
  #lost: Losses = NONE;

  #places(set: MachineSet, alive: readonly Machine[]): Losses {
    const open = Math.max((set.spec.replicas ?? 0) - alive.length, 0);
    // At the first look the history is unknown. So all missing machines of a set that has had machines count as lost.
    if (this.#adoption === undefined) return { ...NONE, served: hasHadMachines(set) ? open : 0 };
    const there = new Set(alive.map(({ metadata }) => metadata.uid));
    const lost = { ...this.#lost };
    for (const [uid, loss] of this.#adoption) if (!there.has(uid)) lost[loss]++;
    return atMost(open, lost);
  }

  /** @param alive Machines of the set that are not being deleted. */
  count(set: MachineSet, alive: readonly Machine[]): number {
    const { served, unjoined } = this.#places(set, alive);
    return served + unjoined;
  }

  /**
   * Determines the lost replicas and stores them.
   * @returns One loss for each place, in the order in which the places are filled.
   */
  look(set: MachineSet, alive: readonly Machine[]): readonly Loss[] {
    this.#lost = this.#places(set, alive);
    this.#adoption = new Map(alive.map((one) => [one.metadata.uid, lossOf(one)]));
    const { served, unjoined } = this.#lost;
    return [...Array<Loss>(served).fill('served'), ...Array<Loss>(unjoined).fill('unjoined')];
  }

  /**
   * Records a new machine. If it is gone at the next look, its place is lost too.
   * @param loss The loss that the machine replaces, if any.
   */
  made(uid: string, loss: Loss | undefined): void {
    this.#adoption?.set(uid, 'served');
    if (loss !== undefined) this.#lost = { ...this.#lost, [loss]: Math.max(this.#lost[loss] - 1, 0) };
  }
}
