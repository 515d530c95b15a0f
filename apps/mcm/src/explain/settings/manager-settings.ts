import { SAFEGUARD_DEFAULTS, type SafeguardSettings, safeguardFlags, safeguardsOf } from '@mcm/core';
import type { KubeClient } from '@mcm/kube';
import { changedFlags, readToldFlags, reportedFeatures, reportedFlag, reportedValues } from './reported-flags.ts';

/** The settings of the leading manager. Unknown settings have their defaults. */
export interface ManagerSettings {
  readonly safeguards: SafeguardSettings;
  /**
   * A text about assumed settings, or about settings that differ from the defaults. `remark` is undefined if there are
   * no differences.
   */
  readonly remark: string | undefined;
}

/** Returns the settings that are used if the flags are not known. */
export const assumedSettings = (why: string): ManagerSettings => ({
  safeguards: SAFEGUARD_DEFAULTS,
  remark: `assuming the default flags of the manager: ${why}`,
});

/**
 * Reads the flags of the leading manager from its Lease. If the flags are unknown, the result contains the defaults
 * with a remark.
 */
export async function readManagerSettings(client: KubeClient, namespace: string): Promise<ManagerSettings> {
  const reported = await readToldFlags(client, namespace, 'machine-controller-manager');
  return 'flags' in reported ? managerSettings(reported.flags) : assumedSettings(reported.unknown);
}

/**
 * Converts the published flags to settings. The holder publishes only flags that differ from the defaults. Values with
 * a wrong type are ignored.
 */
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
      : [`--fleet-rollout-budget=${budget}: rollouts wait for the ConfigMap, and durations do not include the wait`];
  const all = [...off, ...changedFlags(own, safeguardFlags), ...counts, ...limited];
  return { safeguards, remark: all.length > 0 ? `of the manager: ${all.join('; ')}` : undefined };
}
