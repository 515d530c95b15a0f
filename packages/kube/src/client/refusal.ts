import { errorText } from '../base/error-text.ts';
import { KubeError, type StatusBody } from '../contract/errors.ts';
import { isRecord } from '../contract/json-values.ts';
import type { TransportResponse } from '../contract/transport.ts';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: string | undefined;
}

const describe = (asked: Asked): string => `${asked.method} ${asked.path.split('?', 1)[0]}`;

/** The JSON error of V8 would contain the text, which may be a Secret, so this function throws another error. */
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
    return undefined;
  }
}

function retryAfterMs(header: string | null, status: StatusBody | undefined, now: Date): number | undefined {
  const seconds = header === null ? status?.details?.retryAfterSeconds : Number(header);
  if (seconds !== undefined && Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const at = header === null ? Number.NaN : Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now.getTime());
}

const OF_SECRETS = /\/secrets(\/|\?|$)/;
/** The HTTP codes for which the message of the API server helps users to find the cause. */
const TELLING: ReadonlySet<number> = new Set([401, 403, 404, 409]);
/** The client does not search messages for shorter values of a Secret, because many short values are common words. */
const SHORTEST_SECRET = 6;

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

function quotes(words: string, body: string): boolean {
  const sent: unknown = JSON.parse(body);
  const values = isRecord(sent) && !Array.isArray(sent) ? [sent.data, sent.stringData] : [sent];
  return values
    .flatMap(textsIn)
    .flatMap((text) => [text, Buffer.from(text, 'base64').toString('utf8')])
    .some((text) => text.length >= SHORTEST_SECRET && words.includes(text));
}

function discreet({ path, body }: Asked, code: number, status: StatusBody | undefined): StatusBody | undefined {
  if (status === undefined || body === undefined || !OF_SECRETS.test(path)) return status;
  if (TELLING.has(code) && !quotes(JSON.stringify(status), body)) return status;
  const message = `HTTP ${code} ${status.reason ?? ''} (message omitted, because the message may contain the Secret)`;
  return { message, code, reason: status.reason };
}

/** The error contains the message of the Status, without Secrets of the request. */
export function refusal(asked: Asked, response: TransportResponse, text: string, now: Date): KubeError {
  const status = discreet(asked, response.status, parseStatus(text));
  const wait = retryAfterMs(response.headers.get('retry-after'), status, now);
  return new KubeError(`${describe(asked)}: ${status?.message ?? `HTTP ${response.status}`}`, {
    code: response.status,
    reason: status?.reason,
    status,
    retryAfterMs: wait,
  });
}

export function watchRefusal(asked: Asked, status: StatusBody): KubeError {
  return new KubeError(`${describe(asked)}: ${status.message ?? 'the server ended the watch with an error'}`, {
    code: status.code ?? 500,
    status,
    reason: status.reason,
  });
}

export const tooLate = (limitMs: number): Error =>
  Object.assign(new Error(`no response within ${limitMs} ms`), { code: 'ETIMEDOUT' });

export const badAnswer = (asked: Asked, what: string): KubeError =>
  new KubeError(`${describe(asked)}: the answer ${what}`, { code: 0, reason: 'BadAnswer' });

export function noAnswer(asked: Asked, cause: unknown): KubeError {
  return new KubeError(`${describe(asked)}: no response: ${errorText(cause)}`, { code: 0, reason: 'NoAnswer', cause });
}
