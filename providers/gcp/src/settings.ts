import { endpointFlag, endpointsInForce, plainHttpFlag, SettingSources, type Variables } from '@mcm/core/driver';
import { ConfigError, type FlagValues, textFlag } from '@mcm/kube';

/** What the operator says of where Google's cloud is; absent: by default. */
export interface GcpSettings {
  /** Origin of the Compute API. */
  readonly endpoint?: string;
  /** Where service accounts get tokens. */
  readonly tokenEndpoint?: string;
  /** Domain of a cloud that is not the public one. */
  readonly universe?: string;
}

/** Flags of the binary beside those of every machine controller; each beats its variable. */
export const gcpFlags = {
  'compute-endpoint': endpointFlag(
    'address of the Compute API, of whose paths only /compute/v1 is asked; also GOOGLE_COMPUTE_CUSTOM_ENDPOINT',
  ),
  'token-endpoint': endpointFlag(
    'where service accounts get tokens, in place of the token_uri of their keys; also MCM_GCP_TOKEN_ENDPOINT',
  ),
  'universe-domain': textFlag({
    placeholder: '<domain>',
    default: '',
    help: 'domain of a cloud that is not the public one (googleapis.com), which credentials must name too; also GOOGLE_CLOUD_UNIVERSE_DOMAIN',
  }),
  ...plainHttpFlag,
} as const;

const DOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/;

/**
 * Reads flags and variables of the process.
 * @returns the driver's settings, and what is in force by what gave it
 * @throws ConfigError that names the setting and the cure
 */
export function gcpSettings(
  variables: Variables,
  flags: Partial<FlagValues<typeof gcpFlags>> = {},
): { readonly settings: GcpSettings; readonly endpoints: Readonly<Record<string, string>> } {
  const sources = new SettingSources(flags, variables);
  const endpoint = sources.endpoint('compute-endpoint', ['GOOGLE_COMPUTE_CUSTOM_ENDPOINT'], ['/compute/v1']);
  const tokens = sources.endpoint('token-endpoint', ['MCM_GCP_TOKEN_ENDPOINT']);
  const universe = sources.text('universe-domain', 'GOOGLE_CLOUD_UNIVERSE_DOMAIN');
  if (universe && !DOMAIN.test(universe.value))
    throw new ConfigError(`${universe.name} is no domain: write one such as googleapis.com, without https://`);
  return {
    settings: {
      ...(endpoint ? { endpoint: endpoint.value.origin } : {}),
      ...(tokens ? { tokenEndpoint: tokens.value.href } : {}),
      ...(universe ? { universe: universe.value } : {}),
    },
    endpoints: { ...endpointsInForce(endpoint, tokens), ...(universe ? { [universe.name]: universe.value } : {}) },
  };
}
