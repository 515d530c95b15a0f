import { X509Certificate } from 'node:crypto';
import type { Clock, TransportResponse } from '@mcm/kube';
import { readJwt } from '../login/jwt.ts';
import type { BearerTokens } from '../login/tokens.ts';
import { jsonAnswer } from '../server/answer.ts';
import { type AzureCloud, hasAudience } from './sovereign.ts';

/** An application that can log in with a secret, a certificate, or the token of its workload. */
export interface Principal {
  readonly tenant: string;
  readonly clientId: string;
  readonly secret?: string;
  readonly assertion?: string;
  /** The PEM certificate and its key. The application signs its client assertions with the key. */
  readonly certificate?: string;
}

/** The managed identities of a host. */
export interface HostIdentities {
  readonly system: boolean;
  readonly users: readonly string[];
}

interface LoginOptions {
  readonly clock: Clock;
  readonly origin?: string;
  readonly principals?: readonly Principal[] | undefined;
  /** The managed identities of the host. If `identities` is undefined, the host has every identity. */
  readonly identities?: HostIdentities | undefined;
  /**
   * The sovereign cloud of the login service. If `cloud` is undefined, the login service belongs to the public cloud
   * and accepts every audience.
   */
  readonly cloud?: AzureCloud | undefined;
}

const LOGIN = /^\/([^/]+)\/(oauth2\/v2\.0\/token|v2\.0\/\.well-known\/openid-configuration)$/;
const IMDS = '/metadata/identity/oauth2/token';

export const isLogin = (path: string): boolean => LOGIN.test(path);

export const isMetadata = (path: string): boolean => path === IMDS;

/** Returns the error that Microsoft Entra sends if the audience belongs to another cloud. */
const wrongAudience = (cloud: AzureCloud | undefined, scope: string): TransportResponse | undefined =>
  cloud === undefined || hasAudience(cloud, scope)
    ? undefined
    : refuse(
        400,
        'invalid_resource',
        `AADSTS500011: The resource principal named ${scope} was not found in the tenant.`,
      );

/** Handles requests to the login service. */
export function answerLogin(
  path: string,
  body: string,
  { clock, origin: given = 'https://login.microsoftonline.com', principals, cloud }: LoginOptions,
  tokens: BearerTokens,
): TransportResponse | undefined {
  const [, tenant = '', what] = LOGIN.exec(path) ?? [];
  const origin = cloud ? `https://${cloud.login}` : given;
  if (what === undefined) return undefined;
  if (what.endsWith('openid-configuration'))
    return jsonAnswer(200, {
      token_endpoint: `${origin}/${tenant}/oauth2/v2.0/token`,
      issuer: `${origin}/${tenant}/v2.0`,
      authorization_endpoint: `${origin}/${tenant}/oauth2/v2.0/authorize`,
      jwks_uri: `${origin}/${tenant}/discovery/v2.0/keys`,
    });
  const form = new URLSearchParams(body);
  const clientId = form.get('client_id') ?? '';
  if (form.get('grant_type') !== 'client_credentials' || !form.get('scope'))
    return refuse(400, 'invalid_request', 'AADSTS900144: grant_type and scope are required.');
  const foreign = wrongAudience(cloud, form.get('scope') ?? '');
  if (foreign !== undefined) return foreign;
  const known = principals?.filter((each) => each.tenant === tenant);
  if (known?.length === 0) return refuse(400, 'invalid_request', `AADSTS90002: Tenant '${tenant}' not found.`);
  const principal = known?.find((each) => each.clientId === clientId);
  if (known && !principal)
    return refuse(400, 'unauthorized_client', `AADSTS700016: Application '${clientId}' was not found.`);
  if (!principal) return jsonAnswer(200, tokens.issue(clientId));
  const assertion = form.get('client_assertion');
  if (assertion === null) {
    if (principal.secret === undefined || principal.secret !== form.get('client_secret'))
      return refuse(401, 'invalid_client', 'AADSTS7000215: Invalid client secret provided.');
  } else if (principal.assertion === undefined || principal.assertion !== assertion) {
    const wrong = problemOf(assertion, principal, clock);
    if (wrong !== undefined) return refuse(401, 'invalid_client', wrong);
  }
  return jsonAnswer(200, tokens.issue(clientId));
}

/**
 * Returns true if an assertion names a certificate: its header contains the SHA-256 or SHA-1 hash of the certificate.
 */
function namesCertificate(header: Readonly<Record<string, unknown>>, own: X509Certificate): boolean {
  const named = (name: string): string => Buffer.from(String(header[name] ?? ''), 'base64').toString('hex');
  const print = (fingerprint: string): string => fingerprint.replaceAll(':', '').toLowerCase();
  return named('x5t#S256') === print(own.fingerprint256) || named('x5t') === print(own.fingerprint);
}

function problemOf(assertion: string, { certificate, clientId }: Principal, clock: Clock): string | undefined {
  const token = readJwt(assertion);
  if (!token) return 'AADSTS50027: JWT token is invalid or malformed.';
  const own = certificate === undefined ? undefined : new X509Certificate(certificate);
  if (!own || !namesCertificate(token.header, own) || !token.isSignedBy(own.publicKey))
    return 'AADSTS700027: The certificate with identifier used to sign the client assertion is not registered.';
  const { iss, sub, nbf, exp } = token.claims;
  const now = clock.now().getTime() / 1_000;
  if (typeof nbf !== 'number' || typeof exp !== 'number' || nbf > now + CLOCK_SKEW_S || exp < now - CLOCK_SKEW_S)
    return 'AADSTS700024: Client assertion is not within its valid time range.';
  if (iss !== clientId || sub !== clientId) return 'AADSTS700021: Client assertion application identifier mismatch.';
  return undefined;
}

const CLOCK_SKEW_S = 300;

export function answerMetadata(
  url: URL,
  metadata: string | undefined,
  { identities }: LoginOptions,
  tokens: BearerTokens,
): TransportResponse | undefined {
  if (!isMetadata(url.pathname)) return undefined;
  const query = url.searchParams;
  if (metadata?.toLowerCase() !== 'true')
    return refuse(400, 'bad_request_102', 'Required metadata header not specified');
  if (!query.get('api-version') || !query.get('resource'))
    return refuse(400, 'invalid_request', 'Required query variables api-version and resource are missing');
  const clientId = query.get('client_id');
  if (identities && !(clientId === null ? identities.system : identities.users.includes(clientId)))
    return refuse(400, 'invalid_request', 'Identity not found');
  const { access_token, expires_in } = tokens.issue(clientId ?? 'system-assigned');
  return jsonAnswer(200, { access_token, expires_in: String(expires_in), token_type: 'Bearer' });
}

const refuse = (status: number, error: string, description: string): TransportResponse =>
  jsonAnswer(status, { error, error_description: description });
