import { createSign } from 'node:crypto';
import { askForToken, type Token, TokenRefused, type TokenSource, tokenSource } from '@mcm/core/driver';
import type { Clock, Transport } from '@mcm/kube';
import { z } from 'zod';
import { type Account, type ServiceAccount, SUBJECT_TOKEN_TYPE, TOKEN_FILE } from '../driver/account.ts';

export interface TokenOptions {
  readonly clock: Clock;
  readonly connect: (origin: string) => Transport;
  /** undefined: there is no such file. */
  readonly readFile: (path: string) => Promise<string | undefined>;
  /** Where assertions of service accounts are exchanged in place of the key's `token_uri`: the operator's word, not the Secret's. */
  readonly tokenEndpoint?: string;
}

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
/** Clocks differ a little: an assertion from the future is refused. */
const SKEW_S = 10;
const HOUR_S = 3_600;

const answer = z.looseObject({ access_token: z.string().min(1), expires_in: z.number().optional() });
const impersonated = z.looseObject({ accessToken: z.string().min(1), expireTime: z.string().optional() });

/** The access token of an account, kept until shortly before its end. */
export const createTokenSource = (account: Account, options: TokenOptions): TokenSource =>
  tokenSource(options.clock, (signal) => fetchToken(account, options, signal));

async function fetchToken(account: Account, options: TokenOptions, signal: AbortSignal): Promise<Token> {
  const now = options.clock.now().getTime();
  const exchange = async (url: string, form: Record<string, string>): Promise<Token> => {
    const body = new URLSearchParams(form).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const told = await post(answer, options, url, headers, body, signal);
    return { value: told.access_token, until: now + (told.expires_in ?? HOUR_S) * 1_000 };
  };
  if (account.type === 'service_account')
    return exchange(options.tokenEndpoint ?? account.tokenUri, {
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: assertion(account, Math.floor(now / 1_000)),
    });
  const subject = (await options.readFile(TOKEN_FILE))?.trim();
  if (!subject) throw new TokenRefused(`the workload's token ${TOKEN_FILE} cannot be read, or is empty`);
  const own = await exchange(account.stsUrl, {
    audience: account.audience,
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    scope: SCOPE,
    subject_token: subject,
    subject_token_type: SUBJECT_TOKEN_TYPE,
  });
  if (!account.impersonationUrl) return own;
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${own.value}` };
  const body = JSON.stringify({ scope: [SCOPE], lifetime: `${HOUR_S}s` });
  const told = await post(impersonated, options, account.impersonationUrl, headers, body, signal);
  return { value: told.accessToken, until: told.expireTime ? Date.parse(told.expireTime) : own.until };
}

const post = <T>(
  schema: z.ZodType<T>,
  { clock, connect }: TokenOptions,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
): Promise<T> => {
  const say = (what: string): string => `oauth2: cannot fetch token from ${new URL(url).origin}: ${what}`;
  return askForToken({ connect, url, headers, body, schema, say, signal, now: clock.now() });
};

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A JSON Web Token that the account signs for itself (RFC 7523). */
function assertion({ email, privateKey, privateKeyId, tokenUri }: ServiceAccount, now: number): string {
  const header = part({ alg: 'RS256', typ: 'JWT', ...(privateKeyId ? { kid: privateKeyId } : {}) });
  const from = now - SKEW_S;
  const claims = part({ iss: email, scope: SCOPE, aud: tokenUri, iat: from, exp: from + HOUR_S });
  const signature = createSign('RSA-SHA256').update(`${header}.${claims}`);
  try {
    return `${header}.${claims}.${signature.sign(privateKey, 'base64url')}`;
  } catch {
    // The library's words may quote the key.
    throw new TokenRefused('private_key of the service account must be an RSA key in PEM');
  }
}
