import type { Clock, TransportRequest, TransportResponse } from '@mcm/kube';
import { readScope } from '../ec2/signature.ts';
import { answerAwsMetadata, type HostRole } from '../login/aws-metadata.ts';
import { type BearerTokens, headerOf } from '../login/tokens.ts';
import { answer, jsonAnswer } from '../server/answer.ts';

/** The identities that log in without a service account key. */
export interface Federation {
  readonly audience: string;
  /** The workload tokens that the pool accepts. */
  readonly tokens: readonly string[];
  readonly impersonable: readonly string[];
  /**
   * The service accounts of the host that sends the requests, by email address. The name `default` selects the first
   * account.
   */
  readonly hostAccounts: readonly string[];
  readonly aws?: HostRole;
}

const STS = '/v1/token';
const IMPERSONATION = /^\/v1\/projects\/-\/serviceAccounts\/([^/]+):generateAccessToken$/;
const METADATA = /^\/computeMetadata\/v1\/instance\/service-accounts\/([^/]+)\/token$/;
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const AWS_REQUEST = 'urn:ietf:params:aws:token-type:aws4_request';
const SUBJECT = '/subject-token';
const OLDEST_MS = 15 * 60_000;

/** Handles requests to the token services. */
export function answerFederation(
  request: TransportRequest,
  federation: Federation | undefined,
  clock: Clock,
  tokens: BearerTokens,
): TransportResponse | undefined {
  const { method, path, body = '', headers } = request;
  if (path === STS && method === 'POST') return exchange(body, federation, clock, tokens);
  const [, acted] = IMPERSONATION.exec(path) ?? [];
  if (acted !== undefined && method === 'POST')
    return impersonate(decodeURIComponent(acted), headerOf(headers, 'authorization'), federation, clock, tokens);
  const [, host] = METADATA.exec(path) ?? [];
  if (host !== undefined) return ofHost(decodeURIComponent(host), headers, federation, tokens);
  if (path.replace(/\?.*/, '') === SUBJECT)
    return jsonAnswer(200, { value: federation?.tokens[0] ?? 'token-of-anybody' });
  return answerAwsMetadata(request, federation?.aws, clock);
}

function exchange(
  body: string,
  federation: Federation | undefined,
  clock: Clock,
  tokens: BearerTokens,
): TransportResponse {
  const form = new URLSearchParams(body);
  const subject = form.get('subject_token') ?? '';
  if (form.get('grant_type') !== EXCHANGE || !form.get('scope') || !subject)
    return refuse(400, 'invalid_request', 'grant_type, scope and subject_token are required.');
  if (!federation) return jsonAnswer(200, tokens.issue('federated'));
  if (form.get('audience') !== federation.audience)
    return refuse(400, 'invalid_target', 'The target service indicated by the "audience" parameters is invalid.');
  const isAws = form.get('subject_token_type') === AWS_REQUEST;
  if (!(isAws ? isOurRole(subject, federation, clock) : federation.tokens.includes(subject)))
    return refuse(400, 'invalid_grant', 'The given credential is rejected by the attribute condition.');
  return jsonAnswer(200, tokens.issue('federated'));
}

/** Returns true if the AWS role of the host has recently signed the request for the workload identity pool. */
function isOurRole(subject: string, { aws, audience }: Federation, clock: Clock): boolean {
  try {
    const signed: {
      readonly url: string;
      readonly method: string;
      readonly headers: readonly { readonly key: string; readonly value: string }[];
    } = JSON.parse(decodeURIComponent(subject.replaceAll('+', '%20')));
    const headers = Object.fromEntries(signed.headers.map(({ key, value }) => [key.toLowerCase(), value]));
    const { pathname, search, host } = new URL(signed.url);
    const scope = readScope({ method: signed.method, path: pathname + search, headers });
    const date = (headers['x-amz-date'] ?? '').replace(/^(.{4})(..)(..T..)(..)(..)Z$/, '$1-$2-$3:$4:$5Z');
    const ageMs = clock.now().getTime() - Date.parse(date);
    return (
      scope !== undefined &&
      Math.abs(ageMs) < OLDEST_MS &&
      host === headers.host &&
      headers['x-goog-cloud-target-resource'] === audience &&
      scope.accessKeyId === aws?.keys.accessKeyId &&
      scope.sessionToken === aws.keys.sessionToken &&
      scope.signedWith(aws.keys.secretAccessKey)
    );
  } catch {
    return false;
  }
}

function impersonate(
  email: string,
  authorization: string | undefined,
  federation: Federation | undefined,
  clock: Clock,
  tokens: BearerTokens,
): TransportResponse {
  if (federation && !tokens.admits(authorization))
    return jsonAnswer(401, { error: { code: 401, status: 'UNAUTHENTICATED', message: 'Invalid credentials.' } });
  if (federation && !federation.impersonable.includes(email))
    return jsonAnswer(403, {
      error: {
        code: 403,
        status: 'PERMISSION_DENIED',
        message: "Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist).",
      },
    });
  const { access_token: accessToken, expires_in } = tokens.issue(email);
  return jsonAnswer(200, {
    accessToken,
    expireTime: new Date(clock.now().getTime() + expires_in * 1_000).toISOString(),
  });
}

function ofHost(
  account: string,
  headers: Readonly<Record<string, string>>,
  federation: Federation | undefined,
  tokens: BearerTokens,
): TransportResponse {
  const flavor = { 'metadata-flavor': 'Google' };
  if (headerOf(headers, 'metadata-flavor') !== 'Google')
    return answer(403, '<html>Missing Metadata-Flavor:Google header.</html>', { 'content-type': 'text/html' });
  const email = account === 'default' && federation ? federation.hostAccounts[0] : account;
  if (email === undefined || (federation && !federation.hostAccounts.includes(email)))
    return answer(404, '<html>Not Found</html>', { 'content-type': 'text/html' });
  return jsonAnswer(200, tokens.issue(email), flavor);
}

const refuse = (status: number, error: string, description: string): TransportResponse =>
  jsonAnswer(status, { error, error_description: description });
