import { Annotations, type MachineSet } from '@mcm/api';
import { createdAt } from '../../objects/machines.ts';
import { compareText, parseInteger } from '../../values/integers.ts';

export interface SetSize {
  readonly name: string;
  readonly createdAt: number;
  readonly replicas: number;
  /** The number of existing machines, including machines that are being deleted. */
  readonly actual: number;
  readonly available: number;
  /** The number of terminating machines that count in addition to the replicas (default: 0). */
  readonly leaving?: number | undefined;
  /**
   * The number of replicas without a machine or with a terminating machine. A replica has a machine as soon as mcm has
   * sent the create request.
   */
  readonly open?: number | undefined;
  /** The number of unreachable machines that an open circuit breaker protects from a rollout. */
  readonly held?: number | undefined;
  /** The number of available machines whose nodes postpone their replacement by a rollout. */
  readonly postponed?: number | undefined;
  readonly named?: number | undefined;
  readonly desired: number | undefined;
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

export const maximumMachines = ({ replicas, actual, leaving = 0 }: SetSize): number =>
  Math.max(replicas, actual - leaving) + leaving;

/** Returns the number of available machines that exceed the replicas of the set. */
export const surplusMachines = ({ replicas, available }: SetSize): number => Math.max(available - replicas, 0);

/**
 * Returns the number of available machines, but at most the replicas of the set. Machines above the replicas do not
 * count, because the set will delete them.
 */
export const steadyAvailable = (size: SetSize): number => Math.min(size.available, size.replicas);

export const sum = <T>(items: readonly T[], value: (item: T) => number): number =>
  items.reduce((total, item) => total + value(item), 0);

export const oldestSizeFirst = (a: SetSize, b: SetSize): number =>
  a.createdAt - b.createdAt || compareText(a.name, b.name);

export type Resize = ReadonlyMap<string, number>;
