import { Annotations, type Machine, type MachinePhase, PreserveValues, phaseOf } from '@mcm/api';
import {
  createdAt,
  isPreserved,
  isUnconfigured,
  markTimeOf,
  preserveExpiry,
  priorityOf,
} from '../../objects/machines.ts';
import { compareText } from '../../values/integers.ts';
import type { ZoneRank } from '../../zones/ranks.ts';

/**
 * The phases of machines, starting with the phase that the set deletes first. The original has another order of phases,
 * for example machines in creation before Failed machines (ODD-3).
 */
const USEFULNESS: readonly (MachinePhase | undefined)[] = [
  'Terminating',
  'Failed',
  'CrashLoopBackOff',
  'InPlaceUpdateFailed',
  'Unknown',
  undefined,
  'Pending',
  'InPlaceUpdating',
  'InPlaceUpdateSuccessful',
  'Available',
  'Running',
];

type Compare = (a: Machine, b: Machine) => number;

const usefulness = (machine: Machine): number => {
  const rank = USEFULNESS.indexOf(phaseOf(machine));
  return rank < 0 ? USEFULNESS.indexOf(undefined) : rank;
};

const isAutoPreserved = (machine: Machine): boolean =>
  machine.metadata.annotations?.[Annotations.Preserve] === PreserveValues.AutoPreserved;

const first =
  (is: (machine: Machine) => boolean): Compare =>
  (a, b) =>
    Number(is(b)) - Number(is(a));

const ascending =
  (value: (machine: Machine) => number): Compare =>
  (a, b) =>
    value(a) - value(b);

const NEVER = Number.MAX_SAFE_INTEGER;
const NO_ZONES: ReadonlyMap<string, ZoneRank> = new Map();

/**
 * Returns the order in which a set deletes machines. The first criterion in which two machines differ determines the
 * order of their deletion. Source: pkg/controller/controller_utils.go, ActiveMachines.Less. The order of the input must
 * not affect the result, so the name is the last criterion.
 */
export function deletionOrder(
  now: Date,
  isPostponed: (machine: Machine) => boolean = () => false,
  zoneRanks: ReadonlyMap<string, ZoneRank> = NO_ZONES,
): Compare {
  const rankOf = ({ metadata }: Machine) => zoneRanks.get(metadata.uid);
  const preserved = (machine: Machine) => isPreserved(machine, now);
  const keys: readonly Compare[] = [
    first((machine) => !preserved(machine)),
    (a, b) => (preserved(a) && preserved(b) ? first(isAutoPreserved)(a, b) : 0),
    (a, b) => (preserved(a) && preserved(b) ? ascending((m) => preserveExpiry(m) ?? 0)(a, b) : 0),
    ascending(priorityOf),
    ascending((machine) => markTimeOf(machine) ?? NEVER),
    first((machine) => rankOf(machine)?.stuck === true),
    first((machine) => rankOf(machine)?.moves === true),
    ascending(usefulness),
    first((machine) => !isPostponed(machine)),
    first(isUnconfigured),
    ascending((machine) => -(rankOf(machine)?.level ?? NEVER)),
    ascending(createdAt),
    (a, b) => compareText(a.metadata.name, b.metadata.name),
  ];
  return (a, b) => {
    for (const key of keys) {
      const order = key(a, b);
      if (order !== 0) return order;
    }
    return 0;
  };
}

/** Returns the machines that the set deletes first. */
export function chooseForDeletion(
  machines: readonly Machine[],
  count: number,
  now: Date,
  isPostponed?: (machine: Machine) => boolean,
  zoneRanks?: ReadonlyMap<string, ZoneRank>,
): readonly Machine[] {
  if (count >= machines.length) return machines;
  if (count <= 0) return [];
  const order = deletionOrder(now, isPostponed, zoneRanks);
  // A set may have thousands of machines, so the loop sorts only the few machines to delete.
  const chosen: Machine[] = [];
  for (const machine of machines) {
    const last = chosen[count - 1];
    if (last && order(last, machine) <= 0) continue;
    chosen.splice(chosen.findLastIndex((one) => order(one, machine) <= 0) + 1, 0, machine);
    chosen.length = Math.min(chosen.length, count);
  }
  return chosen;
}
