import { badRequest } from '../registry/errors.ts';
import type { ServerRequest } from '../server/exchange.ts';
import { refusal } from '../server/refusal.ts';
import type { Access, Authorizer } from './authorizer.ts';
import { AUTHENTICATED, UNAUTHENTICATED, type UserInfo } from './user.ts';

const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;

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
      decodeURIComponent(header.slice('impersonate-extra-'.length)),
      value.split(',').map((one) => one.trim()),
    );
  }
  if (name === '' && uid === '' && groups.length === 0 && extra.size === 0) return undefined;
  return { name, uid, groups, extra };
}

function groupsOf(name: string, groups: readonly string[]): string[] {
  const account = SERVICE_ACCOUNT.exec(name);
  const own =
    account !== null && groups.length === 0
      ? ['system:serviceaccounts', `system:serviceaccounts:${account[1]}`]
      : [...groups];
  if (name === 'system:anonymous') return own.includes(UNAUTHENTICATED) ? own : [...own, UNAUTHENTICATED];
  return own.includes(AUTHENTICATED) || own.includes(UNAUTHENTICATED) ? own : [...own, AUTHENTICATED];
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
  const ask = (resource: string, name: string, namespace = '', subresource = '', group = ''): boolean =>
    authorize({
      user,
      verb: 'impersonate',
      path: '',
      group,
      resource,
      subresource,
      namespace,
      name,
    }).allowed;
  const account = SERVICE_ACCOUNT.exec(wanted.name);
  const allowed =
    (account === null ? ask('users', wanted.name) : ask('serviceaccounts', account[2] ?? '', account[1] ?? '')) &&
    wanted.groups.every((group) => ask('groups', group)) &&
    [...wanted.extra].every(([key, values]) =>
      values.every((value) => ask('userextras', value, '', key, 'authentication.k8s.io')),
    ) &&
    (wanted.uid === '' || ask('uids', wanted.uid, '', '', 'authentication.k8s.io'));
  if (!allowed) {
    const what = account === null ? 'user-info' : 'serviceaccount';
    throw refusal({ ...access, user, verb: `impersonate-on:${what}:${access.verb}` }, '');
  }
  return {
    name: wanted.name,
    ...(wanted.uid === '' ? {} : { uid: wanted.uid }),
    groups: groupsOf(wanted.name, wanted.groups),
    ...(wanted.extra.size === 0 ? {} : { extra: Object.fromEntries(wanted.extra) }),
  };
}
