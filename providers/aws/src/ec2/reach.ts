import { withoutUndefined } from '@mcm/kube';
import type { AwsSettings } from './settings.ts';

/** The endpoint of a client of the SDK. It is set only if the operator sets it, because it takes precedence over the environment. */
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

/** The settings of a client that locate its service. */
export type Reach = ReturnType<typeof reachOf>;
