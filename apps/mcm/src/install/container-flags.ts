import { machineFlags } from '@mcm/core';
import { ConfigError, commonFlags, type Flags, fleetFlags, parseFlags } from '@mcm/kube';
import { machineControllerManager } from '@mcm/machine-controller-manager';
import { awsFlags } from '@mcm/provider-aws/class';
import { azureFlags } from '@mcm/provider-azure/class';
import { gcpFlags } from '@mcm/provider-gcp/class';
import { localFlags } from '@mcm/provider-local/class';
import { UserError } from '../command/errors.ts';
import type { ContainerFlags } from './objects/settings.ts';

const FIXED: Readonly<Record<string, string>> = {
  namespace: 'use --namespace of mcm install',
  'fleet-clusters': 'use --fleet-clusters of mcm install',
  'fleet-cluster-profiles': 'use --fleet-cluster-profiles of mcm install',
  port: 'the probes of the pods use the default port',
  'secure-port': 'the NetworkPolicy and the monitoring use the default port',
  'webhook-port': 'the Service of the webhooks uses the default port',
};

const PROVIDER_FLAGS: Readonly<Record<string, Flags>> = {
  aws: awsFlags,
  azure: azureFlags,
  gcp: gcpFlags,
  local: localFlags,
};

export const managerFlagsOf = (given: readonly string[]): Promise<ContainerFlags> =>
  checked('--manager-flag', given, {
    ...commonFlags(machineControllerManager.defaults),
    ...fleetFlags,
    ...machineControllerManager.flags,
  });

/**
 * Returns the values of `--controller-flag`. The flags of a third-party provider are unknown, so only their syntax is
 * checked.
 */
export const controllerFlagsOf = (given: readonly string[], provider: string): Promise<ContainerFlags> => {
  const own = PROVIDER_FLAGS[provider];
  const common = commonFlags({ port: 10_259, concurrency: 50, controllers: [] });
  return checked('--controller-flag', given, own && { ...common, ...fleetFlags, ...machineFlags, ...own });
};

/**
 * Parses flags of the form `name=value`.
 * @param known The flags that exist. With `known`, each flag must exist and accept its value.
 * @throws UserError that names the option and the flag
 */
async function checked(option: string, given: readonly string[], known?: Flags): Promise<ContainerFlags> {
  const flags = Object.fromEntries(given.map((text) => pairOf(option, text)));
  for (const name of Object.keys(flags)) {
    const reason = FIXED[name];
    if (reason !== undefined) throw new UserError(`${option} must not set ${name}: ${reason}`);
  }
  if (known !== undefined) {
    const program = { name: option, version: '', description: '' };
    const argv = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
    try {
      await parseFlags(program, known, argv);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      throw new UserError(
        `${option}: ${error.message.replace('--help lists the flags', 'see docs/reference/flags.md')}`,
      );
    }
  }
  return flags;
}

function pairOf(option: string, text: string): [name: string, value: string] {
  const [, name, value] = /^(?:--)?([a-z][a-z0-9-]*)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new UserError(`${option} must be name=value, such as machine-drain-timeout=1h, not "${text}"`);
  return [name, value];
}
