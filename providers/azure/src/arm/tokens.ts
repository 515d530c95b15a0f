import { askForToken, TokenRefused, type TokenSource, tokenSource } from '@mcm/core/driver';
import type { Clock, Transport } from '@mcm/kube';
import { z } from 'zod';
import type { CloudAddresses } from './clouds.ts';

/** Who asks for tokens. */
export interface Principal {
  readonly tenant: string;
  readonly clientId: string;
  /** A secret, or a file with a workload's own token. */
  readonly proof: { readonly secret: string } | { readonly tokenFile: string };
}

export interface TokenOptions {
  readonly clock: Clock;
  readonly connect: (origin: string) => Transport;
  readonly readFile: (path: string) => Promise<string | undefined>;
}

const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const answer = z.looseObject({ access_token: z.string().min(1), expires_in: z.coerce.number().optional() });

/** The access token of a principal, kept until shortly before its end. */
export const createTokenSource = (principal: Principal, cloud: CloudAddresses, options: TokenOptions): TokenSource =>
  tokenSource(options.clock, async (signal) => {
    const now = options.clock.now().getTime();
    const { access_token: value, expires_in: lives = 3_600 } = await ask(principal, cloud, options, signal);
    return { value, until: now + lives * 1_000 };
  });

async function ask(
  { tenant, clientId, proof }: Principal,
  { login, scope }: CloudAddresses,
  { clock, connect, readFile }: TokenOptions,
  signal: AbortSignal,
): Promise<z.infer<typeof answer>> {
  const form: Record<string, string> = { client_id: clientId, grant_type: 'client_credentials', scope };
  if ('secret' in proof) form.client_secret = proof.secret;
  else {
    const token = await readFile(proof.tokenFile);
    if (token === undefined)
      throw new TokenRefused(`WorkloadIdentityCredential: open ${proof.tokenFile}: it cannot be read`);
    form.client_assertion = token;
    form.client_assertion_type = ASSERTION;
  }
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
  return askForToken({
    connect,
    url: `${login}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`,
    headers,
    body: new URLSearchParams(form).toString(),
    schema: answer,
    say: (what) => `no token from ${login}: ${what}`,
    signal,
    now: clock.now(),
  });
}
