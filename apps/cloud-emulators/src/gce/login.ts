import { createPublicKey, createVerify } from 'node:crypto';
import type { Clock, TransportResponse } from '@mcm/kube';
import { jsonAnswer } from '../answer.ts';
import type { BearerTokens } from '../login/tokens.ts';

/** A service account whose assertions are taken. */
export interface ServiceAccountKey {
  readonly email: string;
  /** PEM of the private key or of its public half. */
  readonly key: string;
}

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** The answer of Google's token endpoint to an assertion that an account signed for itself (RFC 7523). */
export function exchangeAssertion(
  body: string,
  accounts: readonly ServiceAccountKey[] | undefined,
  clock: Clock,
  tokens: BearerTokens,
): TransportResponse {
  const form = new URLSearchParams(body);
  if (form.get('grant_type') !== GRANT) return refuse('unsupported_grant_type', `grant_type must be ${GRANT}`);
  const assertion = form.get('assertion') ?? '';
  const [head = '', claims = '', signature = ''] = assertion.split('.');
  let told: { iss?: unknown; exp?: unknown; scope?: unknown };
  try {
    told = JSON.parse(Buffer.from(claims, 'base64url').toString());
  } catch {
    return refuse('invalid_grant', 'Invalid JWT: it cannot be read.');
  }
  const now = clock.now().getTime() / 1_000;
  if (typeof told.exp !== 'number' || told.exp < now || typeof told.scope !== 'string')
    return refuse('invalid_grant', 'Invalid JWT: Token must be short-lived and have a scope.');
  const account = accounts?.find(({ email }) => email === told.iss);
  if (accounts && !account) return refuse('invalid_grant', 'Invalid grant: account not found');
  if (account) {
    const verify = createVerify('RSA-SHA256').update(`${head}.${claims}`);
    if (!verify.verify(createPublicKey(account.key), signature, 'base64url'))
      return refuse('invalid_grant', 'Invalid JWT Signature.');
  }
  return jsonAnswer(200, tokens.issue(String(told.iss)));
}

const refuse = (error: string, description: string): TransportResponse =>
  jsonAnswer(400, { error, error_description: description });
