import { joinCauses } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { refusal } from '../../apimachinery/http/refusal.ts';
import type { StatusError } from '../../apimachinery/objects/status.ts';
import type { Access, Authorizer } from '../../apimachinery/users/authorizer.ts';
import { MASTERS, type UserInfo } from '../../apimachinery/users/user.ts';
import { accountOf, nodeOf, type Wanted } from './wanted.ts';

const MANY = 4;
const AUTHENTICATION = 'authentication.k8s.io';

type Part = Pick<Access, 'group' | 'resource' | 'subresource' | 'namespace' | 'name'>;

const part = (group: string, resource: string, name: string, more: Partial<Part> = {}): Part => ({
  group,
  resource,
  subresource: '',
  namespace: '',
  name,
  ...more,
});

export function denial(access: Access, authorize: Authorizer): StatusError | undefined {
  const { allowed, reason } = authorize(access);
  return allowed ? undefined : refusal(access, reason);
}

/** The permission checks for an impersonated user, and whether the rules of constrained impersonation apply. */
export interface Checks {
  readonly requestor: UserInfo;
  readonly verb: string;
  readonly isConstrained: boolean;
  readonly authorize: Authorizer;
  readonly nodeName?: string;
}

const accessOf = ({ requestor, verb }: Checks, asked: Part): Access => ({ ...asked, user: requestor, verb, path: '' });

function userPart(checks: Checks, { name }: Wanted): Part {
  const group = checks.isConstrained ? AUTHENTICATION : '';
  const node = checks.isConstrained ? nodeOf(name) : undefined;
  if (node !== undefined) return part(group, 'nodes', checks.nodeName ?? node);
  const account = accountOf(name);
  if (account === undefined) return part(group, 'users', name);
  return part(group, 'serviceaccounts', account.name, { namespace: account.namespace });
}

function groupsDenial(checks: Checks, groups: readonly string[]): StatusError | undefined {
  const group = checks.isConstrained ? AUTHENTICATION : '';
  const ask = (name: string) => denial(accessOf(checks, part(group, 'groups', name)), checks.authorize);
  if (checks.isConstrained && groups.length > 0) {
    const refuse = (name: string, why: string) => refusal(accessOf(checks, part(group, 'groups', name)), why);
    if (groups.includes('')) return refuse('', 'impersonating the empty string group is not allowed');
    if (groups.includes(MASTERS)) return refuse(MASTERS, 'impersonating the system:masters group is not allowed');
    if (groups.length >= MANY && ask('*') === undefined) return undefined;
  }
  return firstOf(groups, ask);
}

function extraProblem(extra: Wanted['extra']): string | undefined {
  for (const [key, values] of extra) {
    if (key === '') return 'impersonating the empty string key in extra is not allowed';
    const findings = new Findings();
    findings.domainPath('extra.key', key);
    if (findings.causes.length > 0) {
      return `impersonating an invalid key in extra is not allowed: ${joinCauses(findings.causes)}`;
    }
    if (key !== key.toLowerCase()) {
      return `impersonating a non-lowercase key in extra is not allowed: ${JSON.stringify(key)}`;
    }
    if (values.includes('')) return 'impersonating the empty string value in extra is not allowed';
  }
  return undefined;
}

function extraDenial(checks: Checks, extra: Wanted['extra']): StatusError | undefined {
  const ask = ([key, value]: readonly [string, string]) =>
    denial(accessOf(checks, part(AUTHENTICATION, 'userextras', value, { subresource: key })), checks.authorize);
  const pairs = [...extra].flatMap(([key, values]) => values.map((value) => [key, value] as const));
  if (checks.isConstrained && extra.size > 0) {
    const problem = extraProblem(extra);
    if (problem !== undefined) return refusal(accessOf(checks, part(AUTHENTICATION, 'userextras', '')), problem);
    if (Math.max(pairs.length, extra.size) >= MANY && ask(['*', '*']) === undefined) return undefined;
  }
  return firstOf(pairs, ask);
}

function firstOf<T>(list: readonly T[], ask: (one: T) => StatusError | undefined): StatusError | undefined {
  for (const one of list) {
    const refused = ask(one);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

export function partsDenial(checks: Checks, wanted: Wanted): StatusError | undefined {
  const { authorize } = checks;
  return (
    denial(accessOf(checks, userPart(checks, wanted)), authorize) ??
    (wanted.uid === '' ? undefined : denial(accessOf(checks, part(AUTHENTICATION, 'uids', wanted.uid)), authorize)) ??
    groupsDenial(checks, wanted.groups) ??
    extraDenial(checks, wanted.extra)
  );
}
