import type { Transport, TransportResponse } from '@mcm/kube';
import { z } from 'zod';

const reply = z.looseObject({
  status: z.number().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.unknown().optional(),
  text: z.string().optional(),
  network: z.string().optional(),
  times: z.number().optional(),
});

/** The rules of a scripted REST cloud for its responses, in the format of the recordings. */
export const scriptedRules = z.array(
  z.looseObject({
    method: z.string(),
    path: z.string(),
    query: z.record(z.string(), z.string().nullable()).optional(),
    replies: z.array(reply),
  }),
);
type Rule = z.infer<typeof scriptedRules>[number];

export interface ScriptedRequest {
  readonly host: string;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: string;
  readonly authorization: string | undefined;
}

const NOT_FOUND = {
  error: { code: 404, message: 'not found', errors: [{ reason: 'notFound', message: 'not found' }] },
};

/** Returns true if a path matches a pattern, in which `*` matches any text without a slash. */
const fitsPath = (pattern: string, { host, path }: ScriptedRequest): boolean =>
  new RegExp(`^${pattern.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^/]*')}$`).test(
    pattern.startsWith('//') ? `//${host}${path}` : path,
  );

const fitsQuery = (wanted: Rule['query'], { query }: ScriptedRequest): boolean =>
  Object.entries(wanted ?? {}).every(([key, value]) => (query[key] ?? null) === value);

/** Returns the first response of a recorded cloud to a request. */
export function firstReply(
  rules: unknown,
  {
    method,
    path,
    query = {},
    host = '',
  }: {
    readonly method: string;
    readonly path: string;
    readonly query?: Rule['query'];
    readonly host?: string | undefined;
  },
): z.infer<typeof reply> | undefined {
  const known = Object.entries(query).flatMap(([key, value]) => (value === null ? [] : [[key, value]]));
  const request = { host, method, path, query: Object.fromEntries(known), body: '', authorization: undefined };
  return scriptedRules.parse(rules ?? []).find((rule) => fits(rule, request))?.replies[0];
}

const fits = (rule: Rule, request: ScriptedRequest): boolean =>
  rule.method === request.method && fitsPath(rule.path, request) && fitsQuery(rule.query, request);

export class ScriptedCloud {
  readonly seen: ScriptedRequest[] = [];
  readonly #rules: readonly Rule[];
  readonly #used = new Map<Rule, number>();

  readonly #notFound: object;

  constructor(rules: unknown, notFound: object = NOT_FOUND) {
    this.#notFound = notFound;
    this.#rules = scriptedRules.parse(rules ?? []);
  }

  readonly connect = (origin: string): Transport => {
    const { host } = new URL(origin);
    return async ({ method, path: whole, headers, body = '' }) => {
      const [path = '', search = ''] = whole.split('?');
      const query = Object.fromEntries(new URLSearchParams(search));
      const request = { host, method, path, query, body, authorization: headers.authorization };
      this.seen.push(request);
      return answer(this.#replyTo(request));
    };
  };

  #replyTo(request: ScriptedRequest): z.infer<typeof reply> {
    const rule = this.#rules.find((each) => fits(each, request));
    const none = { status: 404, body: request.method === 'HEAD' ? undefined : this.#notFound };
    if (!rule) return none;
    const used = this.#used.get(rule) ?? 0;
    this.#used.set(rule, used + 1);
    let before = 0;
    for (const each of rule.replies) {
      before += each.times ?? 1;
      if (used < before) return each;
    }
    return rule.replies.at(-1) ?? none;
  }
}

function answer({ status = 200, headers = {}, body, text, network }: z.infer<typeof reply>): TransportResponse {
  if (network !== undefined) throw new Error(network);
  const reported = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    status,
    headers: { get: (name) => reported.get(name.toLowerCase()) ?? null },
    text: async () => text ?? (body === undefined ? '' : JSON.stringify(body)),
    body: null,
  };
}
