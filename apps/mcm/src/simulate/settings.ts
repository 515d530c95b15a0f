import { checkMachineFlags, MACHINE_FEATURES, machineFlags, machineOptionsOf } from '@mcm/core';
import { ConfigError, type Flags, type FlagValues, featureGatesFlag, parseFlags } from '@mcm/kube';
import { MANAGER_FEATURES, managerFlags, managerSettingsOf } from '@mcm/machine-controller-manager';
import { UserError } from '../command/errors.ts';
import { version } from '../command/version.ts';

const MANAGER = { ...managerFlags, 'feature-gates': featureGatesFlag(MANAGER_FEATURES) };
const MACHINES = { ...machineFlags, 'feature-gates': featureGatesFlag(MACHINE_FEATURES) };
/** Flags of features that the simulation does not run, because they need a network or another process. */
const NOT_SIMULATED = /^(webhook-|autoscaler-(port|cert)|fleet-|hook-webhooks|journal)/;

export interface ControllerSettings {
  readonly manager: ReturnType<typeof managerSettingsOf>;
  readonly machines: ReturnType<typeof machineOptionsOf>;
  readonly interruptions: boolean;
}

function flagsIn(text: string): readonly string[] {
  const flags: string[] = [];
  for (const word of text.split(/\s+/).filter((each) => each !== '')) {
    const last = flags.at(-1);
    if (word.startsWith('--')) flags.push(word);
    else if (last === undefined || last.includes('='))
      throw new UserError(`--flags must contain flags such as --machine-health-timeout=5m, not "${word}"`);
    else flags[flags.length - 1] = `${last}=${word}`;
  }
  return flags;
}

const nameOf = (flag: string): string => flag.slice(2).split('=')[0] ?? '';

async function valuesOf<F extends Flags>(name: string, flags: F, given: readonly string[]): Promise<FlagValues<F>> {
  const own = given.filter((flag) => nameOf(flag) in flags);
  const parsed = await parseFlags({ name, version: version(), description: '' }, flags, own).catch((error: unknown) => {
    throw error instanceof ConfigError ? new UserError(`--flags: ${error.message}`) : error;
  });
  if (parsed.kind === 'print')
    throw new UserError('--flags must not contain a flag that only prints text, such as --help');
  return parsed.values;
}

/**
 * Returns the settings of both controllers.
 * @throws UserError if neither program has a flag, or if the simulation does not support a flag
 */
export async function controllerSettings(texts: readonly string[]): Promise<ControllerSettings> {
  const given = texts.flatMap(flagsIn);
  for (const name of given.map(nameOf)) {
    if (NOT_SIMULATED.test(name)) throw new UserError(`--flags: --${name} has no effect in a simulation`);
    if (!(name in MANAGER) && !(name in MACHINES))
      throw new UserError(`--flags: neither the manager nor the machine controller has a flag --${name}`);
  }
  const manager = await valuesOf('machine-controller-manager', MANAGER, given);
  const machines = await valuesOf('machine-controller', MACHINES, given);
  const [problem] = checkMachineFlags(machines);
  if (problem !== undefined) throw new UserError(`--flags: ${problem}`);
  return {
    manager: managerSettingsOf(manager),
    machines: machineOptionsOf(machines),
    interruptions: machines.interruptions,
  };
}
