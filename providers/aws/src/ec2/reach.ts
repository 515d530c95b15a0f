import { withoutUndefined } from '@mcm/kube';
import type { AwsSettings } from './settings.ts';

/**
 * Returns the endpoint setting of an SDK client. The setting is used only if the operator has set an endpoint, because this
 * setting takes precedence over the environment.
 */
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

/** The settings of an SDK client that locate its service. */
export type Reach = ReturnType<typeof reachOf>;
