import { Annotations, formatTime, type MachineDeployment } from '@mcm/api';
import { PlanRefused, planRollout, reportedCanaryPods, soakOf, validateDeployment } from '@mcm/core';
import { ifAllowed } from '../cluster/allowed.ts';
import { readOwned } from '../cluster/deployment-reading.ts';
import { readManagerSettings } from '../explain/settings/manager-settings.ts';
import type { Target } from './actions.ts';

export interface SoakReport {
  readonly endsAt: string;
  readonly text: string;
}

const mayWait = ({ metadata, spec }: MachineDeployment): boolean =>
  spec.paused !== true &&
  metadata.deletionTimestamp === undefined &&
  [Annotations.RolloutCanary, Annotations.RolloutBatchPause].some((key) => metadata.annotations?.[key] !== undefined);

/**
 * Returns a reader for the soak time of a rollout. The reader reads nothing for a deployment without
 * canaries and batches. If the user may not read the machines, the reader returns undefined.
 */
export function soakReader(
  { client, namespace, clock }: Target,
  signal: AbortSignal,
): (deployment: MachineDeployment) => Promise<SoakReport | undefined> {
  let isOn: Promise<boolean> | undefined;
  const hasAnnotationsOn = () =>
    readManagerSettings(client, namespace).then(({ safeguards }) => safeguards.rolloutAnnotations);
  return async (deployment) => {
    if (!mayWait(deployment) || validateDeployment(deployment).length > 0) return undefined;
    isOn ??= hasAnnotationsOn();
    if (!(await isOn)) return undefined;
    const reading = await ifAllowed(readOwned(client, namespace, deployment, { signal }));
    if (reading === null) return undefined;
    const canaryPods = reportedCanaryPods(deployment);
    const snapshot = { ...reading, creating: () => 0, overlaps: [], canaryPods, now: clock.now() };
    try {
      const soak = soakOf(snapshot, planRollout(snapshot));
      if (soak === undefined) return undefined;
      const endsAt = formatTime(soak.endsAt);
      const because = soak.because.replace(/^waiting: /, '');
      const { name } = deployment.metadata;
      const text = `Waiting for machinedeployment ${name}: ${because}, until ${endsAt}. To continue now, run: mcm rollout promote ${name}`;
      return { endsAt, text };
    } catch (error) {
      // "mcm explain" reports the refused plan. The progress in the status is still correct.
      if (error instanceof PlanRefused) return undefined;
      throw error;
    }
  };
}
