import { createHash } from 'node:crypto';
import { askForToken, signJwt, TokenRefused, type TokenSource, tokenSource } from '@mcm/core/driver';
import type { Clock, Random, Transport } from '@mcm/kube';
import { withoutUndefined } from '@mcm/kube';
import { z } from 'zod';
import { type ClientCertificate, readCertificate } from './certificate.ts';
import type { CloudAddresses } from './clouds.ts';
import { causeOf } from './login-causes.ts';

type Proof = { readonly secret: string } | { readonly tokenFile: string } | { readonly certificate: string };

interface Application {
  readonly managed: false;
  readonly tenant: string;
  readonly clientId: string;
  readonly proof: Proof;
}

interface ManagedIdentity {
  readonly managed: true;
  readonly clientId: string;
}

export type Principal = Application | ManagedIdentity;

export interface TokenOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly connect: (origin: string) => Transport;
  readonly readFile: (path: string) => Promise<string | undefined>;
  readonly metadata?: string | undefined;
}

const METADATA = 'http://169.254.169.254';
const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
/**
 * The lifetime of an assertion, and the tolerance for clock differences. An assertion is valid from a time in the past.
 */
const ASSERTION_S = 600;
const SKEW_S = 60;
const answer = z.looseObject({ access_token: z.string().min(1), expires_in: z.coerce.number().optional() });

/** Returns a source of tokens. The source caches a token until shortly before its expiry. */
export const createTokenSource = (principal: Principal, cloud: CloudAddresses, options: TokenOptions): TokenSource =>
  tokenSource(options.clock, async (signal) => {
    const now = options.clock.now().getTime();
    const ask = principal.managed
      ? askMetadata(principal, cloud, options, signal)
      : askLogin(principal, cloud, options, signal);
    const { access_token: value, expires_in: lives = 3_600 } = await ask;
    return { value, until: now + lives * 1_000 };
  });

async function askLogin(
  { tenant, clientId, proof }: Application,
  { login, scope }: CloudAddresses,
  options: TokenOptions,
  signal: AbortSignal,
): Promise<z.infer<typeof answer>> {
  const { clock, connect } = options;
  const url = `${login}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`;
  const form = {
    client_id: clientId,
    grant_type: 'client_credentials',
    scope,
    ...('secret' in proof
      ? { client_secret: proof.secret }
      : { client_assertion: await assertionOf(clientId, proof, url, options), client_assertion_type: ASSERTION }),
  };
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
  return askForToken({
    connect,
    url,
    headers,
    body: new URLSearchParams(form).toString(),
    schema: answer,
    say: (cause) => `no token from ${login}: ${cause}${causeOf(cause)}`,
    signal,
    now: clock.now(),
  });
}

async function assertionOf(
  clientId: string,
  proof: Exclude<Proof, { readonly secret: string }>,
  audience: string,
  { clock, random, readFile }: TokenOptions,
): Promise<string> {
  if ('certificate' in proof) return signedAssertion(clientId, proof.certificate, audience, clock.now(), random);
  // Each login reads the file again, because the kubelet replaces the token before it expires.
  const token = await readFile(proof.tokenFile);
  if (token === undefined)
    throw new TokenRefused(`WorkloadIdentityCredential: open ${proof.tokenFile}: the file cannot be read`);
  return token;
}

function signedAssertion(clientId: string, pem: string, audience: string, now: Date, random: Random): string {
  const { key, thumbprint } = validCertificate(pem, now);
  const from = Math.floor(now.getTime() / 1_000) - SKEW_S;
  const jti = createHash('sha256').update(`${clientId} ${from} ${random.next()}`).digest('hex').slice(0, 32);
  return signJwt(
    {
      algorithm: 'PS256',
      header: { 'x5t#S256': thumbprint },
      claims: { aud: audience, iss: clientId, sub: clientId, jti, nbf: from, iat: from, exp: from + ASSERTION_S },
    },
    key,
  );
}

function validCertificate(pem: string, now: Date): ClientCertificate {
  const certificate = read(pem);
  const { notBefore, notAfter } = certificate;
  const day = (date: Date): string => date.toISOString().slice(0, 10);
  if (now > notAfter)
    throw new TokenRefused(`clientCertificate expired on ${day(notAfter)}; store a new certificate with its key`);
  if (now < notBefore)
    throw new TokenRefused(
      `clientCertificate is not valid before ${day(notBefore)}; store a valid certificate, or correct the clock`,
    );
  return certificate;
}

function read(pem: string): ClientCertificate {
  try {
    return readCertificate(pem);
  } catch (thrown) {
    throw new TokenRefused(thrown instanceof Error ? thrown.message : String(thrown));
  }
}

function askMetadata(
  { clientId }: ManagedIdentity,
  { scope }: CloudAddresses,
  { clock, connect, metadata = METADATA }: TokenOptions,
  signal: AbortSignal,
): Promise<z.infer<typeof answer>> {
  const query = new URLSearchParams(
    withoutUndefined({
      'api-version': '2018-02-01',
      resource: scope.replace(/\/\.default$/, ''),
      client_id: clientId === '' ? undefined : clientId,
    }),
  );
  return askForToken({
    connect,
    url: `${metadata}/metadata/identity/oauth2/token?${query}`,
    schema: answer,
    headers: { metadata: 'true', accept: 'application/json' },
    say: (cause) =>
      `no token for data.managedIdentity from ${metadata}: ${cause}; the controller must run in Azure on a host with ${clientId === '' ? 'a system-assigned identity' : 'the identity of data.clientID'}`,
    strict: true,
    signal,
    now: clock.now(),
  });
}
