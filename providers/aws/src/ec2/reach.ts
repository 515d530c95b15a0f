import { withoutUndefined } from '@mcm/kube';
import type { AwsSettings } from './settings.ts';

/** Returns the endpoint of a service. An endpoint that the operator set takes precedence over the environment. */
export const reachOf = (
  { ignoreConfiguredEndpoints, useFipsEndpoint, useDualstackEndpoint }: AwsSettings,
  endpoint: string | undefined,
) =>
  withoutUndefined({
    endpoint,
    ignoreConfiguredEndpointUrls: ignoreConfiguredEndpoints ? true : undefined,
    useFipsEndpoint,
    useDualstackEndpoint,
  });

export type Reach = ReturnType<typeof reachOf>;
