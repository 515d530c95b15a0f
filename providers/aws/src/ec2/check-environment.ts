import { ConfigError } from '@mcm/kube';
import { type Environment, maxAttemptsOf } from './environment.ts';
import { readSharedConfig } from './shared-config.ts';

const MODES = ['standard', 'adaptive', 'legacy'];

/** Variables that make sense together only: where one alone is set, the SDK passes it over and looks for keys elsewhere. */
const PAIRS = [
  ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'],
  ['AWS_WEB_IDENTITY_TOKEN_FILE', 'AWS_ROLE_ARN'],
] as const;

/** What moves the metadata service, which is asked where neither the Secret nor the environment holds keys. */
function checkMetadataService(variables: Environment['variables']): void {
  const { AWS_EC2_METADATA_SERVICE_ENDPOINT: endpoint, AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE: mode } = variables;
  if (endpoint && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? ''))
    throw new ConfigError('AWS_EC2_METADATA_SERVICE_ENDPOINT is no URL of http or https: write http://host[:port]');
  if (mode && mode !== 'IPv4' && mode !== 'IPv6')
    throw new ConfigError(`AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE=${mode} is neither IPv4 nor IPv6; write one of them`);
}

/**
 * Settings that the SDK would quietly ignore, or tell at the first call only.
 * @returns what may be meant, but is likely wrong, one sentence each
 * @throws ConfigError that names the variable and the cure
 */
export async function checkEnvironment(environment: Environment): Promise<readonly string[]> {
  const { variables } = environment;
  const { AWS_RETRY_MODE: mode, AWS_PROFILE: profile } = variables;
  maxAttemptsOf(environment);
  if (mode && !MODES.includes(mode.toLowerCase()))
    throw new ConfigError(`AWS_RETRY_MODE=${mode} is unknown; use standard or adaptive, or leave it out`);
  const { hasProfile, services } = await readSharedConfig(environment);
  if (profile && profile !== 'default' && !hasProfile)
    throw new ConfigError(
      `AWS_PROFILE names profile ${profile}, which the shared configuration files do not have; add it or leave AWS_PROFILE out`,
    );
  if (services && !services.section)
    throw new ConfigError(
      `profile ${profile || 'default'} of the shared configuration names services ${services.name}, of which it has no section: add [services ${services.name}] or leave services out`,
    );
  checkMetadataService(variables);
  return PAIRS.flatMap(([one, other]) =>
    Boolean(variables[one]) === Boolean(variables[other])
      ? []
      : `${variables[one] ? one : other} is set and ${variables[one] ? other : one} is not: neither counts; set both or none`,
  );
}
