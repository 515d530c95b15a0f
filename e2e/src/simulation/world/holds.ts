import { Annotations, type MachineDeployment } from '@mcm/api';

const isSeen = ({ metadata, status }: MachineDeployment): boolean =>
  (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);

/** A reason why a rollout must wait. */
export interface Hold {
  /** The reason in violations, such as "paused" or "outside of its windows". */
  readonly text: string;
  /**
   * Returns when the hold started that applies at `now`, in virtual milliseconds since 1970. If the rollout need not
   * wait, the result is undefined.
   */
  readonly since: (deployment: MachineDeployment, now: number) => number | undefined;
  /** Whether sets may still grow to the size of the deployment, which completes a step from before the hold. */
  readonly completes: boolean;
}

/**
 * Returns the hold for a pause that the user has requested. The hold applies after the manager has observed the pause.
 */
export function pauseHold(): Hold {
  let seenAt: number | undefined;
  const since: Hold['since'] = (deployment, now) => {
    if (!deployment.spec.paused) seenAt = undefined;
    else if (isSeen(deployment)) seenAt ??= now;
    return seenAt;
  };
  return { text: 'paused', since, completes: false };
}

/** Returns the hold for windows. The windows open for one minute at each minute of the hour that `minutes` divides. */
export const windowHold = (minutes: number): Hold & { readonly annotation: string } => ({
  annotation: `*/${minutes} * * * * UTC 1m`,
  text: 'outside of its windows',
  since: (deployment, now) => {
    if (isOverridden(deployment)) return undefined;
    const minute = Math.floor(now / MINUTE_MS);
    const past = minute % minutes;
    return past === 0 ? undefined : (minute - past + 1) * MINUTE_MS;
  },
  completes: true,
});

const MINUTE_MS = 60_000;

/** Returns true if the user has overridden the windows and the nodes that postpone the rollout. */
export const isOverridden = (deployment: MachineDeployment | undefined): boolean =>
  deployment?.metadata.annotations?.[Annotations.RolloutOpenUntil] !== undefined;
