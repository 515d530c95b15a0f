import type { AzureCredentials } from './schemas.ts';
import { tenantOf } from './session.ts';

/**
 * What no cloud could take of the credentials, in the original's words.
 * @param secrets Where they stand, `Secret n/a`
 */
export function tenantProblems(credentials: AzureCredentials, secrets: string): readonly string[] {
  try {
    tenantOf(credentials);
    return [];
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    return [`${why}; correct data.${credentials.tenantID === undefined ? 'azureTenantId' : 'tenantID'} of ${secrets}`];
  }
}
