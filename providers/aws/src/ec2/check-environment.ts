import { ConfigError } from '@mcm/kube';
import { type Environment, maxAttemptsOf } from './environment.ts';
import { readSharedConfig } from './shared-config.ts';

const MODES = ['standard', 'adaptive', 'legacy'];

/**
 * Pairs of environment variables that have an effect only together. If only one variable of a pair is set, the SDK
 * searches for keys in another source.
 */
const PAIRS = [
  ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'],
  ['AWS_WEB_IDENTITY_TOKEN_FILE', 'AWS_ROLE_ARN'],
] as const;

/**
 * Checks the settings of the metadata service. The metadata service provides keys if the Secret and the environment
 * contain none.
 */
function checkMetadataService(variables: Environment['variables']): void {
  const { AWS_EC2_METADATA_SERVICE_ENDPOINT: endpoint, AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE: mode } = variables;
  if (endpoint && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? ''))
    throw new ConfigError('AWS_EC2_METADATA_SERVICE_ENDPOINT must be an http or https URL: write http://host[:port]');
  if (mode && mode !== 'IPv4' && mode !== 'IPv6')
    throw new ConfigError(`AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE=${mode} must be IPv4 or IPv6`);
}

/**
 * Checks settings that the SDK would ignore, or would report only at the first call.
 * @returns one warning for each value that is valid but probably wrong
 * @throws ConfigError with the name of the variable and the fix
 */
export async function checkEnvironment(environment: Environment): Promise<readonly string[]> {
  const { variables } = environment;
  const { AWS_RETRY_MODE: mode, AWS_PROFILE: profile } = variables;
  maxAttemptsOf(environment);
  if (mode && !MODES.includes(mode.toLowerCase()))
    throw new ConfigError(`AWS_RETRY_MODE=${mode} must be standard or adaptive; correct or remove the variable`);
  const { hasProfile, services } = await readSharedConfig(environment);
  if (profile && profile !== 'default' && !hasProfile)
    throw new ConfigError(
      `the shared configuration files do not contain profile ${profile} of AWS_PROFILE; add the profile or remove AWS_PROFILE`,
    );
  if (services && !services.section)
    throw new ConfigError(
      `profile ${profile || 'default'} of the shared configuration needs a section [services ${services.name}]; add the section or remove services`,
    );
  checkMetadataService(variables);
  return PAIRS.flatMap(([one, other]) =>
    Boolean(variables[one]) === Boolean(variables[other])
      ? []
      : `${variables[one] ? one : other} is set, but ${variables[one] ? other : one} is not set; set both variables or none`,
  );
}
