import { createPublicKey } from 'node:crypto';
import type { Clock, TransportResponse } from '@mcm/kube';
import { readJwt } from '../login/jwt.ts';
import type { BearerTokens } from '../login/tokens.ts';
import { jsonAnswer } from '../server/answer.ts';

/** A service account that can log in with a signed assertion. */
export interface ServiceAccountKey {
  readonly email: string;
  readonly key: string;
}

/** The maximum lifetime of an assertion: one hour, plus a tolerance for clock differences. */
const LONGEST_S = 3_600 + 300;
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/**
 * Handles requests to Google's token endpoint: exchanges a signed assertion of a service account for a token (RFC
 * 7523).
 */
export function exchangeAssertion(
  body: string,
  accounts: readonly ServiceAccountKey[] | undefined,
  clock: Clock,
  tokens: BearerTokens,
): TransportResponse {
  const form = new URLSearchParams(body);
  if (form.get('grant_type') !== GRANT) return refuse('unsupported_grant_type', `grant_type must be ${GRANT}`);
  const token = readJwt(form.get('assertion') ?? '');
  if (!token) return refuse('invalid_grant', 'Invalid JWT: it cannot be read.');
  const { iss, exp, scope } = token.claims;
  const now = clock.now().getTime() / 1_000;
  if (typeof exp !== 'number' || exp < now || exp > now + LONGEST_S || typeof scope !== 'string')
    return refuse('invalid_grant', 'Invalid JWT: Token must be short-lived and in a reasonable timeframe.');
  const account = accounts?.find(({ email }) => email === iss);
  if (accounts && !account) return refuse('invalid_grant', 'Invalid grant: account not found');
  if (account && !token.isSignedBy(createPublicKey(account.key)))
    return refuse('invalid_grant', 'Invalid JWT Signature.');
  return jsonAnswer(200, tokens.issue(String(iss)));
}

const refuse = (error: string, description: string): TransportResponse =>
  jsonAnswer(400, { error, error_description: description });
