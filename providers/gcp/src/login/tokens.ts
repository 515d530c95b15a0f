import { askForToken, signJwt, type Token, TokenRefused, type TokenSource, tokenSource } from '@mcm/core/driver';
import { z } from 'zod';
import type { Account, ExternalAccount, HostAccount, Impersonation, ServiceAccount } from './accounts.ts';
import { subjectToken } from './subject-token.ts';
import type { TokenOptions } from './token-options.ts';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
/**
 * The tolerance for clock differences. An assertion is valid from a time in the past, because Google refuses assertions
 * from the future.
 */
const SKEW_S = 10;
const HOUR_S = 3_600;
const METADATA = 'http://metadata.google.internal';

const answer = z.looseObject({ access_token: z.string().min(1), expires_in: z.number().optional() });
const impersonated = z.looseObject({ accessToken: z.string().min(1), expireTime: z.string().optional() });

/** Returns a source of tokens. The source caches a token until shortly before its expiry. */
export const createTokenSource = (account: Account, options: TokenOptions): TokenSource =>
  tokenSource(options.clock, (signal) => fetchToken(account, options, signal));

async function fetchToken(account: Account, options: TokenOptions, signal: AbortSignal): Promise<Token> {
  switch (account.type) {
    case 'service_account':
      return ofServiceAccount(account, options, signal);
    case 'metadata_server':
      return ofHost(account, options, signal);
    case 'external_account': {
      const own = await exchanged(account, options, signal);
      return account.impersonation ? acted(account.impersonation, own, options, signal) : own;
    }
    case 'impersonated_service_account':
      return acted(account.impersonation, await fetchToken(account.source, options, signal), options, signal);
    default:
      return account satisfies never;
  }
}

function ofServiceAccount(account: ServiceAccount, options: TokenOptions, signal: AbortSignal): Promise<Token> {
  const form = {
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion: assertion(account, Math.floor(options.clock.now().getTime() / 1_000)),
  };
  return exchange(options.tokenEndpoint ?? account.tokenUri, form, options, signal);
}

async function exchanged(account: ExternalAccount, options: TokenOptions, signal: AbortSignal): Promise<Token> {
  const form = {
    audience: account.audience,
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    scope: SCOPE,
    subject_token: await subjectToken(account, options, signal),
    subject_token_type: account.subjectTokenType,
  };
  return exchange(onto(account.stsUrl, options.stsEndpoint), form, options, signal);
}

async function acted(
  { url, delegates, lifetimeS }: Impersonation,
  own: Token,
  options: TokenOptions,
  signal: AbortSignal,
): Promise<Token> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${own.value}` };
  const asked = { scope: [SCOPE], lifetime: `${lifetimeS}s`, delegates: delegates.length > 0 ? delegates : undefined };
  const sent = { headers, body: JSON.stringify(asked) };
  const reported = await ask(impersonated, onto(url, options.iamEndpoint), sent, options, signal);
  return { value: reported.accessToken, until: reported.expireTime ? Date.parse(reported.expireTime) : own.until };
}

async function ofHost({ email }: HostAccount, options: TokenOptions, signal: AbortSignal): Promise<Token> {
  const { clock, connect, metadata = METADATA } = options;
  const now = clock.now();
  const reported = await askForToken({
    connect,
    schema: answer,
    signal,
    now,
    strict: true,
    url: `${metadata}/computeMetadata/v1/instance/service-accounts/${encodeURIComponent(email)}/token`,
    headers: { 'metadata-flavor': 'Google' },
    say: (cause) =>
      `oauth2: cannot fetch token from the metadata server ${metadata}: ${cause}; run the controller on a host with service account ${email}`,
  });
  return { value: reported.access_token, until: now.getTime() + (reported.expires_in ?? HOUR_S) * 1_000 };
}

async function exchange(
  url: string,
  form: Readonly<Record<string, string>>,
  options: TokenOptions,
  signal: AbortSignal,
): Promise<Token> {
  const now = options.clock.now().getTime();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const reported = await ask(answer, url, { headers, body: new URLSearchParams(form).toString() }, options, signal);
  return { value: reported.access_token, until: now + (reported.expires_in ?? HOUR_S) * 1_000 };
}

const onto = (url: string, origin: string | undefined): string =>
  origin === undefined ? url : `${origin}${new URL(url).pathname}`;

const ask = <T>(
  schema: z.ZodType<T>,
  url: string,
  sent: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
  { clock, connect }: TokenOptions,
  signal: AbortSignal,
): Promise<T> => {
  const say = (cause: string): string => `oauth2: cannot fetch token from ${new URL(url).origin}: ${cause}`;
  return askForToken({ ...sent, connect, url, schema, say, signal, now: clock.now() });
};

/** Returns a signed assertion of a service account (RFC 7523). */
function assertion({ email, privateKey, privateKeyId, tokenUri }: ServiceAccount, now: number): string {
  const from = now - SKEW_S;
  const claims = { iss: email, scope: SCOPE, aud: tokenUri, iat: from, exp: from + HOUR_S };
  try {
    return signJwt({ algorithm: 'RS256', header: privateKeyId ? { kid: privateKeyId } : {}, claims }, privateKey);
  } catch {
    // The error omits the message of the crypto library, because the message may quote the key.
    throw new TokenRefused('private_key of the service account must be an RSA key in PEM');
  }
}
