import type { ServerRequest } from '../../apimachinery/http/exchange.ts';
import { refusal } from '../../apimachinery/http/refusal.ts';
import { defined } from '../../apimachinery/objects/plain.ts';
import type { StatusError } from '../../apimachinery/objects/status.ts';
import type { Access, Authorizer } from '../../apimachinery/users/authorizer.ts';
import { AUTHENTICATED, anonymous, NODES, UNAUTHENTICATED, type UserInfo } from '../../apimachinery/users/user.ts';
import { denial, partsDenial } from './check.ts';
import { accountOf, isNameAlone, nodeOf, type Wanted, wantedOf } from './wanted.ts';

const REMEMBERED = 10_000;
const NODE_NAME = 'authentication.kubernetes.io/node-name';

/**
 * The mode `legacy` needs only the permission for the verb `impersonate`. Each other mode limits the impersonated users
 * and the verbs.
 */
type Mode = 'associated-node' | 'arbitrary-node' | 'serviceaccount' | 'user-info' | 'legacy';
const MODES: readonly Mode[] = ['associated-node', 'arbitrary-node', 'serviceaccount', 'user-info', 'legacy'];

function isFor(mode: Mode, wanted: Wanted, requestor: UserInfo): boolean {
  const node = nodeOf(wanted.name);
  switch (mode) {
    case 'associated-node': {
      const own = requestor.extra?.[NODE_NAME] ?? [];
      const isItsOwn = own.length === 1 && own[0] === node;
      return isNameAlone(wanted) && node !== undefined && isItsOwn && accountOf(requestor.name) !== undefined;
    }
    case 'arbitrary-node':
      return isNameAlone(wanted) && node !== undefined;
    case 'serviceaccount':
      return isNameAlone(wanted) && accountOf(wanted.name) !== undefined;
    case 'user-info':
      return node === undefined && accountOf(wanted.name) === undefined;
    case 'legacy':
      return true;
  }
}

function denialOf(mode: Mode, wanted: Wanted, access: Access, authorize: Authorizer): StatusError | undefined {
  const requestor = access.user;
  if (mode === 'legacy') {
    return partsDenial({ requestor, verb: 'impersonate', isConstrained: false, authorize }, wanted);
  }
  const checks = { requestor, verb: `impersonate:${mode}`, isConstrained: true, authorize };
  return (
    denial({ ...access, verb: `impersonate-on:${mode}:${access.verb}` }, authorize) ??
    // The permission for the mode `associated-node` applies to every node, so the check uses the node name `*`.
    partsDenial(mode === 'associated-node' ? { ...checks, nodeName: '*' } : checks, wanted)
  );
}

function ownGroups(mode: Mode, { name, groups }: Wanted): string[] {
  if (mode !== 'legacy' && nodeOf(name) !== undefined) return [NODES];
  const account = accountOf(name);
  if (account === undefined || groups.length > 0) return [...groups];
  return ['system:serviceaccounts', `system:serviceaccounts:${account.namespace}`];
}

function groupsOf(mode: Mode, wanted: Wanted): string[] {
  const own = ownGroups(mode, wanted);
  const isUnknown = own.includes(UNAUTHENTICATED);
  if (wanted.name === anonymous.name) return isUnknown ? own : [...own, UNAUTHENTICATED];
  return isUnknown || own.includes(AUTHENTICATED) ? own : [...own, AUTHENTICATED];
}

/** @throws StatusError */
export type Impersonate = (request: ServerRequest, user: UserInfo, access: Omit<Access, 'user'>) => UserInfo;

/**
 * In a constrained mode, a client needs one permission to impersonate the user, and one permission for the verb of the
 * request. For each client, the cache contains the mode that allowed the last request.
 * @see https://kep.k8s.io/5284.
 * @throws StatusError The returned function throws 400 for groups without a user, and 403 without permission.
 */
export function impersonation(authorize: Authorizer): Impersonate {
  const last = new Map<string, Mode>();
  const remember = (name: string, mode: Mode): void => {
    last.delete(name);
    last.set(name, mode);
    for (const oldest of last.keys()) {
      if (last.size <= REMEMBERED) break;
      last.delete(oldest);
    }
  };
  return (request, user, given) => {
    const wanted = wantedOf(request);
    if (wanted === undefined) return user;
    const access: Access = { ...given, user };
    const before = last.get(user.name);
    const order = before === undefined ? MODES : [before, ...MODES.filter((mode) => mode !== before)];
    let first: StatusError | undefined;
    for (const mode of order) {
      if (!isFor(mode, wanted, user)) continue;
      const refused = denialOf(mode, wanted, access, authorize);
      if (refused === undefined) {
        remember(user.name, mode);
        return defined({
          name: wanted.name,
          uid: wanted.uid || undefined,
          groups: groupsOf(mode, wanted),
          extra: wanted.extra.size === 0 ? undefined : Object.fromEntries(wanted.extra),
        });
      }
      first ??= refused;
    }
    throw first ?? refusal(access, '');
  };
}
