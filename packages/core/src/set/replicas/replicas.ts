import { counted, DEFAULT_MACHINE_PRIORITY, isFrozen, Labels, type Machine, type MachineSet } from '@mcm/api';
import type { DeletionState } from '../../control/expectations.ts';
import {
  isAvailable,
  isBeingHandedOver,
  isFailed,
  isPreserved,
  isTerminating,
  priorityOf,
} from '../../objects/machines.ts';
import { mayDeleteFailed, type NodeAnnotations } from '../../objects/preservation.ts';
import { coveredByScaler, type ScalerRequest } from '../../objects/scaler.ts';
import type { ZoneRank } from '../../zones/ranks.ts';
import { chooseForDeletion } from './deletion-order.ts';

/**
 * Maximum number of machines that one reconcile of a set creates or deletes. Source: pkg/controller/machineset.go,
 * BurstReplicas.
 */
export const BURST = 100;

/** The observed set and its machines. */
export interface SetSnapshot {
  readonly set: MachineSet;
  readonly machines: readonly Machine[];
  /** The UIDs of machines for which mcm has sent a delete request that the cache does not show yet. */
  readonly deleting: ReadonlyMap<string, DeletionState>;
  readonly nodeAnnotations: NodeAnnotations;
  /** The failed machines that may be replaced (default: all failed machines). */
  readonly replaceable?: ReadonlySet<Machine> | undefined;
  /** The number of machines that may be created while terminating machines exist, or undefined without a limit. */
  readonly room?: number | undefined;
  readonly lacksClass?: boolean;
  readonly scaler?: ScalerRequest | undefined;
  readonly isPostponed?: ((machine: Machine) => boolean) | undefined;
  readonly zoneRanks?: ReadonlyMap<string, ZoneRank> | undefined;
  /**
   * The maximum number of available surplus machines that the set may delete, or undefined without a limit.
   */
  readonly spare?: number | undefined;
  readonly now: Date;
}

/** A plan to create or to delete machines, but never both. */
export interface ReplicaPlan {
  readonly create: number;
  readonly toDelete: readonly Machine[];
  readonly waiting?: number | undefined;
  readonly because: string;
}

const nothing = (because: string): ReplicaPlan => ({ create: 0, toDelete: [], because });

/**
 * A machine counts as deleted as soon as mcm has sent its delete request. In the original, a machine counts as deleted
 * only in the phase `Terminating`.
 */
export const survivors = ({ machines, deleting }: Pick<SetSnapshot, 'machines' | 'deleting'>): Machine[] =>
  machines.filter((machine) => !isTerminating(machine) && !deleting.has(machine.metadata.uid));

/**
 * Returns the named machines to delete: first all named machines of an earlier scale-down, and then other named
 * machines up to the surplus.
 */
function namedFirst({ set, scaler, now }: SetSnapshot, removable: readonly Machine[]): readonly Machine[] {
  const covered = coveredByScaler(set, removable, scaler);
  if (scaler === undefined) return covered;
  const others = removable.filter((machine) => scaler.named.has(machine.metadata.name) && !covered.includes(machine));
  const surplus = removable.length - covered.length - (set.spec.replicas ?? 0);
  return [...covered, ...chooseForDeletion(others, surplus, now)];
}

/**
 * Returns the machines from which the set chooses its surplus. At most `spare` of these machines are available. A
 * machine that is preserved, or has a priority above the default, is not deleted instead of an available machine.
 */
function unneeded(
  { spare, now, isPostponed, zoneRanks }: SetSnapshot,
  machines: readonly Machine[],
  { named, count }: { readonly named: readonly Machine[]; readonly count: number },
): readonly Machine[] {
  if (spare === undefined) return machines;
  const left = Math.max(spare - named.filter(isAvailable).length, 0);
  const first = (from: readonly Machine[], most: number) =>
    new Set(chooseForDeletion(from, most, now, isPostponed, zoneRanks));
  const going = first(machines.filter(isAvailable), left);
  const surplus = first(machines, count);
  const isKept = (machine: Machine) => isPreserved(machine, now) || priorityOf(machine) > DEFAULT_MACHINE_PRIORITY;
  return machines.filter(
    (machine) => going.has(machine) || (!isAvailable(machine) && (surplus.has(machine) || !isKept(machine))),
  );
}

/**
 * Decides how a set reaches its replicas (docs/compatibility/rules-deployments.md §7.5). A plan creates or deletes at
 * most BURST machines, and never creates more machines than the set lacks.
 */
export function planReplicas(snapshot: SetSnapshot): ReplicaPlan {
  const { set, now, nodeAnnotations } = snapshot;
  const alive = survivors(snapshot);
  const removable = alive.filter((machine) => !isBeingHandedOver(machine));
  const wanted = set.spec.replicas ?? 0;
  const uncertain = [...snapshot.deleting.values()].filter((state) => state === 'unanswered').length;
  const missing = wanted - alive.length - uncertain;
  if (missing > 0) {
    if (isFrozen(set)) return nothing(`${counted(missing, 'machine')} missing, but the set is frozen`);
    if (set.metadata.labels?.[Labels.ScaleUpDisabled] !== undefined) {
      return nothing(
        `${counted(missing, 'machine')} missing, but the set creates no machines during an in-place update`,
      );
    }
    if (snapshot.lacksClass) {
      return nothing(
        `${counted(missing, 'machine')} missing, but MachineClass "${set.spec.template.spec.class.name}" does not exist`,
      );
    }
    const create = Math.min(missing, BURST, snapshot.room ?? missing);
    if (create <= 0)
      return nothing(`${counted(missing, 'machine')} missing, but terminating machines count towards the surge`);
    return { create, toDelete: [], because: `${missing} of ${wanted} missing` };
  }
  // The set deletes named machines before machines with a lower priority.
  const named = namedFirst(snapshot, removable);
  const rest = named.length === 0 ? removable : removable.filter((machine) => !named.includes(machine));
  const count = Math.min(rest.length - wanted, BURST);
  const open = rest.filter(({ metadata }) => snapshot.zoneRanks?.get(metadata.uid)?.waits !== true);
  const free = unneeded(snapshot, open, { named, count });
  const surplus = chooseForDeletion(free, count, now, snapshot.isPostponed, snapshot.zoneRanks);
  const waiting = Math.max(count, 0) - surplus.length || undefined;
  const mayGo = (machine: Machine) =>
    !snapshot.lacksClass && (snapshot.replaceable?.has(machine) ?? mayDeleteFailed(machine, nodeAnnotations, now));
  const failed = removable.filter((machine) => isFailed(machine) && mayGo(machine));
  const toDelete = [...new Set([...named, ...surplus, ...failed])].slice(0, BURST);
  if (toDelete.length === 0 && waiting === undefined) return nothing('the MachineSet has all its replicas');
  const cause =
    open.length < count
      ? 'other machines of the same zones are missing'
      : 'too few machines of the MachineDeployment are available';
  const waits = waiting === undefined ? '' : `; ${waiting} machines wait, because ${cause}`;
  return {
    create: 0,
    toDelete,
    waiting,
    because: `of ${alive.length} machines: ${named.length} named for deletion, ${surplus.length} surplus, ${failed.length} failed${waits}`,
  };
}
