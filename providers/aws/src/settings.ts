import { endpointSetting, type Variables } from '@mcm/core/driver';

const ENDPOINTS = ['AWS_ENDPOINT_URL_EC2', 'AWS_ENDPOINT_URL_STS', 'AWS_ENDPOINT_URL'] as const;

/**
 * Endpoints that the operator sets, by their variables; the SDK reads them by itself.
 * @throws Error that names the variable and the cure
 */
export function awsEndpoints(variables: Variables): Readonly<Record<string, string>> {
  if (variables.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS?.toLowerCase() === 'true') return {};
  return Object.fromEntries(
    ENDPOINTS.flatMap((name) => {
      const endpoint = endpointSetting(name, variables)?.origin;
      return endpoint === undefined ? [] : [[name, endpoint]];
    }),
  );
}
