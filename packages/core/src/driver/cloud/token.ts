import type { Transport } from '@mcm/kube';
import type { z } from 'zod';
import { retryAfterOf } from '../contract/retry-after.ts';
import { withoutSent } from '../secrets/redact.ts';

/** The token service refuses these credentials. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused';
}

/** The token service is not available now. This says nothing about the credentials. */
export class TokenUnavailable extends Error {
  override readonly name = 'TokenUnavailable';
  readonly retryAfterMs: number | undefined;

  constructor(why: string, options: { readonly cause?: unknown; readonly retryAfterMs?: number } = {}) {
    super(why, options.cause === undefined ? undefined : { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** A request for a token. */
export interface TokenQuestion<T> {
  readonly connect: (origin: string) => Transport;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A form or JSON, which is sent by POST; absent: the request is a GET. */
  readonly body?: string;
  /** Schema of an answer with a token. */
  readonly schema: z.ZodType<T>;
  /**
   * Text of a failure. Its argument contains the cause and the code of a refusal, and nothing else of the request or
   * answer.
   */
  readonly say: (what: string) => string;
  readonly signal: AbortSignal;
  /**
   * Whether an answer without a token is a refusal. A metadata server always answers completely, so another server
   * answered.
   */
  readonly strict?: boolean;
  /** Reference time for a date in `Retry-After`. */
  readonly now: Date;
}

/** The clock difference that token services tolerate. */
const TOLERATED_SKEW_MS = 240_000;

/** A request for a text, such as the name of a role, to a metadata server. */
export type TextQuestion = Omit<TokenQuestion<unknown>, 'schema' | 'strict'> & {
  /** Default GET, or POST with a body. */
  readonly method?: string;
};

/** An answer with a status below 300. */
interface Answered {
  readonly status: number;
  readonly text: string;
}

/**
 * Sends the request and verifies the answer. Errors contain only the code of a refusal, because the answer may contain
 * a token or the request.
 * @throws TokenRefused, TokenUnavailable, or the signal's reason
 */
export async function askForToken<T>(question: TokenQuestion<T>): Promise<T> {
  const { schema, say, strict = false } = question;
  const { status, text } = await ask(question);
  const reported = schema.safeParse(json(text));
  if (reported.success) return reported.data;
  const why = say(`${status}, and an answer without a token`);
  // A page comes from another server, such as a proxy.
  throw strict || text.trimStart().startsWith('<') ? new TokenRefused(why) : new TokenUnavailable(why);
}

/**
 * The same for a text. An empty text, or an HTML page, comes from another server.
 * @throws TokenRefused, TokenUnavailable, or the signal's reason
 */
export async function askForText(question: TextQuestion): Promise<string> {
  const { status, text } = await ask(question);
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.startsWith('<'))
    throw new TokenRefused(question.say(`${status}, and an answer that is not a token`));
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
    throw new TokenUnavailable(say(`no answer: ${why}`), { cause: thrown });
  });
  const { status } = response;
  if (status < 300) return { status, text };
  const form = Object.fromEntries(new URLSearchParams(body ?? ''));
  const why = say(`${status} ${codeOf(withoutSent(text, { headers, form }))}`.trimEnd());
  if (status < 500 && status !== 410 && status !== 429)
    throw new TokenRefused(why + clockText('the token service', response.headers.get('date'), now));
  const retryAfterMs = retryAfterOf(response.headers, now);
  throw new TokenUnavailable(why, retryAfterMs === undefined ? {} : { retryAfterMs });
}

/** The code of a refusal, with the number in Microsoft's documentation. */
function codeOf(text: string): string {
  const code = /"(?:error|status)"\s*:\s*"([\w.-]+)"/.exec(text)?.[1] ?? '';
  const number = /\bAADSTS\d+\b/.exec(text)?.[0];
  return number === undefined ? code : `${code} (${number})`;
}

/**
 * The likely cause of a refusal, if the clock of this process differs from that of the service; otherwise empty.
 * @param service Its name in the text
 * @param date Header `Date` of its answer
 */
export function clockText(service: string, date: string | null, now: Date): string {
  const skewMs = now.getTime() - Date.parse(date ?? '');
  if (Number.isNaN(skewMs) || Math.abs(skewMs) <= TOLERATED_SKEW_MS) return '';
  const minutes = Math.round(Math.abs(skewMs) / 60_000);
  const how = skewMs > 0 ? 'ahead of' : 'behind';
  return `; the clock of this controller is ${minutes} min ${how} ${service}: correct the clock`;
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // no schema takes it
  }
}
