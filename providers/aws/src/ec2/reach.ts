import type { AwsSettings } from './settings.ts';

/** Where a client of the SDK finds its service: said to it only where the operator says so, for it beats the environment. */
export const reachOf = (
  { ignoreConfiguredEndpoints, useFipsEndpoint, useDualstackEndpoint }: AwsSettings,
  endpoint: string | undefined,
) => ({
  ...(endpoint === undefined ? {} : { endpoint }),
  ...(ignoreConfiguredEndpoints ? { ignoreConfiguredEndpointUrls: true } : {}),
  ...(useFipsEndpoint === undefined ? {} : { useFipsEndpoint }),
  ...(useDualstackEndpoint === undefined ? {} : { useDualstackEndpoint }),
});

/** The settings of a client that locate its service. */
export type Reach = ReturnType<typeof reachOf>;
