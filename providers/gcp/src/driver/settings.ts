import { endpointFlag, endpointsInForce, plainHttpFlag, SettingSources, type Variables } from '@mcm/core/driver';
import { ConfigError, type FlagValues, textFlag } from '@mcm/kube';
import { type AllowedSources, readSources } from '../login/sources.ts';

/** The settings of the provider GCP. If a setting is absent, its default applies. */
export interface GcpSettings {
  readonly endpoint?: string | undefined;
  readonly tokenEndpoint?: string | undefined;
  readonly universe?: string | undefined;
  /** Token sources that Secrets may use in addition to the workload token file of Gardener. */
  readonly sources?: AllowedSources | undefined;
  readonly stsEndpoint?: string | undefined;
  readonly iamEndpoint?: string | undefined;
  readonly metadata?: string | undefined;
  readonly awsMetadata?: string | undefined;
  readonly awsVariables?: Variables | undefined;
}

/** The flags of the provider GCP. Each flag takes precedence over its environment variable. */
export const gcpFlags = {
  'compute-endpoint': endpointFlag(
    'address of the Compute API, without a path; alternative: the variable GOOGLE_COMPUTE_CUSTOM_ENDPOINT',
  ),
  'token-endpoint': endpointFlag(
    'token endpoint of service accounts, which overrides token_uri in their keys; alternative: the variable MCM_GCP_TOKEN_ENDPOINT',
  ),
  'universe-domain': textFlag({
    placeholder: '<domain>',
    default: '',
    help: 'domain of a cloud other than googleapis.com; credentials must contain the same domain; alternative: the variable GOOGLE_CLOUD_UNIVERSE_DOMAIN',
  }),
  'credential-sources': textFlag({
    placeholder: '<a,b,…>',
    default: '',
    help: 'allowed token sources in Secrets: paths, origins of URLs, aws, metadata; alternative: the variable MCM_GCP_CREDENTIAL_SOURCES',
  }),
  'security-token-endpoint': endpointFlag(
    'address of the security token service; alternative: the variable MCM_GCP_SECURITY_TOKEN_ENDPOINT',
  ),
  'iam-credentials-endpoint': endpointFlag(
    'address of the IAM credentials service for impersonation; alternative: the variable MCM_GCP_IAM_CREDENTIALS_ENDPOINT',
  ),
  'metadata-server-endpoint': endpointFlag(
    'address of the metadata server of this host; alternative: the variable GCE_METADATA_HOST',
  ),
  ...plainHttpFlag,
} as const;

const DOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/;

const AWS = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN', 'AWS_REGION', 'AWS_DEFAULT_REGION'];
const awsOf = (variables: Variables): Variables => Object.fromEntries(AWS.map((name) => [name, variables[name]]));

/**
 * Reads the GCP settings.
 * @returns the settings of the driver, and the effective values with their sources
 * @throws ConfigError with the setting and a hint
 */
export function gcpSettings(
  variables: Variables,
  flags: Partial<FlagValues<typeof gcpFlags>> = {},
): { readonly settings: GcpSettings; readonly endpoints: Readonly<Record<string, string>> } {
  const sources = new SettingSources(flags, variables);
  const endpoint = sources.endpoint('compute-endpoint', ['GOOGLE_COMPUTE_CUSTOM_ENDPOINT'], ['/compute/v1']);
  const tokens = sources.endpoint('token-endpoint', ['MCM_GCP_TOKEN_ENDPOINT']);
  const universe = sources.text('universe-domain', 'GOOGLE_CLOUD_UNIVERSE_DOMAIN');
  const allowed = sources.text('credential-sources', 'MCM_GCP_CREDENTIAL_SOURCES');
  const sts = sources.endpoint('security-token-endpoint', ['MCM_GCP_SECURITY_TOKEN_ENDPOINT'], []);
  const iam = sources.endpoint('iam-credentials-endpoint', ['MCM_GCP_IAM_CREDENTIALS_ENDPOINT'], []);
  const metadata = sources.metadataEndpoint('metadata-server-endpoint', 'GCE_METADATA_HOST');
  const awsMetadata = sources.metadataEndpoint('', 'AWS_EC2_METADATA_SERVICE_ENDPOINT');
  if (universe && !DOMAIN.test(universe.value))
    throw new ConfigError(`${universe.name} must be a domain without https://, such as googleapis.com`);
  return {
    settings: {
      endpoint: endpoint?.value.origin,
      tokenEndpoint: tokens?.value.href,
      universe: universe?.value,
      sources: allowed ? readSources(allowed.name, allowed.value) : undefined,
      stsEndpoint: sts?.value.origin,
      iamEndpoint: iam?.value.origin,
      metadata: metadata?.value.origin,
      awsMetadata: awsMetadata?.value.origin,
      awsVariables: allowed ? awsOf(variables) : undefined,
    },
    endpoints: {
      ...endpointsInForce(endpoint, tokens, sts, iam, metadata),
      ...(universe ? Object.fromEntries([[universe.name, universe.value]]) : {}),
    },
  };
}
