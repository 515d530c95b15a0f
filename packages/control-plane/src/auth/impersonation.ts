import { badRequest } from '../registry/errors.ts';
import { labelProblems, subdomainProblems } from '../registry/names.ts';
import type { ServerRequest } from '../server/exchange.ts';
import { refusal } from '../server/refusal.ts';
import type { Access, Authorizer } from './authorizer.ts';
import { AUTHENTICATED, UNAUTHENTICATED, type UserInfo } from './user.ts';

const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;

/** The service account of a user name; undefined for a name that none can have. */
function accountOf(user: string): { namespace: string; name: string } | undefined {
  const [, namespace = '', name = ''] = SERVICE_ACCOUNT.exec(user) ?? [];
  if (namespace === '' || labelProblems(namespace).length > 0 || subdomainProblems(name).length > 0) return undefined;
  return { namespace, name };
}

const NODE_PREFIX = 'system:node:';

interface Wanted {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
}

const quoteList = (list: readonly string[]): string => `{${list.map((item) => JSON.stringify(item)).join(', ')}}`;

/** Go's `%#v` of the user that was asked for. */
function dump({ name, uid, groups, extra }: Wanted): string {
  const shownGroups = groups.length === 0 ? '[]string(nil)' : `[]string${quoteList(groups)}`;
  const entries = [...extra].map(([key, values]) => `${JSON.stringify(key)}:[]string${quoteList(values)}`);
  const shownExtra = entries.length === 0 ? '(nil)' : `{${entries.join(', ')}}`;
  return `&user.DefaultInfo{Name:${JSON.stringify(name)}, UID:${JSON.stringify(uid)}, Groups:${shownGroups}, Extra:map[string][]string${shownExtra}}`;
}

/** A key as it was before it was escaped for its header; one that is not escaped well stays as it is. */
function unescaped(key: string): string {
  try {
    return decodeURIComponent(key).toLowerCase();
  } catch (error) {
    if (error instanceof URIError) return key;
    throw error;
  }
}

function wantedOf(request: ServerRequest): Wanted | undefined {
  const name = request.header('impersonate-user') ?? '';
  const uid = request.header('impersonate-uid') ?? '';
  const groups = (request.header('impersonate-group') ?? '')
    .split(',')
    .map((group) => group.trim())
    .filter((group) => group !== '');
  const extra = new Map<string, string[]>();
  for (const [header, value] of request.headersWith('impersonate-extra-')) {
    extra.set(
      unescaped(header.slice('impersonate-extra-'.length)),
      value.split(',').map((one) => one.trim()),
    );
  }
  if (name === '' && uid === '' && groups.length === 0 && extra.size === 0) return undefined;
  return { name, uid, groups, extra };
}

function groupsOf(name: string, groups: readonly string[]): string[] {
  const account = accountOf(name);
  const own =
    account !== undefined && groups.length === 0
      ? ['system:serviceaccounts', `system:serviceaccounts:${account.namespace}`]
      : [...groups];
  if (name === 'system:anonymous') return own.includes(UNAUTHENTICATED) ? own : [...own, UNAUTHENTICATED];
  return own.includes(AUTHENTICATED) || own.includes(UNAUTHENTICATED) ? own : [...own, AUTHENTICATED];
}

/** One thing that impersonation asks the authorizer for. */
type Part = Pick<Access, 'group' | 'resource' | 'subresource' | 'namespace' | 'name'>;

function partsOf(wanted: Wanted): [Part, ...Part[]] {
  const part = (resource: string, name: string, more: Partial<Part> = {}): Part => ({
    group: '',
    resource,
    subresource: '',
    namespace: '',
    name,
    ...more,
  });
  const group = 'authentication.k8s.io';
  const account = accountOf(wanted.name);
  const extra = [...wanted.extra].flatMap(([key, values]) =>
    values.map((value) => part('userextras', value, { group, subresource: key })),
  );
  return [
    account === undefined
      ? part('users', wanted.name)
      : part('serviceaccounts', account.name, { namespace: account.namespace }),
    ...wanted.groups.map((name) => part('groups', name)),
    ...extra,
    ...(wanted.uid === '' ? [] : [part('uids', wanted.uid, { group })]),
  ];
}

/** The kind of impersonation that a refusal names when the user is not allowed at all. */
function modeOf(wanted: Wanted): string | undefined {
  if (accountOf(wanted.name) !== undefined) return 'serviceaccount';
  if (!wanted.name.startsWith(NODE_PREFIX)) return 'user-info';
  // A node is impersonated by its name alone.
  return wanted.groups.length + wanted.extra.size === 0 && wanted.uid === '' ? 'arbitrary-node' : undefined;
}

function checkAllowed(wanted: Wanted, user: UserInfo, access: Omit<Access, 'user'>, authorize: Authorizer): void {
  const parts = partsOf(wanted);
  const denied = parts.find((part) => !authorize({ ...part, user, verb: 'impersonate', path: '' }).allowed);
  if (denied === undefined) return;
  const mode = denied === parts[0] ? modeOf(wanted) : undefined;
  if (mode !== undefined) throw refusal({ ...access, user, verb: `impersonate-on:${mode}:${access.verb}` }, '');
  throw refusal({ ...denied, user, verb: 'impersonate', path: '' }, '');
}

/**
 * The user of a request that impersonates another, after a check that it may.
 * @throws StatusError 400 for groups without a user, 403 for who may not
 */
export function impersonated(
  request: ServerRequest,
  user: UserInfo,
  access: Omit<Access, 'user'>,
  authorize: Authorizer,
): UserInfo {
  const wanted = wantedOf(request);
  if (wanted === undefined) return user;
  if (wanted.name === '') throw badRequest(`requested ${dump(wanted)} without impersonating a user name`);
  checkAllowed(wanted, user, access, authorize);
  return {
    name: wanted.name,
    ...(wanted.uid === '' ? {} : { uid: wanted.uid }),
    groups: groupsOf(wanted.name, wanted.groups),
    ...(wanted.extra.size === 0 ? {} : { extra: Object.fromEntries(wanted.extra) }),
  };
}
