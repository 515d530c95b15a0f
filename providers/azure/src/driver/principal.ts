import { trimSpace } from '@mcm/core/driver';
import { readCertificate } from '../arm/certificate.ts';
import type { Principal } from '../arm/tokens.ts';
import type { AzureCredentials } from './schemas.ts';

export class WrongPrincipal extends Error {
  override readonly name = 'WrongPrincipal';
  readonly key: string;

  constructor(key: string, message: string) {
    super(message);
    this.key = key;
  }
}

/** Returns the first value that is set. A value in a Secret can have several key names. */
export const firstOf = (...values: (string | undefined)[]): string =>
  trimSpace(values.find((value) => value !== undefined) ?? '');

/**
 * Returns the principal: the identity in a Secret and its proof.
 * @param allowManaged Whether a Secret may select the managed identity of the controller's host
 * @throws WrongPrincipal
 */
export function principalOf(credentials: AzureCredentials, allowManaged = false): Principal {
  const clientId = firstOf(credentials.clientID, credentials.azureClientId);
  const managed = trimSpace(credentials.managedIdentity ?? '');
  if (managed) {
    if (!allowManaged)
      throw new WrongPrincipal(
        'managedIdentity',
        'managedIdentity is not allowed by this controller; start the controller with --allow-managed-identity, or use clientSecret, clientCertificate or workloadIdentityTokenFile',
      );
    return { managed: true, clientId: managed === 'user' ? clientId : '' };
  }
  const file = trimSpace(credentials.workloadIdentityTokenFile ?? '');
  if (file) {
    checkIds(credentials);
    return { managed: false, tenant: tenantOf(credentials), clientId, proof: { tokenFile: file } };
  }
  const certificate = trimSpace(credentials.clientCertificate ?? '');
  if (certificate) return { managed: false, tenant: tenantOf(credentials), clientId, proof: { certificate } };
  const secret = firstOf(credentials.clientSecret, credentials.azureClientSecret);
  if (secret === '') throw new WrongPrincipal('clientSecret', "secret can't be empty string");
  return { managed: false, tenant: tenantOf(credentials), clientId, proof: { secret } };
}

/**
 * Checks the IDs of the client and the tenant. If a Secret contains several names of a value, the first name applies,
 * even if its value is empty. The texts of errors are those of the library with which the original logs in.
 *
 * @throws WrongPrincipal
 */
function checkIds({ clientID, azureClientId, tenantID, azureTenantId }: AzureCredentials): void {
  const advice = (field: string): string => `Check pod configuration or set ${field} in the options`;
  if (firstOf(clientID, azureClientId) === '')
    throw new WrongPrincipal('clientID', `no client ID specified. ${advice('ClientID')}`);
  if (firstOf(tenantID, azureTenantId) === '')
    throw new WrongPrincipal('tenantID', `no tenant ID specified. ${advice('TenantID')}`);
}

/** @throws WrongPrincipal */
export function checkPrincipal(principal: Principal): void {
  if (principal.managed || !('certificate' in principal.proof)) return;
  try {
    readCertificate(principal.proof.certificate);
  } catch (thrown) {
    throw new WrongPrincipal('clientCertificate', thrown instanceof Error ? thrown.message : String(thrown));
  }
}

/**
 * Returns the problems of the credentials that can be found without the cloud.
 * @param secrets the names of the Secrets, such as `Secret n/a`
 * @param allowManaged whether the controller allows managed identities
 */
export function principalProblems(
  credentials: AzureCredentials,
  secrets: string,
  allowManaged: boolean | undefined,
): readonly string[] {
  try {
    checkPrincipal(principalOf(credentials, allowManaged));
    return [];
  } catch (thrown) {
    if (!(thrown instanceof WrongPrincipal)) throw thrown;
    return [`${thrown.message}; correct data.${thrown.key} of ${secrets}`];
  }
}

function tenantOf({ tenantID, azureTenantId }: AzureCredentials): string {
  const tenant = firstOf(tenantID, azureTenantId);
  if (/^[\w.-]+$/.test(tenant)) return tenant;
  throw new WrongPrincipal(
    tenantID === undefined ? 'azureTenantId' : 'tenantID',
    'invalid tenantID. You can locate your tenantID by following the instructions listed here: https://learn.microsoft.com/partner-center/find-ids-and-domain-names',
  );
}
