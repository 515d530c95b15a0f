import type { DataDir } from '../data-dir.ts';
import { awsProvider, azureProvider, gcpProvider } from './emulated.ts';
import { localProvider } from './local.ts';
import type { Provider, ProviderFor, ProviderName } from './provider.ts';

export { PROVIDERS, type Provider, type ProviderName } from './provider.ts';

const ALL: Readonly<Record<ProviderName, ProviderFor>> = {
  local: localProvider,
  aws: awsProvider,
  azure: azureProvider,
  gcp: gcpProvider,
};

/** The provider of `mcm up`: its cloud, machine controller, class and credentials, for a data directory. */
export const providerFor = (name: ProviderName, data: DataDir): Provider => ALL[name](data);
