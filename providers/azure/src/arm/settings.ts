import {
  endpointFlag,
  endpointsInForce,
  plainHttpFlag,
  SettingSources,
  switchFlag,
  type Variables,
} from '@mcm/core/driver';
import { type FlagValues, textFlag, withoutUndefined } from '@mcm/kube';
import { CLOUD_NAMES, type CloudName } from './clouds.ts';

/** Settings for classes that do not name a cloud. */
export interface AzureSettings {
  readonly cloud?: CloudName | undefined;
  /** The address of Resource Manager, which replaces the default of the cloud. */
  readonly endpoint?: string | undefined;
  /** The login host, which replaces the default of the cloud. */
  readonly login?: string | undefined;
  /** Whether a Secret may select the managed identity of the host on which this process runs. */
  readonly allowManagedIdentity?: boolean | undefined;
  readonly metadata?: string | undefined;
}

/** The flags of the provider Azure. */
export const azureFlags = {
  'azure-cloud': textFlag({
    placeholder: '<name>',
    default: '',
    oneOf: CLOUD_NAMES,
    help: `default cloud of provider specs, one of ${CLOUD_NAMES.join(', ')}; default AzurePublic`,
  }),
  'resource-manager-endpoint': endpointFlag(
    'address of Resource Manager for provider specs without a cloud; alternative: the variable AZURE_RESOURCE_MANAGER_ENDPOINT',
  ),
  'authority-host': endpointFlag(
    'login host for provider specs without a cloud; disables instance discovery; alternative: the variable AZURE_AUTHORITY_HOST',
  ),
  'allow-managed-identity': switchFlag(
    'allow Secrets with managedIdentity to use the identity of this host; alternative: the variable MCM_ALLOW_MANAGED_IDENTITY=true',
  ),
  'instance-metadata-endpoint': endpointFlag(
    'address of the instance metadata service for managed identities; alternative: the variable AZURE_POD_IDENTITY_AUTHORITY_HOST',
  ),
  ...plainHttpFlag,
} as const;

/**
 * Reads the Azure settings.
 * @returns the settings of the driver, and the effective values with their sources
 * @throws ConfigError with the setting and a hint
 */
export function azureSettings(
  variables: Variables,
  flags: Partial<FlagValues<typeof azureFlags>> = {},
): { readonly settings: AzureSettings; readonly endpoints: Readonly<Record<string, string>> } {
  const sources = new SettingSources(flags, variables);
  const endpoint = sources.endpoint('resource-manager-endpoint', ['AZURE_RESOURCE_MANAGER_ENDPOINT'], []);
  const login = sources.endpoint('authority-host', ['AZURE_AUTHORITY_HOST'], []);
  const metadata = sources.metadataEndpoint('instance-metadata-endpoint', 'AZURE_POD_IDENTITY_AUTHORITY_HOST');
  const managed = sources.switch('allow-managed-identity', 'MCM_ALLOW_MANAGED_IDENTITY');
  const cloud = CLOUD_NAMES.find((name) => name === flags['azure-cloud']);
  return {
    settings: {
      cloud,
      endpoint: endpoint?.value.origin,
      login: login?.value.origin,
      allowManagedIdentity: managed?.value,
      metadata: metadata?.value.origin,
    },
    endpoints: { ...withoutUndefined({ '--azure-cloud': cloud }), ...endpointsInForce(endpoint, login, metadata) },
  };
}
