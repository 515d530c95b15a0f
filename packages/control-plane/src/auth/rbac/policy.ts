import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { defined } from '../../apimachinery/objects/plain.ts';
import { CONTROLLER_ROLES } from './policy-controllers.ts';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES } from './policy-roles.ts';
import type { PolicyRule } from './rules.ts';
import type { Subject } from './subjects.ts';

export const RBAC_GROUP = 'rbac.authorization.k8s.io';
const API_VERSION = `${RBAC_GROUP}/v1`;
const CONTROLLER_PREFIX = 'system:controller:';
const AGGREGATE_LABEL = 'rbac.authorization.k8s.io/aggregate-to-';

/** Parses a rule: `get,list core: pods [a,b]` or `get /healthz,/version`. */
function parseRule(line: string): PolicyRule {
  const [verbs = '', group = '', resources = '', names = ''] = line.split(' ');
  const list = (text: string): string[] => text.split(',');
  if (resources === '') return { verbs: list(verbs), nonResourceURLs: list(group) };
  return defined({
    verbs: list(verbs),
    apiGroups: list(group.slice(0, -1)).map((name) => (name === 'core' ? '' : name)),
    resources: list(resources),
    resourceNames: names === '' ? undefined : list(names.slice(1, -1)),
  });
}

function metadataOf(place: string, labels: Record<string, string> = {}): ApiObject['metadata'] {
  const slash = place.indexOf('/');
  return defined({
    name: place.slice(slash + 1),
    namespace: slash < 0 ? undefined : place.slice(0, slash),
    labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
    annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
  });
}

interface RoleText {
  readonly place: string;
  readonly partOf: string | undefined;
  readonly collects: string | undefined;
  readonly rules: PolicyRule[];
}

function parseRoles(text: string, prefix = ''): RoleText[] {
  const roles: RoleText[] = [];
  for (const line of text.trim().split('\n')) {
    if (line.startsWith(' ')) {
      roles.at(-1)?.rules.push(parseRule(line.trim()));
      continue;
    }
    const [name = '', ...marks] = line.split(' ');
    const mark = (sign: string) => marks.find((word) => word.startsWith(sign))?.slice(1);
    roles.push({ place: prefix + name, partOf: mark('+'), collects: mark('='), rules: [] });
  }
  return roles;
}

/** Collects the rules of an aggregated role. An aggregated role may be part of another aggregated role. */
function collect(role: RoleText, all: readonly RoleText[]): PolicyRule[] {
  if (role.collects === undefined) return role.rules;
  const parts = all.filter(({ partOf }) => partOf === role.collects).sort((a, b) => (a.place < b.place ? -1 : 1));
  const rules = new Map<string, PolicyRule>();
  for (const rule of parts.flatMap((part) => collect(part, all))) rules.set(JSON.stringify(rule), rule);
  return [...rules.values()];
}

function roleObject(role: RoleText, all: readonly RoleText[]): ApiObject {
  const labels = role.partOf === undefined ? {} : { [`${AGGREGATE_LABEL}${role.partOf}`]: 'true' };
  const aggregated = { clusterRoleSelectors: [{ matchLabels: { [`${AGGREGATE_LABEL}${role.collects}`]: 'true' } }] };
  return defined({
    apiVersion: API_VERSION,
    kind: role.place.includes('/') ? 'Role' : 'ClusterRole',
    metadata: metadataOf(role.place, labels),
    rules: collect(role, all),
    aggregationRule: role.collects === undefined ? undefined : aggregated,
  });
}

function parseSubject(word: string): Subject & { apiGroup?: string } {
  const colon = word.indexOf(':');
  const name = word.slice(colon + 1);
  if (word.startsWith('sa:')) {
    const [namespace = '', account = ''] = name.split('/');
    return { kind: 'ServiceAccount', name: account, namespace };
  }
  return { apiGroup: RBAC_GROUP, kind: word.startsWith('g:') ? 'Group' : 'User', name };
}

function bindingObject(place: string, role: string, subjects: readonly string[]): ApiObject {
  const namespaced = place.includes('/');
  return defined({
    apiVersion: API_VERSION,
    kind: namespaced ? 'RoleBinding' : 'ClusterRoleBinding',
    metadata: metadataOf(place),
    subjects: subjects.length === 0 ? undefined : subjects.map(parseSubject),
    roleRef: { apiGroup: RBAC_GROUP, kind: namespaced ? 'Role' : 'ClusterRole', name: role },
  });
}

const parseBindings = (text: string): ApiObject[] =>
  text
    .trim()
    .split('\n')
    .map((line) => {
      const [place = '', role = '', ...subjects] = line.split(' ');
      return bindingObject(place.slice(0, -1), role, subjects);
    });

let policy: readonly ApiObject[] | undefined;

/** Returns the initial roles and bindings. */
export function bootstrapPolicy(): readonly ApiObject[] {
  policy ??= makePolicy();
  return policy;
}

function makePolicy(): readonly ApiObject[] {
  const controllers = parseRoles(CONTROLLER_ROLES, CONTROLLER_PREFIX);
  const cluster = [...parseRoles(CLUSTER_ROLES), ...controllers];
  const controllerBindings = controllers.map(({ place }) =>
    bindingObject(place, place, [`sa:kube-system/${place.slice(CONTROLLER_PREFIX.length)}`]),
  );
  return [
    ...cluster.map((role) => roleObject(role, cluster)),
    ...parseRoles(ROLES).map((role) => roleObject(role, [])),
    ...parseBindings(CLUSTER_ROLE_BINDINGS),
    ...controllerBindings,
    ...parseBindings(ROLE_BINDINGS),
  ];
}
