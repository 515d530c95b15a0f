import { badRequest, forbidden, notFound } from '../../apimachinery/errors/errors.ts';
import { goQuote } from '../../apimachinery/errors/schema-causes.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, look, text } from '../../apimachinery/objects/plain.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import type { Authorizer } from '../../apimachinery/users/authorizer.ts';
import { MASTERS } from '../../apimachinery/users/user.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../resources/admission.ts';
import { joinErrors, type RbacAuthorizer } from './authorizer.ts';
import { RBAC_GROUP } from './policy.ts';
import { breakDown, isCovered, type PolicyRule } from './rules.ts';

interface Security {
  readonly rbac: RbacAuthorizer;
  readonly authorize: Authorizer;
}

const quoted = (list: readonly string[] = []): string => `[${list.map(goQuote).join(' ')}]`;

/** Formats a rule as Go does: `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`. */
function showRule({
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
  verbs,
}: PolicyRule): string {
  const parts: [string, readonly string[]][] = [
    ['APIGroups', apiGroups],
    ['Resources', resources],
    ['NonResourceURLs', nonResourceURLs],
    ['ResourceNames', resourceNames],
    ['Verbs', verbs],
  ];
  const shown = parts.filter(([, list]) => list.length > 0).map(([name, list]) => `${name}:${quoted(list)}`);
  return `{${shown.join(', ')}}`;
}

/** Returns the rules as sorted texts. */
function describeRules(rules: readonly PolicyRule[]): string[] {
  const merged = new Map<string, PolicyRule>();
  const others: PolicyRule[] = [];
  for (const rule of rules) {
    const { verbs, ...rest } = rule;
    const key = JSON.stringify(rest);
    if (rule.nonResourceURLs !== undefined) others.push(rule);
    else merged.set(key, { ...rest, verbs: [...(merged.get(key)?.verbs ?? []), ...verbs] });
  }
  return [...new Set([...merged.values(), ...others].map(showRule))].sort();
}

const isRole = ({ served: { kind } }: AdmissionAttributes): boolean =>
  kind.kind === 'Role' || kind.kind === 'ClusterRole';

function granted({ object, namespace, served }: AdmissionAttributes, security: Security): readonly PolicyRule[] {
  if (served.kind.kind === 'Role' || served.kind.kind === 'ClusterRole') {
    // The role is not validated yet, so a rule may have no verbs.
    const rules = (object?.['rules'] as readonly Partial<PolicyRule>[] | undefined) ?? [];
    return rules.map((rule) => ({ ...rule, verbs: rule.verbs ?? [] }));
  }
  const roleRef = look(object, 'roleRef');
  const role = { kind: text(roleRef, 'kind'), name: text(roleRef, 'name') };
  if (role.kind !== 'Role' && role.kind !== 'ClusterRole') {
    throw new StatusError({ code: 500, message: `unsupported role reference kind: ${goQuote(role.kind)}` });
  }
  if (role.name === '') throw badRequest('Name parameter required.');
  const rules = security.rbac.rulesOfRole(role, namespace);
  if (rules === undefined) throw notFound(served.kind, role.name);
  return rules;
}

/** Removes metadata fields that the garbage collector changes. */
function withoutCollected({ metadata, ...fields }: ApiObject): object {
  const { ownerReferences: _owners, finalizers: _finalizers, managedFields: _managed, ...kept } = metadata;
  return { ...fields, metadata: kept };
}

const isCollected = ({ object, old }: AdmissionAttributes): boolean =>
  object !== undefined && old !== undefined && jsonEquals(withoutCollected(object), withoutCollected(old));

const aggregates = (object: ApiObject | undefined): boolean =>
  items(look(object, 'aggregationRule'), 'clusterRoleSelectors').length > 0;

const EVERYTHING: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

const uncovered = (owned: readonly PolicyRule[], rules: readonly PolicyRule[]): PolicyRule[] =>
  rules.flatMap((rule) => [...breakDown(rule)]).filter((part) => !isCovered(owned, part));

/**
 * With the verb `escalate`, a user may write any role. With the verb `bind`, a user may write any binding. A rule with
 * resource names allows no create request, because the path of a create request contains no name.
 */
function mayAnyway(attributes: AdmissionAttributes, security: Security): boolean {
  const { object, user, namespace, operation } = attributes;
  const name = operation === 'CREATE' ? '' : attributes.name;
  const about = isRole(attributes)
    ? { verb: 'escalate', kind: attributes.served.kind.kind, name }
    : { verb: 'bind', kind: text(look(object, 'roleRef'), 'kind'), name: text(look(object, 'roleRef'), 'name') };
  if (about.kind !== 'Role' && about.kind !== 'ClusterRole') return false;
  const resource = about.kind === 'Role' ? 'roles' : 'clusterroles';
  const { verb } = about;
  const group = isRole(attributes) ? '' : text(look(object, 'roleRef'), 'apiGroup');
  return security.authorize({
    user,
    verb,
    path: '',
    group: group === '' ? RBAC_GROUP : group,
    resource,
    subresource: '',
    namespace,
    name: about.name,
  }).allowed;
}

/**
 * Refuses a role or binding that grants permissions that the user does not have.
 * @see kubernetes pkg/registry/rbac/*\/policybased
 */
export const escalationCheck = (security: Security): AdmissionPlugin => ({
  name: 'RbacEscalation',
  check(attributes) {
    const { served, user, namespace, name, operation, object, old } = attributes;
    if (served.kind.group !== RBAC_GROUP || (operation !== 'CREATE' && operation !== 'UPDATE')) return undefined;
    if (user.groups.includes(MASTERS)) return undefined;
    if (isCollected(attributes) || mayAnyway(attributes, security)) return undefined;
    const { rules: owned, errors } = security.rbac.rulesFor(user, namespace);
    const missing = describeRules(uncovered(owned, granted(attributes, security)));
    if (missing.length > 0) {
      const who = `user ${goQuote(user.name)} (groups=${quoted(user.groups)})`;
      const unresolved = errors.length === 0 ? '' : `; resolution errors: [${joinErrors(errors)}]`;
      const words = `${who} is attempting to grant RBAC permissions not currently held:\n${missing.join('\n')}${unresolved}`;
      throw forbidden(served.kind, name, words);
    }
    if ((aggregates(object) || aggregates(old)) && uncovered(owned, EVERYTHING).length > 0) {
      throw forbidden(served.kind, name, 'must have cluster-admin privileges to use the aggregationRule');
    }
    return undefined;
  },
});
