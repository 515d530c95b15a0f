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

/**
 * Least useful first. Each phase has its own rank. The table of the original lacks some phases (none, and all in-place
 * ones), and it ranks these with Terminating. So the original deletes a machine that is being created before a Failed one
 * (ODD-3 of docs/compatibility/rules-deployments.md).
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

/** `first` orders machines for which it is true before the others. */
const first =
  (is: (machine: Machine) => boolean): Compare =>
  (a, b) =>
    Number(is(b)) - Number(is(a));

const ascending =
  (value: (machine: Machine) => number): Compare =>
  (a, b) =>
    value(a) - value(b);

const NEVER = Number.MAX_SAFE_INTEGER;

/**
 * Order in which a set deletes machines: the first difference decides. Source: pkg/controller/controller_utils.go,
 * ActiveMachines.Less. The name is an additional last key: Go's sort is not stable, and ours must be.
 */
export function deletionOrder(now: Date, isPostponed: (machine: Machine) => boolean = () => false): Compare {
  const preserved = (machine: Machine) => isPreserved(machine, now);
  const keys: readonly Compare[] = [
    first((machine) => !preserved(machine)),
    (a, b) => (preserved(a) && preserved(b) ? first(isAutoPreserved)(a, b) : 0),
    (a, b) => (preserved(a) && preserved(b) ? ascending((m) => preserveExpiry(m) ?? 0)(a, b) : 0),
    ascending(priorityOf),
    ascending((machine) => markTimeOf(machine) ?? NEVER),
    ascending(usefulness),
    // Added to the original: nodes with the label rollout.machine.sapcloud.io/postpone.
    first((machine) => !isPostponed(machine)),
    // Added to the original: a rollout that may delete a machine without its configuration must not delete a configured one.
    first(isUnconfigured),
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

/** The `count` machines to delete, in order. If all are deleted, they are not sorted. */
export function chooseForDeletion(
  machines: readonly Machine[],
  count: number,
  now: Date,
  isPostponed?: (machine: Machine) => boolean,
): readonly Machine[] {
  if (count >= machines.length) return machines;
  if (count <= 0) return [];
  const order = deletionOrder(now, isPostponed);
  // Each pass chooses a few of thousands of machines. Keeping only these in order is faster than sorting all.
  const chosen: Machine[] = [];
  for (const machine of machines) {
    const last = chosen[count - 1];
    if (last && order(last, machine) <= 0) continue;
    chosen.splice(chosen.findLastIndex((one) => order(one, machine) <= 0) + 1, 0, machine);
    chosen.length = Math.min(chosen.length, count);
  }
  return chosen;
}
