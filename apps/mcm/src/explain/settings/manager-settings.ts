import { SAFEGUARD_DEFAULTS, type SafeguardSettings, safeguardFlags, safeguardsOf } from '@mcm/core';
import type { KubeClient } from '@mcm/kube';
import { changedFlags, readToldFlags, toldFeatures, toldFlag, toldValues } from './told-flags.ts';

/** How the manager that leads decides, as far as anybody can know. */
export interface ManagerSettings {
  readonly safeguards: SafeguardSettings;
  /** What is taken for granted, or what differs from the defaults; undefined: it is known to run with these. */
  readonly remark: string | undefined;
}

/** Where nothing is known. */
export const assumedSettings = (why: string): ManagerSettings => ({
  safeguards: SAFEGUARD_DEFAULTS,
  remark: `the manager runs with its default flags: ${why}`,
});

/** Reads the flags of the manager that leads off its Lease. What is not known is assumed, and said to be. */
export async function readManagerSettings(client: KubeClient, namespace: string): Promise<ManagerSettings> {
  const told = await readToldFlags(client, namespace, 'machine-controller-manager');
  return 'flags' in told ? managerSettings(told.flags) : assumedSettings(told.unknown);
}

/** The settings that flags which are not at their defaults stand for; what is of another type is not taken. */
export function managerSettings(told: Readonly<Record<string, unknown>>): ManagerSettings {
  const own = toldValues(told, safeguardFlags);
  const { RolloutAnnotations } = toldFeatures(told, { RolloutAnnotations: SAFEGUARD_DEFAULTS.rolloutAnnotations });
  const safeguards: SafeguardSettings = {
    ...safeguardsOf(own),
    countTerminating: toldFlag(told, 'count-terminating-towards-surge', SAFEGUARD_DEFAULTS.countTerminating),
    rolloutAnnotations: RolloutAnnotations,
  };
  const off = RolloutAnnotations ? [] : ['feature RolloutAnnotations is off: rollout annotations do nothing'];
  const counts = safeguards.countTerminating ? ['--count-terminating-towards-surge is true'] : [];
  const all = [...off, ...changedFlags(own, safeguardFlags), ...counts];
  return { safeguards, remark: all.length > 0 ? `of the manager: ${all.join('; ')}` : undefined };
}
