import type { Transport } from '@mcm/kube';
import type { z } from 'zod';
import { withoutSent } from './redact.ts';
import { retryAfterOf } from './retry-after.ts';

/** No token is given for these credentials. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused';
}

/** Whoever gives tokens cannot be asked now: nothing is said of the credentials, and nothing has been done. */
export class TokenUnavailable extends Error {
  override readonly name = 'TokenUnavailable';
  readonly retryAfterMs: number | undefined;

  constructor(why: string, options: { readonly cause?: unknown; readonly retryAfterMs?: number } = {}) {
    super(why, options.cause === undefined ? undefined : { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** A question for a token. */
export interface TokenQuestion<T> {
  readonly connect: (origin: string) => Transport;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What an answer with a token is like. */
  readonly schema: z.ZodType<T>;
  /** How a failure is told; given what went wrong, without anything that was sent or answered but the code of a refusal. */
  readonly say: (what: string) => string;
  readonly signal: AbortSignal;
  /** What a date is counted from at which whoever gives tokens may be asked again. */
  readonly now: Date;
}

/**
 * Posts it, and judges the answer, of which nothing is ever told but the code of a refusal: it may hold a token, or what was sent.
 * @throws TokenRefused, TokenUnavailable, or the signal's reason
 */
export async function askForToken<T>(question: TokenQuestion<T>): Promise<T> {
  const { connect, url, headers, body, schema, say, signal, now } = question;
  const { origin, pathname, search } = new URL(url);
  const exchange = async () => {
    const response = await connect(origin)({ method: 'POST', path: pathname + search, headers, body, signal });
    return { response, text: await response.text() };
  };
  const { response, text } = await exchange().catch((thrown: unknown) => {
    signal.throwIfAborted();
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new TokenUnavailable(say(`no answer: ${why}`), { cause: thrown });
  });
  if (response.status < 300) {
    const told = schema.safeParse(json(text));
    if (told.success) return told.data;
    throw new TokenUnavailable(say(`${response.status}, and an answer that holds none`));
  }
  const form = Object.fromEntries(new URLSearchParams(body));
  const code = /"error"\s*:\s*"([\w.-]+)"/.exec(withoutSent(text, { headers, form }))?.[1] ?? '';
  const why = say(`${response.status} ${code}`.trimEnd());
  if (response.status < 500 && response.status !== 429) throw new TokenRefused(why);
  const retryAfterMs = retryAfterOf(response.headers, now);
  throw new TokenUnavailable(why, retryAfterMs === undefined ? {} : { retryAfterMs });
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // no schema takes it
  }
}
