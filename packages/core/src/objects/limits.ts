import type { MachineDeployment } from '@mcm/api';

export type IntOrPercent = number | string;

const PERCENT = /^(\d+)%$/;

/** Converts an integer or a percentage to a number, or returns undefined for another value such as `"10"`. */
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
  readonly surge: number;
  /**
   * The surge for the annotation `max-replicas` and for the scaling of sets. The value is 0 if the strategy is not
   * RollingUpdate.
   */
  readonly annotatedSurge: number;
  readonly unavailable: number;
}

/**
 * `maxSurge` is rounded up, and `maxUnavailable` is rounded down. If both limits are 0, one machine may be unavailable,
 * so that the rollout can make progress.
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
