import { errorText } from '../base/error-text.ts';
import { KubeError, type StatusBody } from '../contract/errors.ts';
import type { TransportResponse } from '../contract/transport.ts';

/** What was asked, for messages: never with its query, headers or body. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  /** Only looked at for what an answer must not repeat. */
  readonly body?: string;
}

const describe = (asked: Asked): string => `${asked.method} ${asked.path.split('?', 1)[0]}`;

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Reads an answer's JSON. The text never gets into the error: it may hold a Secret, and V8's own message quotes it. */
export function parseJson(text: string, asked: Asked): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badAnswer(asked, `(${text.length} characters) is not JSON`);
  }
}

function parseStatus(text: string): StatusBody | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && value.kind === 'Status' ? value : undefined;
  } catch {
    return undefined; // Not a Status: the HTTP code says enough.
  }
}

/** Seconds or an HTTP date, as milliseconds from `now`. */
function retryAfterMs(header: string | null, status: StatusBody | undefined, now: Date): number | undefined {
  const seconds = header === null ? status?.details?.retryAfterSeconds : Number(header);
  if (seconds !== undefined && Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const at = header === null ? Number.NaN : Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now.getTime());
}

const OF_SECRETS = /\/secrets(\/|\?|$)/;
/** Refusals whose words are the authorizer's or the registry's own, and needed to see what is wrong. */
const TELLING: ReadonlySet<number> = new Set([401, 403, 404, 409]);
/** A shorter text is a word, not a secret. */
const SHORTEST_SECRET = 6;

/** Every text in a value, however deep. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** Whether words quote what a Secret was to hold, as it was sent or decoded. */
function quotes(words: string, body: string): boolean {
  const sent: unknown = JSON.parse(body);
  const values = isRecord(sent) && !Array.isArray(sent) ? [sent.data, sent.stringData] : [sent];
  return values
    .flatMap(textsIn)
    .flatMap((text) => [text, Buffer.from(text, 'base64').toString('utf8')])
    .some((text) => text.length >= SHORTEST_SECRET && words.includes(text));
}

/** The Status without its words where they may repeat a Secret that was written: an error is logged and told in events. */
function discreet({ path, body }: Asked, code: number, status: StatusBody | undefined): StatusBody | undefined {
  if (status === undefined || body === undefined || !OF_SECRETS.test(path)) return status;
  if (TELLING.has(code) && !quotes(JSON.stringify(status), body)) return status;
  const message = `HTTP ${code} ${status.reason ?? ''} (the words are left out: they may quote the Secret)`;
  return { message, code, ...(status.reason === undefined ? {} : { reason: status.reason }) };
}

/**
 * The error for an answer of 400 and above: the Status's words, or the HTTP code where a proxy answered. What is said of a
 * Secret that was written is left out.
 */
export function refusal(asked: Asked, response: TransportResponse, text: string, now: Date): KubeError {
  const status = discreet(asked, response.status, parseStatus(text));
  const wait = retryAfterMs(response.headers.get('retry-after'), status, now);
  return new KubeError(`${describe(asked)}: ${status?.message ?? `HTTP ${response.status}`}`, {
    code: response.status,
    ...(status?.reason === undefined ? {} : { reason: status.reason }),
    ...(status === undefined ? {} : { status }),
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
  });
}

/** The error for an `ERROR` event of a watch, whose object is a Status. */
export function watchRefusal(asked: Asked, status: StatusBody): KubeError {
  return new KubeError(`${describe(asked)}: ${status.message ?? 'the server ended the watch with an error'}`, {
    code: status.code ?? 500,
    status,
    ...(status.reason === undefined ? {} : { reason: status.reason }),
  });
}

/** Why a request is given up: nothing came in time. */
export const tooLate = (limitMs: number): Error =>
  Object.assign(new Error(`nothing came within ${limitMs} ms`), { code: 'ETIMEDOUT' });

/** The error for an answer that is none of an API server. @param what of the answer: `is not JSON` */
export const badAnswer = (asked: Asked, what: string): KubeError =>
  new KubeError(`${describe(asked)}: the answer ${what}`, { code: 0, reason: 'BadAnswer' });

/** The error for a request that got no answer. */
export function noAnswer(asked: Asked, cause: unknown): KubeError {
  return new KubeError(`${describe(asked)}: no answer: ${errorText(cause)}`, { code: 0, reason: 'NoAnswer', cause });
}
