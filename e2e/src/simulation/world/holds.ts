import { Annotations, type MachineDeployment } from '@mcm/api';

const isSeen = ({ metadata, status }: MachineDeployment): boolean =>
  (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);

/** A reason why a rollout must wait. */
export interface Hold {
  readonly text: string;
  readonly since: (deployment: MachineDeployment, now: number) => number | undefined;
  /** Whether sets may still grow to the size of the deployment, to complete a step that started before the hold. */
  readonly completes: boolean;
}

export function pauseHold(): Hold {
  let seenAt: number | undefined;
  const since: Hold['since'] = (deployment, now) => {
    if (!deployment.spec.paused) seenAt = undefined;
    else if (isSeen(deployment)) seenAt ??= now;
    return seenAt;
  };
  return { text: 'paused', since, completes: false };
}

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

export const isOverridden = (deployment: MachineDeployment | undefined): boolean =>
  deployment?.metadata.annotations?.[Annotations.RolloutOpenUntil] !== undefined;
