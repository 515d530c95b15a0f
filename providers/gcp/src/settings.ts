import { endpointSetting, type Variables } from '@mcm/core/driver';

/** What the operator says of where Google's cloud is; absent: by default. */
export interface GcpSettings {
  /** Origin of the Compute API. */
  readonly endpoint?: string;
  /** Where service accounts get tokens. */
  readonly tokenEndpoint?: string;
  /** Domain of a cloud that is not the public one. */
  readonly universe?: string;
}

const DOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/;

/** Reads the process's variables. @throws Error that names the variable and the cure */
export function gcpSettings(variables: Variables): GcpSettings {
  const endpoint = endpointSetting('GOOGLE_COMPUTE_CUSTOM_ENDPOINT', variables, ['/compute/v1'])?.origin;
  const tokenEndpoint = endpointSetting('MCM_GCP_TOKEN_ENDPOINT', variables)?.href;
  const universe = variables.GOOGLE_CLOUD_UNIVERSE_DOMAIN;
  if (universe && !DOMAIN.test(universe))
    throw new Error('GOOGLE_CLOUD_UNIVERSE_DOMAIN is no domain: write one such as googleapis.com, without https://');
  return {
    ...(endpoint ? { endpoint } : {}),
    ...(tokenEndpoint ? { tokenEndpoint } : {}),
    ...(universe ? { universe } : {}),
  };
}
