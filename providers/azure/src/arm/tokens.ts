import { singleFlight, withoutSent } from '@mcm/core/driver';
import type { Clock, Transport } from '@mcm/kube';
import { z } from 'zod';
import type { CloudAddresses } from './clouds.ts';
import { parseJson } from './error.ts';

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

/** No token is given for these credentials. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused';
}

/** The login host cannot be asked now: nothing is said of the credentials, and nothing has been done. */
export class TokenUnavailable extends Error {
  override readonly name = 'TokenUnavailable';
  readonly retryAfterMs: number | undefined;

  constructor(why: string, options: { readonly cause?: unknown; readonly retryAfterMs?: number } = {}) {
    super(why, options.cause === undefined ? undefined : { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs;
  }
}

const RENEW_BEFORE_MS = 300_000;
const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const answer = z.looseObject({ access_token: z.string().min(1), expires_in: z.coerce.number().optional() });

/** The access token of a principal, kept until shortly before its end. @throws Error */
export function createTokenSource(
  principal: Principal,
  cloud: CloudAddresses,
  options: TokenOptions,
): (signal: AbortSignal) => Promise<string> {
  let known: { readonly value: string; readonly until: number } | undefined;
  const renew = singleFlight(async (signal) => {
    const now = options.clock.now().getTime();
    const told = await ask(principal, cloud, options, signal);
    known = { value: told.access_token, until: now + (told.expires_in ?? 3_600) * 1_000 };
    return known.value;
  });
  return async (signal) =>
    known && known.until - RENEW_BEFORE_MS > options.clock.now().getTime() ? known.value : renew(signal);
}

async function ask(
  { tenant, clientId, proof }: Principal,
  { login, scope }: CloudAddresses,
  { connect, readFile }: TokenOptions,
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
  const path = `/${encodeURIComponent(tenant)}/oauth2/v2.0/token`;
  const body = new URLSearchParams(form).toString();
  const exchange = async () => {
    const response = await connect(login)({ method: 'POST', path, headers, body, signal });
    return { response, text: await response.text() };
  };
  const { response, text } = await exchange().catch((thrown: unknown) => {
    signal.throwIfAborted();
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new TokenUnavailable(`no token from ${login}: no answer: ${why}`, { cause: thrown });
  });
  if (response.status < 300) {
    const told = answer.safeParse(parseJson(text));
    if (told.success) return told.data;
    // What is wrong with it is not told: it may hold a token.
    throw new TokenUnavailable(`no token from ${login}: ${response.status}, and an answer that holds none`);
  }
  // The whole answer may hold what was sent; its code is enough.
  const code = /"error"\s*:\s*"([\w.-]+)"/.exec(withoutSent(text, { headers, form }))?.[1] ?? '';
  const why = `no token from ${login}: ${response.status} ${code}`;
  if (response.status < 500 && response.status !== 429) throw new TokenRefused(why);
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  throw new TokenUnavailable(why, Number.isFinite(seconds) ? { retryAfterMs: seconds * 1_000 } : {});
}
