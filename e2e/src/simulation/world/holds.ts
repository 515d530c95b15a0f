import { Annotations, type MachineDeployment } from '@mcm/api';

const isSeen = ({ metadata, status }: MachineDeployment): boolean =>
  (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);

/** A reason why a rollout must not act. */
export interface Hold {
  /** The text in violations: "paused" or "outside of its windows". */
  readonly text: string;
  /**
   * The start of the hold that applies at `now`, in virtual milliseconds since 1970. `since` returns undefined if the
   * rollout may act.
   */
  readonly since: (deployment: MachineDeployment, now: number) => number | undefined;
  /** Whether sets may grow to the replicas of the deployment, to complete a step from before the hold. */
  readonly completes: boolean;
}

/** A pause by the user. The pause applies when the manager has observed it. */
export function pauseHold(): Hold {
  let seenAt: number | undefined;
  const since: Hold['since'] = (deployment, now) => {
    if (!deployment.spec.paused) seenAt = undefined;
    else if (isSeen(deployment)) seenAt ??= now;
    return seenAt;
  };
  return { text: 'paused', since, completes: false };
}

/** Windows that open for one minute, at each minute of the hour that is a multiple of `minutes`. */
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

/** Whether the user overrides the windows and the postponing nodes of the deployment. */
export const isOverridden = (deployment: MachineDeployment | undefined): boolean =>
  deployment?.metadata.annotations?.[Annotations.RolloutOpenUntil] !== undefined;
