import { Annotations, type MachineSet } from '@mcm/api';
import { createdAt } from '../../objects/machines.ts';
import { compareText, parseInteger } from '../../values/integers.ts';

export interface SetSize {
  readonly name: string;
  /** Creation time of the set, in milliseconds since 1970. */
  readonly createdAt: number;
  readonly replicas: number;
  /** Number of existing machines, including those that are being deleted. */
  readonly actual: number;
  readonly available: number;
  /**
   * Number of terminating machines that count in addition to the replicas. If `leaving` is absent, terminating machines
   * count only up to the replicas.
   */
  readonly leaving?: number | undefined;
  /**
   * Number of replicas without a machine, including replicas whose machine is terminating. A machine counts from the
   * time at which its create request is sent.
   */
  readonly open?: number | undefined;
  /**
   * Number of unreachable machines that a circuit breaker keeps. A rollout must not delete these machines as failed
   * machines.
   */
  readonly held?: number | undefined;
  /** Number of available machines whose nodes postpone their replacement. A rollout does not delete these machines. */
  readonly postponed?: number | undefined;
  /** Number of machines that are named for deletion and are not above the replicas, see {@link countNamed}. */
  readonly named?: number | undefined;
  /** Value of the annotation desired-replicas. */
  readonly desired: number | undefined;
  /** Value of the annotation max-replicas. */
  readonly max: number | undefined;
}

export const sizeOf = (
  set: MachineSet,
  counts: {
    readonly replicas: number;
    readonly available: number;
    readonly leaving?: number;
    readonly held?: number;
    readonly open?: number;
    readonly postponed?: number;
    readonly named?: number;
  },
): SetSize => ({
  name: set.metadata.name,
  createdAt: createdAt(set),
  replicas: set.spec.replicas ?? 0,
  actual: counts.replicas,
  available: counts.available,
  leaving: counts.leaving || undefined,
  held: counts.held || undefined,
  open: counts.open || undefined,
  postponed: counts.postponed || undefined,
  named: counts.named || undefined,
  desired: parseInteger(set.metadata.annotations?.[Annotations.DesiredReplicas]),
  max: parseInteger(set.metadata.annotations?.[Annotations.MaxReplicas]),
});

export interface Sizes {
  readonly current: SetSize | undefined;
  readonly old: readonly SetSize[];
}

export const allOf = ({ current, old }: Sizes): readonly SetSize[] => (current ? [...old, current] : old);

export const isActive = (size: SetSize): boolean => size.replicas > 0;

/** Returns the number of machines that a set has or may still create. */
export const maximumMachines = ({ replicas, actual, leaving = 0 }: SetSize): number =>
  Math.max(replicas, actual - leaving) + leaving;

/**
 * Returns the number of available machines above the replicas of the set. If the set grows by this number, the set
 * creates no machine.
 */
export const surplusMachines = ({ replicas, available }: SetSize): number => Math.max(available - replicas, 0);

/**
 * Returns the number of available machines within the replicas of the set. If the set has more machines than replicas,
 * the additional machines do not count, because the set will delete them.
 */
export const steadyAvailable = (size: SetSize): number => Math.min(size.available, size.replicas);

export const sum = <T>(items: readonly T[], value: (item: T) => number): number =>
  items.reduce((total, item) => total + value(item), 0);

export const oldestSizeFirst = (a: SetSize, b: SetSize): number =>
  a.createdAt - b.createdAt || compareText(a.name, b.name);

export type Resize = ReadonlyMap<string, number>;
