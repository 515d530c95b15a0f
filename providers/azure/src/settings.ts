import { endpointSetting, type Variables } from '@mcm/core/driver';

/** What the operator says of where Azure is; absent: by the class's cloud. */
export interface AzureSettings {
  /** Origin of Resource Manager. */
  readonly endpoint?: string;
  /** Origin of the login service. */
  readonly login?: string;
}

/** Reads the process's variables. @throws Error that names the variable and the cure */
export function azureSettings(variables: Variables): AzureSettings {
  const endpoint = endpointSetting('AZURE_RESOURCE_MANAGER_ENDPOINT', variables, [])?.origin;
  const login = endpointSetting('AZURE_AUTHORITY_HOST', variables, [])?.origin;
  return { ...(endpoint ? { endpoint } : {}), ...(login ? { login } : {}) };
}
