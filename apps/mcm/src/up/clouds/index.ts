import type { DataDir } from '../../instance/data-dir.ts';
import { awsProvider, azureProvider, gcpProvider } from './emulated.ts';
import { localProvider } from './local.ts';
import { PROVIDERS, type Provider, type ProviderFor, type ProviderName } from './provider.ts';
import { findDriver, thirdPartyProvider } from './third-party.ts';

export type { Provider } from './provider.ts';

const ALL: Readonly<Record<ProviderName, ProviderFor>> = {
  local: localProvider,
  aws: awsProvider,
  azure: azureProvider,
  gcp: gcpProvider,
};

/** Returns a provider for `mcm up`: by its name, or by the module of a driver. */
export function providerFor(name: string, data: DataDir): Provider {
  const known = PROVIDERS.find((each) => each === name);
  return (known === undefined ? thirdPartyProvider(name) : ALL[known])(data);
}

/**
 * Returns the provider in the flag `--provider`: a name, or the path of a driver module.
 * @throws {UserError} if the flag names no provider and no driver
 */
export const providerName = (text: string, from: string): string =>
  PROVIDERS.find((name) => name === text) ?? findDriver(text, from).module;
