import { SAFEGUARD_DEFAULTS, type SafeguardSettings, safeguardFlags, safeguardsOf } from '@mcm/core';
import type { KubeClient } from '@mcm/kube';
import { changedFlags, readToldFlags, reportedFeatures, reportedFlag, reportedValues } from './reported-flags.ts';

export interface ManagerSettings {
  readonly safeguards: SafeguardSettings;
  /** A text about unknown settings, or about settings that differ from the defaults. */
  readonly remark: string | undefined;
}

/** Returns the settings to use if the flags of the manager are unknown. */
export const assumedSettings = (why: string): ManagerSettings => ({
  safeguards: SAFEGUARD_DEFAULTS,
  remark: `assuming the default flags of the manager: ${why}`,
});

/** Reads the flags of the manager from its Lease. */
export async function readManagerSettings(client: KubeClient, namespace: string): Promise<ManagerSettings> {
  const reported = await readToldFlags(client, namespace, 'machine-controller-manager');
  return 'flags' in reported ? managerSettings(reported.flags) : assumedSettings(reported.unknown);
}

/** Converts the flags in the Lease to settings. The Lease contains only the flags that differ from their defaults. */
export function managerSettings(reported: Readonly<Record<string, unknown>>): ManagerSettings {
  const own = reportedValues(reported, safeguardFlags);
  const { RolloutAnnotations } = reportedFeatures(reported, {
    RolloutAnnotations: SAFEGUARD_DEFAULTS.rolloutAnnotations,
  });
  const safeguards: SafeguardSettings = {
    ...safeguardsOf(own),
    countTerminating: reportedFlag(reported, 'count-terminating-towards-surge', SAFEGUARD_DEFAULTS.countTerminating),
    rolloutAnnotations: RolloutAnnotations,
  };
  const off = RolloutAnnotations
    ? []
    : ['feature gate RolloutAnnotations is disabled: rollout annotations have no effect'];
  const counts = safeguards.countTerminating ? ['--count-terminating-towards-surge is true'] : [];
  const budget = reportedFlag(reported, 'fleet-rollout-budget', '');
  const limited =
    budget === ''
      ? []
      : [
          `--fleet-rollout-budget=${budget}: rollouts may wait for the rollout budget of the fleet, and durations do not include this wait`,
        ];
  const all = [...off, ...changedFlags(own, safeguardFlags), ...counts, ...limited];
  return { safeguards, remark: all.length > 0 ? `of the manager: ${all.join('; ')}` : undefined };
}
