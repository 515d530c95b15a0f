import { MACHINE_DEFAULTS, type MachineDefaults, machineDefaultsOf, machineFlags } from '@mcm/core';
import type { KubeClient } from '@mcm/kube';
import { changedFlags, readToldFlags, reportedFeatures, reportedValues } from './reported-flags.ts';

export interface MachineSettings {
  readonly defaults: MachineDefaults;
  readonly remark: string | undefined;
}

export const ASSUMED: MachineSettings = { defaults: MACHINE_DEFAULTS, remark: undefined };

const DEADLINES =
  /^(machine-(creation|health|inplace-update|preserve|drain|pv-.*|unresponsive-node|read-only-node)-timeout|machine-max-evict-retries|node-conditions)$/;

/** Reads the flags of the machine controller from its Lease. */
export async function readMachineSettings(client: KubeClient, namespace: string): Promise<MachineSettings> {
  const reported = await readToldFlags(client, namespace, 'machine-controller');
  if ('flags' in reported) return machineSettings(reported.flags);
  return { ...ASSUMED, remark: `assuming the default flags of the machine controller: ${reported.unknown}` };
}

/** Converts the flags in the Lease to settings. The Lease contains only the flags that differ from their defaults. */
function machineSettings(reported: Readonly<Record<string, unknown>>): MachineSettings {
  const own = reportedValues(reported, machineFlags);
  const features = reportedFeatures(reported, { UndrainablePolicy: MACHINE_DEFAULTS.undrainablePolicy });
  const defaults = machineDefaultsOf({ ...own, 'feature-gates': features });
  const off = features.UndrainablePolicy
    ? []
    : ['feature gate UndrainablePolicy is disabled: mcm forces every drain when its timeout expires'];
  const deadlines = Object.fromEntries(Object.entries(own).filter(([name]) => DEADLINES.test(name)));
  const all = [...off, ...changedFlags(deadlines, machineFlags)];
  return { defaults, remark: all.length > 0 ? `of the machine controller: ${all.join('; ')}` : undefined };
}
