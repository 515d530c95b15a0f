import {
  endpointFlag,
  endpointsInForce,
  type GivenSetting,
  plainHttpFlag,
  SettingSources,
  switchFlag,
  type Variables,
} from '@mcm/core/driver';
import { ConfigError, type FlagValues, textFlag } from '@mcm/kube';
import type { SharedConfig } from './shared-config.ts';

/**
 * The AWS endpoints that the operator has set. For absent values, the SDK reads the environment and the shared files.
 */
export interface AwsSettings {
  readonly ec2Endpoint?: string | undefined;
  readonly stsEndpoint?: string | undefined;
  readonly sqsEndpoint?: string | undefined;
  /** The name of the SQS queue with interruption notices. */
  readonly interruptionQueue?: string | undefined;
  /** Whether the SDK ignores the endpoints in the environment and the shared files. */
  readonly ignoreConfiguredEndpoints?: boolean;
  readonly useFipsEndpoint?: boolean | undefined;
  readonly useDualstackEndpoint?: boolean | undefined;
  /** Whether the driver may use plain http for remote hosts (default: the value of `MCM_ALLOW_PLAIN_HTTP`). */
  readonly allowPlainHttp?: boolean;
}

/** The flags of the provider AWS. Each flag takes precedence over its environment variable. */
export const awsFlags = {
  'ec2-endpoint': endpointFlag('address of EC2; alternatives: the variables AWS_ENDPOINT_URL_EC2 and AWS_ENDPOINT_URL'),
  'sts-endpoint': endpointFlag(
    'address of STS, the token service; alternatives: the variables AWS_ENDPOINT_URL_STS and AWS_ENDPOINT_URL',
  ),
  'sqs-endpoint': endpointFlag('address of SQS; alternatives: the variables AWS_ENDPOINT_URL_SQS and AWS_ENDPOINT_URL'),
  'interruption-queue': textFlag({
    placeholder: '<name>',
    default: '',
    help: 'name of the SQS queue with interruption events in the region of each class; requires --interruptions',
  }),
  'use-fips-endpoint': switchFlag(
    'use the FIPS endpoints of the region; alternative: the variable AWS_USE_FIPS_ENDPOINT=true',
  ),
  'use-dualstack-endpoint': switchFlag(
    'use the dual-stack endpoints of the region; alternative: the variable AWS_USE_DUALSTACK_ENDPOINT=true',
  ),
  'ignore-configured-endpoints': switchFlag(
    'ignore endpoints of the environment and the shared configuration; alternative: the variable AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true',
  ),
  ...plainHttpFlag,
} as const;

/**
 * Reads the AWS settings.
 * @param shared The shared configuration. The environment takes precedence over the shared configuration.
 * @returns the settings of the driver, and the effective endpoints with their sources
 * @throws ConfigError with the setting and a hint
 */
export function awsSettings(
  variables: Variables,
  flags: Partial<FlagValues<typeof awsFlags>> = {},
  shared: Pick<SharedConfig, 'profile' | 'services'> = { profile: {}, services: undefined },
): { readonly settings: AwsSettings; readonly endpoints: Readonly<Record<string, string>> } {
  const configured = endpointsOf(shared);
  const sources = new SettingSources(flags, { ...configured, ...variables });
  const reported = sources.switch('ignore-configured-endpoints', 'AWS_IGNORE_CONFIGURED_ENDPOINT_URLS');
  const ignored = reported?.value ?? shared.profile.ignore_configured_endpoint_urls === 'true';
  const endpoint = (service: 'ec2' | 'sts' | 'sqs'): GivenSetting<URL> | undefined => {
    const names = [`AWS_ENDPOINT_URL_${service.toUpperCase()}`, 'AWS_ENDPOINT_URL', sharedName(service), SHARED];
    return sources.endpoint(`${service}-endpoint`, ignored ? [] : names);
  };
  const queue = sources.text('interruption-queue')?.value;
  const [ec2, sts] = [endpoint('ec2'), endpoint('sts')];
  const sqs = queue === undefined ? undefined : endpoint('sqs');
  const fips = sources.switch('use-fips-endpoint', 'AWS_USE_FIPS_ENDPOINT');
  const dualstack = sources.switch('use-dualstack-endpoint', 'AWS_USE_DUALSTACK_ENDPOINT');
  for (const kind of [fips, dualstack]) if (kind?.value) refuseBoth(kind, ec2 ?? sts ?? sqs);
  return {
    settings: {
      ec2Endpoint: ec2?.value.href,
      stsEndpoint: sts?.value.href,
      sqsEndpoint: sqs?.value.href,
      interruptionQueue: queue,
      ignoreConfiguredEndpoints: ignored,
      useFipsEndpoint: fips?.value,
      useDualstackEndpoint: dualstack?.value,
      allowPlainHttp: sources.allowPlainHttp,
    },
    endpoints: endpointsInForce(ec2, sts, sqs),
  };
}

const SHARED = 'endpoint_url of the shared configuration';
const sharedName = (service: string): string => `${service}.${SHARED}`;

/** Returns the endpoints in the shared configuration, by the names of the corresponding environment variables. */
function endpointsOf({ profile, services }: Pick<SharedConfig, 'profile' | 'services'>): Variables {
  const own = (service: string) => ({ [sharedName(service)]: services?.section?.[`${service}.endpoint_url`] });
  return { [SHARED]: profile.endpoint_url, ...own('ec2'), ...own('sts'), ...own('sqs') };
}

/**
 * Refuses a configured endpoint in combination with FIPS or dual-stack. The SDK computes the endpoints for FIPS and
 * dual-stack from the region. With a configured endpoint, the SDK would refuse every call.
 */
function refuseBoth(kind: GivenSetting<boolean>, endpoint: GivenSetting<URL> | undefined): void {
  if (endpoint)
    throw new ConfigError(
      `${kind.name} selects endpoints of the region, but ${endpoint.name} sets another endpoint: remove one of the settings`,
    );
}
