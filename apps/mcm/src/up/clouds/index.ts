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

/** Returns the provider of `mcm up`, by its name or by the module of its driver. */
export function providerFor(name: string, data: DataDir): Provider {
  const known = PROVIDERS.find((each) => each === name);
  return (known === undefined ? thirdPartyProvider(name) : ALL[known])(data);
}

/**
 * Returns the name of a provider, or the path of the driver module in `--provider`.
 * @throws {UserError} if the driver does not exist
 */
export const providerName = (text: string, from: string): string =>
  PROVIDERS.find((name) => name === text) ?? findDriver(text, from).module;
