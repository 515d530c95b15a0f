import { MACHINE_DEFAULTS, type MachineDefaults, machineDefaultsOf, machineFlags } from '@mcm/core';
import type { KubeClient } from '@mcm/kube';
import { changedFlags, readToldFlags, toldFeatures, toldValues } from './told-flags.ts';

/** How the machine controller that leads decides, as far as anybody can know. */
export interface MachineSettings {
  readonly defaults: MachineDefaults;
  /** What is taken for granted, or what of its deadlines differs from the defaults; undefined: nothing does. */
  readonly remark: string | undefined;
}

/** Where nothing is known. */
export const ASSUMED: MachineSettings = { defaults: MACHINE_DEFAULTS, remark: undefined };

/** Flags that decide when something happens to a machine. */
const DEADLINES =
  /^(machine-(creation|health|inplace-update|preserve|drain|pv-.*|unresponsive-node|read-only-node)-timeout|machine-max-evict-retries|node-conditions)$/;

/** Reads the flags of the machine controller that leads off its Lease. What is not known is assumed, and said to be. */
export async function readMachineSettings(client: KubeClient, namespace: string): Promise<MachineSettings> {
  const told = await readToldFlags(client, namespace, 'machine-controller');
  if ('flags' in told) return machineSettings(told.flags);
  return { ...ASSUMED, remark: `the machine controller runs with its default flags: ${told.unknown}` };
}

/** The settings that flags which are not at their defaults stand for; what is of another type is not taken. */
export function machineSettings(told: Readonly<Record<string, unknown>>): MachineSettings {
  const own = toldValues(told, machineFlags);
  const features = toldFeatures(told, { UndrainablePolicy: MACHINE_DEFAULTS.undrainablePolicy });
  const defaults = machineDefaultsOf({ ...own, 'feature-gates': features });
  const off = features.UndrainablePolicy ? [] : ['feature UndrainablePolicy is off: every drain is forced in the end'];
  const deadlines = Object.fromEntries(Object.entries(own).filter(([name]) => DEADLINES.test(name)));
  const all = [...off, ...changedFlags(deadlines, machineFlags)];
  return { defaults, remark: all.length > 0 ? `of the machine controller: ${all.join('; ')}` : undefined };
}
