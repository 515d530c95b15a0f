import { APP, type InstallSettings, LABELS, shared } from './settings.ts';

/** A rule of RBAC. */
export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

const MACHINES = ['machine.sapcloud.io'];

/** For one container: its Lease and its events. RBAC cannot limit creation to a name. */
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

/** Name of the roles and of the Lease of the machine controller of any provider. */
const CONTROLLER = 'machine-controller';

/** For the manager, in the namespace of the machine objects. Purpose of each: docs/permissions.md. */
const MANAGER_RULES: readonly Rule[] = [
  { apiGroups: MACHINES, resources: ['machinedeployments'], verbs: ['get', 'list', 'watch', 'update', 'patch'] },
  {
    apiGroups: MACHINES,
    resources: ['machinesets'],
    verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
  },
  { apiGroups: MACHINES, resources: ['machines'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
  { apiGroups: MACHINES, resources: ['machinedeployments/status', 'machinesets/status'], verbs: ['update'] },
  { apiGroups: MACHINES, resources: ['machineclasses'], verbs: ['get', 'list', 'watch'] },
  ...ownRules(APP),
];

/** For the manager, in the target cluster. */
const MANAGER_NODE_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['list', 'watch', 'patch'] },
];

/** For the machine controller, in the namespace of the machine objects. */
const CONTROLLER_RULES: readonly Rule[] = [
  { apiGroups: MACHINES, resources: ['machines'], verbs: ['get', 'list', 'watch', 'patch', 'delete'] },
  { apiGroups: MACHINES, resources: ['machines/status'], verbs: ['patch'] },
  { apiGroups: MACHINES, resources: ['machineclasses'], verbs: ['list', 'watch', 'patch'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch', 'patch'] },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'create', 'delete'] },
  // A Role allows only its own namespace.
  { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
  ...ownRules(CONTROLLER),
];

/** For the machine controller, in the target cluster. */
const CONTROLLER_NODE_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch', 'patch', 'delete'] },
  { apiGroups: [''], resources: ['nodes/status'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch', 'delete'] },
  { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
  { apiGroups: [''], resources: ['persistentvolumeclaims', 'persistentvolumes'], verbs: ['list', 'watch'] },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: ['list', 'watch'] },
  { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'], verbs: ['list', 'watch', 'delete'] },
  { apiGroups: ['storage.k8s.io'], resources: ['csinodes'], verbs: ['list', 'watch'] },
];

/** For both containers, in the control cluster: to authorize readers of metrics. */
const ACCESS_RULES: readonly Rule[] = [
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
];

/**
 * In `kube-system` of the target cluster: bootstrap tokens, and the Lease that shows which of two control clusters is
 * active.
 */
const tokenRules = (namespace: string): readonly Rule[] => [
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'patch', 'delete'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    resourceNames: [`${CONTROLLER}-${namespace}`],
    verbs: ['get', 'update'],
  },
];

/** In `default` of the target cluster: events of Nodes. */
const NODE_EVENT_RULES: readonly Rule[] = [{ apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] }];

const RBAC = 'rbac.authorization.k8s.io';

/** The subject of the roles. */
export interface RoleOwner {
  readonly account: string;
  readonly labels: Readonly<Record<string, string>>;
}

const OWNER: RoleOwner = { account: APP, labels: LABELS };

/** A role with its binding to a ServiceAccount in namespace `subject`. */
export function role(
  kind: 'Role' | 'ClusterRole',
  name: string,
  namespace: string | undefined,
  rules: readonly Rule[],
  subject: string,
  { account, labels }: RoleOwner = OWNER,
) {
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }), labels };
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

/** ServiceAccount and roles of the pod in the control cluster, one role for each container. */
export const controlRoles = ({ namespace }: InstallSettings): readonly object[] => [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: APP, namespace, labels: LABELS } },
  ...role('Role', APP, namespace, MANAGER_RULES, namespace),
  ...role('Role', CONTROLLER, namespace, CONTROLLER_RULES, namespace),
  ...role('ClusterRole', shared(`${APP}-access`, namespace), undefined, ACCESS_RULES, namespace),
];

/** Roles in the target cluster. */
export const targetRoles = ({ namespace }: InstallSettings): readonly object[] => [
  ...role('ClusterRole', shared(`${APP}-nodes`, namespace), undefined, MANAGER_NODE_RULES, namespace),
  ...role('ClusterRole', shared(`${CONTROLLER}-nodes`, namespace), undefined, CONTROLLER_NODE_RULES, namespace),
  ...role('Role', shared(`${CONTROLLER}-tokens`, namespace), 'kube-system', tokenRules(namespace), namespace),
  ...role('Role', shared(`${CONTROLLER}-node-events`, namespace), 'default', NODE_EVENT_RULES, namespace),
];

const CERTIFICATES = `${APP}-webhooks`;

/** For self-signed certificates of the webhooks: one Secret, and the two configurations. RBAC cannot limit creation to a name. */
export const webhookRoles = ({ namespace }: InstallSettings): readonly object[] => [
  ...role(
    'Role',
    CERTIFICATES,
    namespace,
    [
      { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
      {
        apiGroups: [''],
        resources: ['secrets'],
        resourceNames: [CERTIFICATES],
        verbs: ['get', 'list', 'watch', 'update'],
      },
    ],
    namespace,
  ),
  ...role(
    'ClusterRole',
    shared(CERTIFICATES, namespace),
    undefined,
    [
      {
        apiGroups: ['admissionregistration.k8s.io'],
        resources: ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'],
        resourceNames: [shared(APP, namespace)],
        verbs: ['list', 'watch', 'patch'],
      },
    ],
    namespace,
  ),
];
