import type { Context } from 'hono';
import { z } from 'zod';
import { durationMs } from '../../machine/behaviour.ts';
import { CloudError } from '../context/errors.ts';

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_PAGE = 1_000;
const MAX_WAIT_MS = 60_000;

/**
 * Reads and validates the body of a request.
 * @throws {CloudError} MalformedRequest, RequestTooLarge, or InvalidParameter with the name of the field
 */
export async function readBody<T>(context: Context, schema: z.ZodType<T>): Promise<T> {
  if (Number(context.req.header('content-length') ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  const text = await context.req.text();
  if (text.length > MAX_BODY_BYTES) throw tooLarge();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw new CloudError('MalformedRequest', `The body must be JSON: ${error instanceof Error ? error.message : ''}`);
  }
  return check(schema, body);
}

const tooLarge = (): CloudError => new CloudError('RequestTooLarge', `The body has more than ${MAX_BODY_BYTES} bytes.`);

/**
 * Validates a value of a request.
 * @throws {CloudError} InvalidParameter with the name of each invalid field
 */
function check<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
  throw new CloudError('InvalidParameter', problems.join('; '));
}

/** Returns one page of `items` for the query `?limit=…&pageToken=…`, with the token of the next page. */
export function page<T extends { readonly id: string }>(
  context: Context,
  items: readonly T[],
): { readonly items: readonly T[]; readonly nextPageToken?: string | undefined } {
  const limit = check(z.coerce.number().int().min(1).max(MAX_PAGE), context.req.query('limit') ?? MAX_PAGE);
  const after = decodeToken(context.req.query('pageToken'));
  const sorted = items.filter(({ id }) => id > after).sort((a, b) => (a.id < b.id ? -1 : 1));
  const last = sorted.length > limit ? sorted[limit - 1] : undefined;
  return {
    items: sorted.slice(0, limit),
    nextPageToken: last === undefined ? undefined : Buffer.from(last.id).toString('base64url'),
  };
}

function decodeToken(token: string | undefined): string {
  if (token === undefined || token === '') return '';
  const id = Buffer.from(token, 'base64url').toString();
  if (!/^[a-z]+-[0-9a-f]+$/.test(id))
    throw new CloudError('InvalidParameter', 'pageToken: is invalid; use a token of this API.');
  return id;
}

/** Returns the filter for the query `?tag.<key>=<value>`. */
export function tagFilter(context: Context): (object: { readonly tags: Readonly<Record<string, string>> }) => boolean {
  const wanted = Object.entries(context.req.query()).flatMap(([name, value]) =>
    name.startsWith('tag.') ? [[name.slice('tag.'.length), value] as const] : [],
  );
  return ({ tags }) =>
    wanted.every(([key, value]) => Object.hasOwn(tags, key) && (value === '' || tags[key] === value));
}

/** Returns the state and the timeout of a long poll, from the query `?wait=<state>&timeout=<duration>`. */
export function waitFor<S extends string>(
  context: Context,
  states: readonly [S, ...S[]],
): { readonly state: S; readonly timeoutMs: number } | undefined {
  const wait = context.req.query('wait');
  if (wait === undefined) return undefined;
  const state = check(z.object({ wait: z.enum(states) }), { wait }).wait as S;
  const { timeout } = check(z.object({ timeout: durationMs }), { timeout: context.req.query('timeout') ?? '30s' });
  return { state, timeoutMs: Math.min(timeout, MAX_WAIT_MS) };
}

export const tagsSchema = z.record(z.string().min(1).max(256), z.string().max(256));
export const tagChanges = z.strictObject({
  tags: z.record(z.string().min(1).max(256), z.string().max(256).nullable()),
});
