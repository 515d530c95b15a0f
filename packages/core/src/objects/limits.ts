import type { MachineDeployment } from '@mcm/api';

export type IntOrPercent = number | string;

const PERCENT = /^(\d+)%$/;

/**
 * Converts an integer or a percentage to a number.
 * @param total the number that corresponds to 100%
 * @returns undefined if the value is absent, or is neither an integer nor a percentage. A number in quotes, such as
 *   `"10"`, is invalid.
 */
export function resolveIntOrPercent(
  value: IntOrPercent | undefined,
  total: number,
  round: 'up' | 'down',
): number | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? value : undefined;
  const percent = value === undefined ? undefined : PERCENT.exec(value)?.[1];
  if (percent === undefined) return undefined;
  const exact = (Number(percent) * total) / 100;
  return round === 'up' ? Math.ceil(exact) : Math.floor(exact);
}

/** The limits of a rollout: the surge, and the number of machines that may be unavailable. */
export interface Limits {
  /** The number of additional machines that the rollout may create. */
  readonly surge: number;
  /**
   * The surge that the annotation `max-replicas` and the scaling of sets use. The number is 0 for every strategy except
   * RollingUpdate.
   */
  readonly annotatedSurge: number;
  readonly unavailable: number;
}

/**
 * Converts `maxSurge` and `maxUnavailable` to numbers. `maxSurge` is rounded up, and `maxUnavailable` is rounded down.
 * If both numbers are 0, the result allows one unavailable machine, so that the rollout can make progress.
 */
export function fenceposts(
  maxSurge: IntOrPercent | undefined,
  maxUnavailable: IntOrPercent | undefined,
  replicas: number,
): { readonly surge: number; readonly unavailable: number } {
  const surge = resolveIntOrPercent(maxSurge, replicas, 'up') ?? 0;
  const unavailable = resolveIntOrPercent(maxUnavailable, replicas, 'down') ?? 0;
  return surge === 0 && unavailable === 0 ? { surge, unavailable: 1 } : { surge, unavailable };
}

/** Returns the limits of a deployment's rollout. Source: docs/compatibility/rules-deployments.md §3.1. */
export function limitsOf(deployment: MachineDeployment): Limits {
  const replicas = deployment.spec.replicas ?? 0;
  const { type, rollingUpdate, inPlaceUpdate } = deployment.spec.strategy ?? {};
  if (type === 'RollingUpdate') {
    const { surge, unavailable } = fenceposts(rollingUpdate?.maxSurge, rollingUpdate?.maxUnavailable, replicas);
    return { surge, annotatedSurge: surge, unavailable: Math.min(unavailable, replicas) };
  }
  if (type === 'InPlaceUpdate') {
    const surge = inPlaceUpdate?.orchestrationType === 'Manual' ? 0 : inPlaceUpdate?.maxSurge;
    const limits = fenceposts(surge, inPlaceUpdate?.maxUnavailable, replicas);
    return { surge: limits.surge, annotatedSurge: 0, unavailable: Math.min(limits.unavailable, replicas) };
  }
  return { surge: 0, annotatedSurge: 0, unavailable: 0 };
}
