import { endpointFlag, endpointsInForce, SettingSources, type Variables } from '@mcm/core/driver';
import { ConfigError, type FlagValues, textFlag } from '@mcm/kube';

const BACKENDS = ['cloud', 'pod'] as const;

/** The defaults for values that a Secret does not contain. */
export interface LocalSettings {
  readonly backend?: (typeof BACKENDS)[number] | undefined;
  readonly endpoint?: string | undefined;
}

/** The flags of the local provider. Each flag takes precedence over its environment variable. */
export const localFlags = {
  backend: textFlag({
    placeholder: '<cloud|pod>',
    default: '',
    help: 'backend of the machines: cloud (local VMs) or pod; alternative: the variable MCM_LOCAL_BACKEND; default: the backend in the class',
  }),
  'cloud-endpoint': endpointFlag(
    'address of the local cloud, for classes without an address in their Secret; alternative: the variable MCM_LOCAL_CLOUD_ENDPOINT',
  ),
} as const;

/**
 * Reads the settings.
 * @throws ConfigError with the setting and a hint
 */
export function localSettings(
  variables: Variables,
  flags: Partial<FlagValues<typeof localFlags>> = {},
): { readonly settings: LocalSettings; readonly endpoints: Readonly<Record<string, string>> } {
  // Plain http is always allowed, because the local cloud has neither accounts nor real machines.
  const sources = new SettingSources({ ...flags, 'allow-plain-http': true }, variables);
  const endpoint = sources.endpoint('cloud-endpoint', ['MCM_LOCAL_CLOUD_ENDPOINT']);
  const asked = sources.text('backend', 'MCM_LOCAL_BACKEND');
  const backend = BACKENDS.find((name) => name === asked?.value);
  if (asked && !backend) throw new ConfigError(`${asked.name} is ${JSON.stringify(asked.value)}; write cloud or pod`);
  return {
    settings: {
      backend,
      endpoint: endpoint?.value.href.replace(/\/$/, ''),
    },
    endpoints: endpointsInForce(endpoint),
  };
}
