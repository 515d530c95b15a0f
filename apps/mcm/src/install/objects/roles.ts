import { APP, CONTROLLER_APP, type InstallSettings, labelsOf, shared } from './settings.ts';

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

const MACHINES = ['machine.sapcloud.io'];

/**
 * Permissions of a container for its own Lease and its events. RBAC cannot limit the creation of objects to one name.
 */
const ownRules = (lease: string): readonly Rule[] => [
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    resourceNames: [lease],
    verbs: ['get', 'watch', 'update'],
  },
];

/**
 * Permissions of the manager in the namespace with the machine objects. docs/permissions.md explains each permission.
 */
export const MANAGER_RULES: readonly Rule[] = [
  { apiGroups: MACHINES, resources: ['machinedeployments'], verbs: ['get', 'list', 'watch', 'update', 'patch'] },
  {
    apiGroups: MACHINES,
    resources: ['machinesets'],
    verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
  },
  { apiGroups: MACHINES, resources: ['machines'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
  { apiGroups: MACHINES, resources: ['machinedeployments/status', 'machinesets/status'], verbs: ['update'] },
  { apiGroups: MACHINES, resources: ['machines/status'], verbs: ['patch'] },
  { apiGroups: MACHINES, resources: ['machineclasses'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['create'] },
  { apiGroups: [''], resources: ['configmaps'], resourceNames: ['machine-disruptions'], verbs: ['get', 'patch'] },
  ...ownRules(APP),
];

/** Permissions of the manager in the target cluster. */
const MANAGER_NODE_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['list', 'watch', 'patch'] },
  { apiGroups: ['autoscaling.x-k8s.io'], resources: ['capacitybuffers'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['podtemplates'], verbs: ['list', 'watch'] },
];

/** Permissions of the machine controller in the namespace with the machine objects. */
export const CONTROLLER_RULES: readonly Rule[] = [
  { apiGroups: MACHINES, resources: ['machines'], verbs: ['get', 'list', 'watch', 'patch', 'delete'] },
  { apiGroups: MACHINES, resources: ['machines/status'], verbs: ['patch'] },
  { apiGroups: MACHINES, resources: ['machineclasses'], verbs: ['list', 'watch', 'patch'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch', 'patch'] },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'create', 'delete'] },
  { apiGroups: [''], resources: ['configmaps'], resourceNames: ['machine-volume-limits'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
  ...ownRules(CONTROLLER_APP),
];

/** Permissions of the machine controller in the target cluster. */
const CONTROLLER_NODE_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch', 'patch', 'delete'] },
  { apiGroups: [''], resources: ['nodes/status'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch', 'delete'] },
  { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
  { apiGroups: [''], resources: ['persistentvolumeclaims', 'persistentvolumes'], verbs: ['list', 'watch'] },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: ['list', 'watch'] },
  { apiGroups: ['lifecycle.k8s.io'], resources: ['evictionrequests'], verbs: ['list', 'create', 'delete'] },
  { apiGroups: ['lifecycle.k8s.io'], resources: ['evictions'], verbs: ['list'] },
  { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'], verbs: ['list', 'watch', 'delete'] },
  { apiGroups: ['storage.k8s.io'], resources: ['csinodes'], verbs: ['list', 'watch'] },
];

/** Permissions of both containers in the control cluster, to check whether a client may read metrics. */
export const ACCESS_RULES: readonly Rule[] = [
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
];

/**
 * Permissions in the namespace `kube-system` of the target cluster, for bootstrap tokens and for a Lease. The holder of
 * the Lease in `kube-system` is the active control cluster.
 */
const tokenRules = (namespace: string): readonly Rule[] => [
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'patch', 'delete'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    resourceNames: [`${CONTROLLER_APP}-${namespace}`],
    verbs: ['get', 'update'],
  },
];

/** Permissions in the namespace `default` of the target cluster, for events about Nodes. */
const NODE_EVENT_RULES: readonly Rule[] = [{ apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] }];

export const RBAC = 'rbac.authorization.k8s.io';

/** The ServiceAccount to which roles are bound. */
export interface RoleOwner {
  readonly account: string;
  readonly labels: Readonly<Record<string, string>>;
}

const ownerOf = (settings: InstallSettings, program: keyof InstallSettings['accounts']): RoleOwner => ({
  account: settings.accounts[program],
  labels: labelsOf(settings),
});

/** Returns a role, and a binding of the role to a ServiceAccount in the namespace `subject`. */
export function role(
  kind: 'Role' | 'ClusterRole',
  name: string,
  namespace: string | undefined,
  rules: readonly Rule[],
  subject: string,
  { account, labels }: RoleOwner,
) {
  const metadata = { name, namespace, labels };
  return [
    { apiVersion: `${RBAC}/v1`, kind, metadata, rules },
    {
      apiVersion: `${RBAC}/v1`,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup: RBAC, kind, name },
      subjects: [{ kind: 'ServiceAccount', name: account, namespace: subject }],
    },
  ];
}

const serviceAccount = (name: string, { namespace, ...settings }: InstallSettings): object => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, namespace, labels: labelsOf(settings) },
});

/** Returns the permission to create reviews. With a review, a program checks whether a client may read its metrics. */
const accessRole = (name: string, { namespace }: InstallSettings, owner: RoleOwner): readonly object[] =>
  role('ClusterRole', shared(`${name}-access`, namespace), undefined, ACCESS_RULES, namespace, owner);

/** Returns the roles in the control cluster. */
export const controlRoles = (settings: InstallSettings): readonly object[] => {
  const { name, namespace, accounts } = settings;
  const manager = ownerOf(settings, 'manager');
  return [
    serviceAccount(accounts.manager, settings),
    ...role('Role', name, namespace, MANAGER_RULES, namespace, manager),
    ...role('Role', CONTROLLER_APP, namespace, CONTROLLER_RULES, namespace, ownerOf(settings, 'controller')),
    ...accessRole(name, settings, manager),
  ];
};

export const separateAccount = (settings: InstallSettings): readonly object[] => [
  serviceAccount(settings.accounts.controller, settings),
  ...accessRole(CONTROLLER_APP, settings, ownerOf(settings, 'controller')),
];

export const targetRoles = (settings: InstallSettings): readonly object[] => {
  const { name, namespace } = settings;
  const [manager, controller] = [ownerOf(settings, 'manager'), ownerOf(settings, 'controller')];
  const named = (part: string): string => shared(part, namespace);
  return [
    ...role('ClusterRole', named(`${name}-nodes`), undefined, MANAGER_NODE_RULES, namespace, manager),
    ...role('ClusterRole', named(`${CONTROLLER_APP}-nodes`), undefined, CONTROLLER_NODE_RULES, namespace, controller),
    ...role('Role', named(`${CONTROLLER_APP}-tokens`), 'kube-system', tokenRules(namespace), namespace, controller),
    ...role('Role', named(`${CONTROLLER_APP}-node-events`), 'default', NODE_EVENT_RULES, namespace, controller),
  ];
};

export const webhookSecret = ({ name }: Pick<InstallSettings, 'name'>): string => `${name}-webhooks`;

/**
 * Permissions for self-signed certificates of webhooks: for one Secret and the two webhook configurations. RBAC cannot
 * limit the creation of objects to one name.
 */
export const webhookRoles = (settings: InstallSettings): readonly object[] => {
  const { name, namespace } = settings;
  const secret = webhookSecret(settings);
  const owner = ownerOf(settings, 'manager');
  const secretRules: readonly Rule[] = [
    { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
    { apiGroups: [''], resources: ['secrets'], resourceNames: [secret], verbs: ['get', 'list', 'watch', 'update'] },
  ];
  const configurationRules: readonly Rule[] = [
    {
      apiGroups: ['admissionregistration.k8s.io'],
      resources: ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'],
      resourceNames: [shared(name, namespace)],
      verbs: ['list', 'watch', 'patch'],
    },
  ];
  return [
    ...role('Role', secret, namespace, secretRules, namespace, owner),
    ...role('ClusterRole', shared(secret, namespace), undefined, configurationRules, namespace, owner),
  ];
};
