import type { ApiObject } from '../object.ts';
import { SYSTEM_PRIORITIES } from './cluster/storage.ts';

const RBAC = 'rbac.authorization.k8s.io';
const BOOTSTRAPPED = {
  labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' },
  annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
};

interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

const metadata = (name: string, more: Record<string, string> = {}, namespace?: string): ApiObject['metadata'] => ({
  name,
  ...(namespace === undefined ? {} : { namespace }),
  annotations: { ...BOOTSTRAPPED.annotations },
  labels: { ...BOOTSTRAPPED.labels, ...more },
});

const clusterRole = (name: string, rules: readonly Rule[], labels: Record<string, string> = {}): ApiObject => ({
  apiVersion: `${RBAC}/v1`,
  kind: 'ClusterRole',
  metadata: metadata(name, labels),
  rules,
});

/** A role whose rules are those of all roles with a label. */
const aggregate = (name: string, to: string, labels: Record<string, string> = {}): ApiObject => ({
  apiVersion: `${RBAC}/v1`,
  kind: 'ClusterRole',
  metadata: metadata(name, labels),
  aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [`${RBAC}/aggregate-to-${to}`]: 'true' } }] },
});

const bind = (name: string, role: string, kind: 'Group' | 'User', ...subjects: string[]): ApiObject => ({
  apiVersion: `${RBAC}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: metadata(name),
  roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: role },
  subjects: subjects.map((subject) => ({ kind, apiGroup: RBAC, name: subject })),
});

const READ = ['get', 'list', 'watch'];
const WRITE = ['create', 'delete', 'deletecollection', 'patch', 'update'];
const CORE = [
  'configmaps',
  'endpoints',
  'events',
  'persistentvolumeclaims',
  'pods',
  'pods/log',
  'pods/status',
  'serviceaccounts',
  'services',
];

const to = (role: string): Record<string, string> => ({ [`${RBAC}/aggregate-to-${role}`]: 'true' });

/** Roles that the real server has from the start, as far as users and nodes here need them. */
const ROLES: readonly ApiObject[] = [
  clusterRole('cluster-admin', [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
    { verbs: ['*'], nonResourceURLs: ['*'] },
  ]),
  aggregate('admin', 'admin'),
  aggregate('edit', 'edit', to('admin')),
  aggregate('view', 'view', to('edit')),
  clusterRole(
    'system:aggregate-to-view',
    [
      { verbs: READ, apiGroups: [''], resources: CORE },
      { verbs: READ, apiGroups: ['apps'], resources: ['daemonsets', 'deployments', 'replicasets', 'statefulsets'] },
      { verbs: READ, apiGroups: ['batch'], resources: ['cronjobs', 'jobs'] },
      { verbs: READ, apiGroups: ['policy'], resources: ['poddisruptionbudgets'] },
    ],
    to('view'),
  ),
  clusterRole(
    'system:aggregate-to-edit',
    [
      { verbs: WRITE, apiGroups: [''], resources: [...CORE, 'secrets'] },
      { verbs: READ, apiGroups: [''], resources: ['secrets'] },
      {
        verbs: WRITE,
        apiGroups: ['apps'],
        resources: ['daemonsets', 'deployments', 'deployments/scale', 'replicasets', 'replicasets/scale', 'statefulsets'],
      },
      { verbs: WRITE, apiGroups: ['batch'], resources: ['cronjobs', 'jobs'] },
      { verbs: WRITE, apiGroups: ['policy'], resources: ['poddisruptionbudgets'] },
      { verbs: ['create'], apiGroups: [''], resources: ['pods/eviction'] },
    ],
    to('edit'),
  ),
  clusterRole(
    'system:aggregate-to-admin',
    [{ verbs: [...READ, ...WRITE], apiGroups: [RBAC], resources: ['rolebindings', 'roles'] }],
    to('admin'),
  ),
  clusterRole('system:discovery', [
    {
      verbs: ['get'],
      nonResourceURLs: ['/api', '/api/*', '/apis', '/apis/*', '/healthz', '/livez', '/openapi', '/openapi/*', '/readyz', '/version', '/version/'],
    },
  ]),
  clusterRole('system:public-info-viewer', [
    { verbs: ['get'], nonResourceURLs: ['/healthz', '/livez', '/readyz', '/version', '/version/'] },
  ]),
  clusterRole('system:basic-user', [
    {
      verbs: ['create'],
      apiGroups: ['authorization.k8s.io'],
      resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
    },
    { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] },
  ]),
  clusterRole('system:node-bootstrapper', [
    {
      verbs: ['create', 'get', 'list', 'watch'],
      apiGroups: ['certificates.k8s.io'],
      resources: ['certificatesigningrequests'],
    },
  ]),
  clusterRole('system:certificates.k8s.io:certificatesigningrequests:nodeclient', [
    {
      verbs: ['create'],
      apiGroups: ['certificates.k8s.io'],
      resources: ['certificatesigningrequests/nodeclient'],
    },
  ]),
  clusterRole('system:certificates.k8s.io:certificatesigningrequests:selfnodeclient', [
    {
      verbs: ['create'],
      apiGroups: ['certificates.k8s.io'],
      resources: ['certificatesigningrequests/selfnodeclient'],
    },
  ]),
];

const BINDINGS: readonly ApiObject[] = [
  bind('cluster-admin', 'cluster-admin', 'Group', 'system:masters'),
  bind('system:discovery', 'system:discovery', 'Group', 'system:authenticated'),
  bind('system:basic-user', 'system:basic-user', 'Group', 'system:authenticated'),
  bind('system:public-info-viewer', 'system:public-info-viewer', 'Group', 'system:authenticated', 'system:unauthenticated'),
];

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  'system-cluster-critical':
    'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  'system-node-critical': 'Used for system critical pods that must not be moved from their current node.',
};

const PRIORITIES: readonly ApiObject[] = Object.entries(SYSTEM_PRIORITIES).map(([name, value]) => ({
  apiVersion: 'scheduling.k8s.io/v1',
  kind: 'PriorityClass',
  metadata: { name },
  value,
  description: DESCRIPTIONS[name],
}));

/** What a cluster has from the start beside its namespaces: system priorities, roles and who has them. */
export const systemObjects: readonly ApiObject[] = [...PRIORITIES, ...ROLES, ...BINDINGS];
