import { forbidden, notFound } from '../../apimachinery/errors/errors.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { isPlain, look, text } from '../../apimachinery/objects/plain.ts';
import type { Authorizer } from '../../apimachinery/users/authorizer.ts';
import { MASTERS, type UserInfo } from '../../apimachinery/users/user.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../resources/admission.ts';
import type { RbacAuthorizer } from './authorizer.ts';
import { RBAC_GROUP } from './policy.ts';
import { breakDown, isCovered, type PolicyRule } from './rules.ts';

interface Security {
  readonly rbac: RbacAuthorizer;
  readonly authorize: Authorizer;
}

const quoted = (list: readonly string[] = []): string => `[${list.map((item) => JSON.stringify(item)).join(' ')}]`;

/** Formats a rule as Go does: `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`. */
function showRule({
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
  verbs,
}: PolicyRule): string {
  const parts: [string, readonly string[]][] = [
    ['NonResourceURLs', nonResourceURLs],
    ['APIGroups', apiGroups],
    ['Resources', resources],
    ['ResourceNames', resourceNames],
    ['Verbs', verbs],
  ];
  const shown = parts.filter(([, list]) => list.length > 0).map(([name, list]) => `${name}:${quoted(list)}`);
  return `{${shown.join(', ')}}`;
}

/** Merges rules that differ only in their verb. Keeps the order in which the message lists the rules. */
function compact(rules: readonly PolicyRule[]): PolicyRule[] {
  const merged = new Map<string, PolicyRule>();
  for (const { verbs, ...rest } of rules) {
    const key = JSON.stringify(rest);
    const known = merged.get(key);
    merged.set(key, { ...rest, verbs: [...new Set([...(known?.verbs ?? []), ...verbs])] });
  }
  return [...merged.values()].sort((a, b) => (showRule(a) < showRule(b) ? -1 : 1));
}

const isRole = ({ served: { kind } }: AdmissionAttributes): boolean =>
  kind.kind === 'Role' || kind.kind === 'ClusterRole';

/**
 * Returns the permissions that a write of a role or binding would grant, or undefined if the write grants no new
 * permissions.
 */
function granted(attributes: AdmissionAttributes, security: Security): readonly PolicyRule[] | undefined {
  const { object, old, namespace, served } = attributes;
  if (object === undefined) return undefined;
  if (isRole(attributes)) {
    if (old !== undefined && jsonEquals(old['rules'], object['rules']) && sameAggregation(old, object))
      return undefined;
    return (object['rules'] as readonly PolicyRule[] | undefined) ?? [];
  }
  if (
    old !== undefined &&
    jsonEquals(old['roleRef'], object['roleRef']) &&
    jsonEquals(old['subjects'], object['subjects'])
  ) {
    return undefined;
  }
  const roleRef = look(object, 'roleRef');
  const role = { kind: text(roleRef, 'kind'), name: text(roleRef, 'name') };
  const rules = security.rbac.rulesOfRole(role, namespace);
  if (rules === undefined) throw notFound(served.kind, role.name);
  return rules;
}

const sameAggregation = (old: ApiObject, object: ApiObject): boolean =>
  jsonEquals(old['aggregationRule'], object['aggregationRule']);

const EVERYTHING: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

function uncovered(security: Security, user: UserInfo, namespace: string, rules: readonly PolicyRule[]): PolicyRule[] {
  const owned = security.rbac.rulesFor(user, namespace).rules;
  return rules.flatMap((rule) => [...breakDown(rule)]).filter((part) => !isCovered(owned, part));
}

/**
 * Whether the user may write the role or binding despite missing permissions. For roles, the user needs the verb
 * `escalate`. For bindings, the user needs the verb `bind`.
 */
function mayAnyway(attributes: AdmissionAttributes, security: Security): boolean {
  const { object, user, namespace, name } = attributes;
  const about = isRole(attributes)
    ? { verb: 'escalate', kind: attributes.served.kind.kind, name }
    : { verb: 'bind', kind: text(look(object, 'roleRef'), 'kind'), name: text(look(object, 'roleRef'), 'name') };
  const resource = about.kind === 'Role' ? 'roles' : 'clusterroles';
  const { verb } = about;
  return security.authorize({
    user,
    verb,
    path: '',
    group: RBAC_GROUP,
    resource,
    subresource: '',
    namespace,
    name: about.name,
  }).allowed;
}

/**
 * Refuses roles and bindings that grant permissions which the user does not have.
 * @see kubernetes pkg/registry/rbac/*\/policybased
 */
export const escalationCheck = (security: Security): AdmissionPlugin => ({
  name: 'RbacEscalation',
  validate(attributes) {
    const { served, user, namespace, name, operation, object } = attributes;
    if (served.kind.group !== RBAC_GROUP || (operation !== 'CREATE' && operation !== 'UPDATE')) return undefined;
    if (user.groups.includes(MASTERS)) return undefined;
    const rules = granted(attributes, security);
    if (rules === undefined || mayAnyway(attributes, security)) return undefined;
    if (isPlain(object?.['aggregationRule']) && uncovered(security, user, '', EVERYTHING).length > 0) {
      throw forbidden(served.kind, name, 'must have cluster-admin privileges to use the aggregationRule');
    }
    const missing = compact(uncovered(security, user, namespace, rules));
    if (missing.length === 0) return undefined;
    const who = `user ${JSON.stringify(user.name)} (groups=${quoted(user.groups)})`;
    const what = missing.map((rule) => `\n${showRule(rule)}`).join('');
    throw forbidden(served.kind, name, `${who} is attempting to grant RBAC permissions not currently held:${what}`);
  },
});
