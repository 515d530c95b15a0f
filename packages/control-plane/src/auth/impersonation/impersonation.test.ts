import { describe, expect, test } from 'vitest';
import type { ServerRequest } from '../../apimachinery/http/exchange.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import type { Access } from '../../apimachinery/users/authorizer.ts';
import type { UserInfo } from '../../apimachinery/users/user.ts';
import { impersonation } from './index.ts';

const LIST: Omit<Access, 'user'> = {
  verb: 'list',
  path: '',
  group: '',
  resource: 'pods',
  subresource: '',
  namespace: 'n',
  name: '',
};

const request = (headers: Readonly<Record<string, readonly string[]>>): ServerRequest => ({
  method: 'GET',
  path: '/',
  query: new URLSearchParams(),
  header: (name) => headers[name]?.join(', '),
  headerValues: (name) => headers[name] ?? [],
  headerNames: (prefix) => Object.keys(headers).filter((name) => name.startsWith(prefix)),
  body: () => Promise.resolve(new Uint8Array()),
  signal: new AbortController().signal,
  trusted: false,
});

const BOT: UserInfo = { name: 'bot', groups: [] };
const AGENT: UserInfo = {
  name: 'system:serviceaccount:n:agent',
  groups: [],
  extra: { 'authentication.kubernetes.io/node-name': ['n1'] },
};

const words = ({ verb, resource, subresource, group, name }: Access): string =>
  `${verb} ${resource}${subresource === '' ? '' : `/${subresource}`}${group === '' ? '' : '.auth'} ${name}`.trim();

function who(...allowed: string[]) {
  const asked: string[] = [];
  const impersonate = impersonation((access) => {
    asked.push(words(access));
    return { allowed: allowed.includes(words(access)), reason: '' };
  });
  const be = (headers: Readonly<Record<string, readonly string[]>>, user = BOT): UserInfo | string => {
    try {
      return impersonate(request(headers), user, LIST);
    } catch (error) {
      if (error instanceof StatusError) return error.message;
      throw error;
    }
  };
  return { be, asked };
}

const as = (name: string, more: Readonly<Record<string, readonly string[]>> = {}) => ({
  'impersonate-user': [name],
  ...more,
});
const groups = (...names: string[]) => ({ 'impersonate-group': names });

describe('a constrained mode needs a verb for the user and one for the request', () => {
  test('a user', () => {
    const { be } = who('impersonate-on:user-info:list pods', 'impersonate:user-info users.auth alice');
    expect(be(as('alice'))).toEqual({ name: 'alice', groups: ['system:authenticated'] });
    expect(be(as('bob'))).toContain(
      'cannot impersonate:user-info resource "users" in API group "authentication.k8s.io"',
    );
  });

  test('one verb of a constrained mode without the other is not sufficient', () => {
    expect(who('impersonate:user-info users.auth alice').be(as('alice'))).toContain(
      'cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "n"',
    );
  });

  test('a service account gets its groups', () => {
    const { be } = who('impersonate-on:serviceaccount:list pods', 'impersonate:serviceaccount serviceaccounts.auth x');
    expect(be(as('system:serviceaccount:n:x'))).toEqual({
      name: 'system:serviceaccount:n:x',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:n', 'system:authenticated'],
    });
  });

  test('a node gets the group of nodes, and cannot have other groups', () => {
    const { be } = who('impersonate-on:arbitrary-node:list pods', 'impersonate:arbitrary-node nodes.auth n2');
    expect(be(as('system:node:n2'))).toMatchObject({ groups: ['system:nodes', 'system:authenticated'] });
    expect(be(as('system:node:n2', groups('g')))).toContain('cannot impersonate resource "users"');
  });

  test('the associated node of a service account is checked with the name *, and only this node is allowed', () => {
    const { be } = who('impersonate-on:associated-node:list pods', 'impersonate:associated-node nodes.auth *');
    expect(be(as('system:node:n1'), AGENT)).toMatchObject({ name: 'system:node:n1' });
    expect(be(as('system:node:n2'), AGENT)).toContain('cannot impersonate-on:arbitrary-node:list');
    expect(be(as('system:node:n1'), BOT)).toContain('cannot impersonate-on:arbitrary-node:list');
  });

  test.each([
    [groups('system:masters'), 'impersonating the system:masters group is not allowed'],
    [groups(''), 'impersonating the empty string group is not allowed'],
    [{ 'impersonate-extra-scopes': ['x'] }, 'extra.key: Invalid value: "scopes": must be a domain-prefixed path'],
    [{ 'impersonate-extra-a.dev%2fb': [''] }, 'impersonating the empty string value in extra is not allowed'],
  ])('%j is refused with any permissions', (more, why) => {
    const { be } = who(
      'impersonate-on:user-info:list pods',
      'impersonate:user-info users.auth alice',
      'impersonate:user-info groups.auth system:masters',
      'impersonate:user-info groups.auth',
    );
    expect(be(as('alice', more))).toContain(why);
  });

  test('one permission can allow many groups', () => {
    const may = ['impersonate-on:user-info:list pods', 'impersonate:user-info users.auth alice'];
    const { be } = who(...may, 'impersonate:user-info groups.auth *');
    expect(be(as('alice', groups('a', 'b', 'c', 'd')))).toMatchObject({ name: 'alice' });
    expect(be(as('alice', groups('a', 'b', 'c')))).toContain('groups.authentication.k8s.io "a" is forbidden');
  });
});

describe('the verb impersonate', () => {
  test('the verb impersonate allows everything that it names, under the names of the core group', () => {
    const { be } = who('impersonate users alice', 'impersonate groups system:masters', 'impersonate groups');
    expect(be(as('alice', groups('system:masters', '')))).toMatchObject({
      groups: ['system:masters', '', 'system:authenticated'],
    });
  });

  test('the refusal names the mode that the user used last, or else the first constrained mode', () => {
    const { be, asked } = who('impersonate users alice');
    expect(be(as('bob'))).toContain('cannot impersonate-on:user-info:list');
    expect(be(as('alice'))).toMatchObject({ name: 'alice' });
    asked.length = 0;
    expect(be(as('alice'))).toMatchObject({ name: 'alice' });
    expect(asked).toEqual(['impersonate users alice']);
    expect(be(as('bob'))).toContain('users "bob" is forbidden: User "bot" cannot impersonate resource "users"');
  });
});

test('each header is one value, also with a comma; an empty one without a user is refused', () => {
  const { be } = who('impersonate users alice', 'impersonate groups a, b');
  expect(be(as('alice', groups('a, b')))).toMatchObject({ groups: ['a, b', 'system:authenticated'] });
  expect(be(groups(''))).toContain('without impersonating a user name');
});
