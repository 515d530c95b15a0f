import type { TransportResponse } from '@mcm/kube';
import { jsonAnswer } from '../answer.ts';
import type { BearerTokens } from '../login/tokens.ts';

/** An application that may ask for tokens, with a secret or with the token of its workload. */
export interface Principal {
  readonly tenant: string;
  readonly clientId: string;
  readonly secret?: string;
  /** The client assertion that is taken. */
  readonly assertion?: string;
}

interface LoginOptions {
  readonly origin?: string;
  readonly principals?: readonly Principal[];
}

/** The answer of the login service; undefined for a path that is none of its own. */
export function answerLogin(
  path: string,
  body: string,
  { origin = 'https://login.microsoftonline.com', principals }: LoginOptions,
  tokens: BearerTokens,
): TransportResponse | undefined {
  const [, tenant = '', what] =
    /^\/([^/]+)\/(oauth2\/v2\.0\/token|v2\.0\/\.well-known\/openid-configuration)$/.exec(path) ?? [];
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
  const known = principals?.filter((each) => each.tenant === tenant);
  if (known?.length === 0) return refuse(400, 'invalid_request', `AADSTS90002: Tenant '${tenant}' not found.`);
  const principal = known?.find((each) => each.clientId === clientId);
  if (known && !principal)
    return refuse(400, 'unauthorized_client', `AADSTS700016: Application '${clientId}' was not found.`);
  const proof = form.get('client_secret') ?? form.get('client_assertion') ?? '';
  const wanted = form.has('client_secret') ? principal?.secret : principal?.assertion;
  if (principal && (wanted === undefined || wanted !== proof))
    return refuse(401, 'invalid_client', 'AADSTS7000215: Invalid client secret provided.');
  return jsonAnswer(200, tokens.issue(clientId));
}

const refuse = (status: number, error: string, description: string): TransportResponse =>
  jsonAnswer(status, { error, error_description: description });
