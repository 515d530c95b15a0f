import { Labels, type Machine, type MachineSet, MachineSetConditions } from '@mcm/api';
import { findCondition } from '../../objects/conditions.ts';
import { type Loss, lossOf } from '../../objects/machines.ts';

/** Places by what their machine was. */
type Places = Readonly<Record<Loss, number>>;

const NONE: Places = { served: 0, unjoined: 0 };

/** No more than are open; those of machines that served come first, for they hold others up for longer. */
function atMost(open: number, { served, unjoined }: Places): Places {
  const first = Math.min(served, open);
  return { served: first, unjoined: Math.min(unjoined, open - first) };
}

/**
 * Whether the set has had machines, as far as it tells. Its count is back at 0 when the last one is gone; but a set whose
 * status was ever written has been given its machines, if nothing kept it from that.
 */
function hasHadMachines({ metadata, status }: MachineSet): boolean {
  if ((status?.replicas ?? 0) > 0) return true;
  const conditions = status?.machineSetCondition ?? [];
  const hindered =
    metadata.labels?.[Labels.ScaleUpDisabled] !== undefined ||
    HINDRANCES.some((type) => findCondition(conditions, type));
  return (status?.observedGeneration ?? 0) > 0 && !hindered;
}

/** Said of a set for which no machine can be made. */
const HINDRANCES = [MachineSetConditions.InvalidSpec, MachineSetConditions.ReplicaFailure] as const;

/**
 * Places of a set whose machine is lost, whatever the cause, and for which none has been made yet. Without it nobody
 * could tell a machine that replaces another from one by which the set grows, once the other is gone.
 */
export class LostPlaces {
  /** By UID, what the place would have lost if the machine were gone. */
  #staff: Map<string, Loss> | undefined;
  #lost: Places = NONE;

  #places(set: MachineSet, alive: readonly Machine[]): Places {
    const open = Math.max((set.spec.replicas ?? 0) - alive.length, 0);
    // At first sight nobody knows what happened before: whatever is missing of a set that has had machines is lost.
    if (this.#staff === undefined) return { ...NONE, served: hasHadMachines(set) ? open : 0 };
    const there = new Set(alive.map(({ metadata }) => metadata.uid));
    const lost = { ...this.#lost };
    for (const [uid, loss] of this.#staff) if (!there.has(uid)) lost[loss]++;
    return atMost(open, lost);
  }

  /** @param alive Machines of the set that stay unless something is decided. */
  count(set: MachineSet, alive: readonly Machine[]): number {
    const { served, unjoined } = this.#places(set, alive);
    return served + unjoined;
  }

  /**
   * The same, and remembers it.
   * @returns A place each, in the order in which they are filled.
   */
  look(set: MachineSet, alive: readonly Machine[]): readonly Loss[] {
    this.#lost = this.#places(set, alive);
    this.#staff = new Map(alive.map((one) => [one.metadata.uid, lossOf(one)]));
    const { served, unjoined } = this.#lost;
    return [...Array<Loss>(served).fill('served'), ...Array<Loss>(unjoined).fill('unjoined')];
  }

  /**
   * A machine was made: should it be gone at the next look, its place is lost as well.
   * @param loss Of the place that it was made for, if that was lost.
   */
  made(uid: string, loss: Loss | undefined): void {
    this.#staff?.set(uid, 'served');
    if (loss !== undefined) this.#lost = { ...this.#lost, [loss]: Math.max(this.#lost[loss] - 1, 0) };
  }
}
