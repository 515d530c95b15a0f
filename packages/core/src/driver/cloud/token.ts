import type { Transport } from '@mcm/kube';
import type { z } from 'zod';
import { retryAfterOf } from '../contract/retry-after.ts';
import { withoutSent } from '../secrets/redact.ts';

/** The error if the token service refused the credentials permanently. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused';
}

/** The error if the token service is temporarily unavailable, although the credentials may be valid. */
export class TokenUnavailable extends Error {
  override readonly name = 'TokenUnavailable';
  readonly retryAfterMs: number | undefined;

  constructor(why: string, options: { readonly cause?: unknown; readonly retryAfterMs?: number } = {}) {
    super(why, options.cause === undefined ? undefined : { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The parameters of a request for an access token. */
export interface TokenQuestion<T> {
  readonly connect: (origin: string) => Transport;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body of a POST request, or undefined for a GET request. */
  readonly body?: string;
  readonly schema: z.ZodType<T>;
  /**
   * Formats the error message of a failed token request. The error message contains only the cause and the error code,
   * because the response may contain secrets.
   */
  readonly say: (what: string) => string;
  readonly signal: AbortSignal;
  /** Whether a response without a token counts as a permanent refusal, for servers that always send a token. */
  readonly strict?: boolean;
  readonly now: Date;
}

const TOLERATED_SKEW_MS = 240_000;

/** The parameters of a request for which a metadata server responds with a text, such as the name of a role. */
export type TextQuestion = Omit<TokenQuestion<unknown>, 'schema' | 'strict'> & {
  readonly method?: string;
};

interface Answered {
  readonly status: number;
  readonly text: string;
}

/**
 * Requests a token and validates the response. Error messages contain only the error code of the response, because the
 * response may contain a token.
 * @throws TokenRefused, TokenUnavailable, or the reason of the signal
 */
export async function askForToken<T>(question: TokenQuestion<T>): Promise<T> {
  const { schema, say, strict = false } = question;
  const { status, text } = await ask(question);
  const reported = schema.safeParse(json(text));
  if (reported.success) return reported.data;
  const why = say(`the response with status ${status} contains no token`);
  // A metadata server sends no HTML pages. An HTML page comes from another server, such as a proxy.
  throw strict || text.trimStart().startsWith('<') ? new TokenRefused(why) : new TokenUnavailable(why);
}

/**
 * Requests a text from a metadata server and returns the text without white space at the ends.
 * @throws TokenRefused, TokenUnavailable, or the reason of the signal
 */
export async function askForText(question: TextQuestion): Promise<string> {
  const { status, text } = await ask(question);
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.startsWith('<'))
    throw new TokenRefused(question.say(`the response with status ${status} is not a token`));
  return trimmed;
}

async function ask(question: TextQuestion): Promise<Answered> {
  const { connect, url, headers, body, say, signal, now } = question;
  const { method = body === undefined ? 'GET' : 'POST' } = question;
  const { origin, pathname, search } = new URL(url);
  const exchange = async () => {
    const request = { method, path: pathname + search, headers, signal, body };
    const response = await connect(origin)(request);
    return { response, text: await response.text() };
  };
  const { response, text } = await exchange().catch((thrown: unknown) => {
    signal.throwIfAborted();
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new TokenUnavailable(say(`no response: ${why}`), { cause: thrown });
  });
  const { status } = response;
  if (status < 300) return { status, text };
  const form = Object.fromEntries(new URLSearchParams(body ?? ''));
  const why = say(`${status} ${codeOf(withoutSent(text, { headers, form }))}`.trimEnd());
  if (status < 500 && status !== 410 && status !== 429) {
    const clock = clockText('the token service', response.headers.get('date'), now);
    throw new TokenRefused(clock === '' ? why : `${why}; ${clock}`);
  }
  const retryAfterMs = retryAfterOf(response.headers, now);
  throw new TokenUnavailable(why, retryAfterMs === undefined ? {} : { retryAfterMs });
}

function codeOf(text: string): string {
  const code = /"(?:error|status)"\s*:\s*"([\w.-]+)"/.exec(text)?.[1] ?? '';
  const number = /\bAADSTS\d+\b/.exec(text)?.[0];
  return number === undefined ? code : `${code} (${number})`;
}

/** Returns a text about the difference between the clocks of mcm and the token service, or an empty text. */
export function clockText(service: string, date: string | null, now: Date): string {
  const skewMs = now.getTime() - Date.parse(date ?? '');
  if (Number.isNaN(skewMs) || Math.abs(skewMs) <= TOLERATED_SKEW_MS) return '';
  const minutes = Math.round(Math.abs(skewMs) / 60_000);
  const difference = skewMs > 0 ? 'ahead of' : 'behind';
  return `the clock of this controller is ${minutes} min ${difference} ${service}: correct the clock`;
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
