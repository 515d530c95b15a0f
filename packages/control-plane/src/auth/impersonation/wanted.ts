import { badRequest } from '../../apimachinery/errors/errors.ts';
import { labelProblems, subdomainProblems } from '../../apimachinery/errors/names.ts';
import type { ServerRequest } from '../../apimachinery/http/exchange.ts';

const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;
const NODE_PREFIX = 'system:node:';

export function accountOf(user: string): { namespace: string; name: string } | undefined {
  const [, namespace = '', name = ''] = SERVICE_ACCOUNT.exec(user) ?? [];
  if (namespace === '' || labelProblems(namespace).length > 0 || subdomainProblems(name).length > 0) return undefined;
  return { namespace, name };
}

export function nodeOf(user: string): string | undefined {
  if (!user.startsWith(NODE_PREFIX)) return undefined;
  const name = user.slice(NODE_PREFIX.length);
  return name === '' || subdomainProblems(name).length > 0 ? undefined : name;
}

export interface Wanted {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
}

/** Returns whether a request impersonates only a user name, without groups, UID and extras. */
export const isNameAlone = ({ uid, groups, extra }: Wanted): boolean =>
  uid === '' && groups.length === 0 && extra.size === 0;

const quoteList = (list: readonly string[]): string => `{${list.map((item) => JSON.stringify(item)).join(', ')}}`;

/** Formats the impersonated user like `%#v` in Go. */
function dump({ name, uid, groups, extra }: Wanted): string {
  const shownGroups = groups.length === 0 ? '[]string(nil)' : `[]string${quoteList(groups)}`;
  const entries = [...extra].map(([key, values]) => `${JSON.stringify(key)}:[]string${quoteList(values)}`);
  const shownExtra = entries.length === 0 ? '(nil)' : `{${entries.join(', ')}}`;
  return `&user.DefaultInfo{Name:${JSON.stringify(name)}, UID:${JSON.stringify(uid)}, Groups:${shownGroups}, Extra:map[string][]string${shownExtra}}`;
}

/** Decodes the key of an extra field. */
function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch (error) {
    if (error instanceof URIError) return key;
    throw error;
  }
}

const EXTRA = 'impersonate-extra-';

/**
 * Returns the user from the impersonation headers, or undefined without such headers. A repeated header has one value
 * for each occurrence. An empty header for groups or extras counts as a value.
 * @throws StatusError 400 if the headers contain groups, a UID or extras without a user name
 */
export function wantedOf(request: ServerRequest): Wanted | undefined {
  const first = (name: string): string => request.headerValues(name)[0] ?? '';
  const extra = new Map<string, readonly string[]>();
  for (const header of request.headerNames(EXTRA)) {
    const key = unescaped(header.slice(EXTRA.length).toLowerCase());
    extra.set(key, [...(extra.get(key) ?? []), ...request.headerValues(header)]);
  }
  const wanted: Wanted = {
    name: first('impersonate-user'),
    uid: first('impersonate-uid'),
    groups: request.headerValues('impersonate-group'),
    extra,
  };
  if (wanted.name !== '') return wanted;
  if (isNameAlone(wanted)) return undefined;
  throw badRequest(`requested ${dump(wanted)} without impersonating a user name`);
}
