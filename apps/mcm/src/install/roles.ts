import { APP, type InstallSettings, LABELS } from './settings.ts';

/** A rule of RBAC, and what it is for. */
export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

const MACHINES = ['machine.sapcloud.io'];

/** In the namespace of the machine objects. What each is for: docs/permissions.md. */
export const CONTROL_RULES: readonly Rule[] = [
  { apiGroups: MACHINES, resources: ['machinedeployments'], verbs: ['get', 'list', 'watch', 'patch'] },
  { apiGroups: MACHINES, resources: ['machinesets'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
  { apiGroups: MACHINES, resources: ['machines'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
  {
    apiGroups: MACHINES,
    resources: ['machinedeployments/status', 'machinesets/status', 'machines/status'],
    verbs: ['patch'],
  },
  { apiGroups: MACHINES, resources: ['machineclasses'], verbs: ['list', 'watch', 'patch'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch', 'patch'] },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'create', 'delete'] },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] },
];

/** Everywhere in the control cluster: who may read metrics. */
export const CONTROL_CLUSTER_RULES: readonly Rule[] = [
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
];

/** Everywhere in the cluster of the nodes. */
export const TARGET_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch', 'patch', 'delete'] },
  { apiGroups: [''], resources: ['nodes/status'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch', 'delete'] },
  { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
  { apiGroups: [''], resources: ['persistentvolumeclaims', 'persistentvolumes'], verbs: ['list', 'watch'] },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: ['list', 'watch'] },
  { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'], verbs: ['list', 'watch', 'delete'] },
  { apiGroups: ['storage.k8s.io'], resources: ['csinodes'], verbs: ['list', 'watch'] },
];

/** In `kube-system` of the cluster of the nodes: tokens that machines join with. */
export const TOKEN_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'patch', 'delete'] },
];

/** In `default` of the cluster of the nodes: what is told of Nodes. */
export const NODE_EVENT_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
];

const RBAC = 'rbac.authorization.k8s.io';

function role(
  kind: 'Role' | 'ClusterRole',
  name: string,
  namespace: string | undefined,
  rules: readonly Rule[],
  subject: string,
) {
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }), labels: LABELS };
  return [
    { apiVersion: `${RBAC}/v1`, kind, metadata, rules },
    {
      apiVersion: `${RBAC}/v1`,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup: RBAC, kind, name },
      subjects: [{ kind: 'ServiceAccount', name: APP, namespace: subject }],
    },
  ];
}

/** ServiceAccount and roles of the pod in the cluster of the machine objects. */
export const controlRoles = ({ namespace }: InstallSettings): readonly object[] => [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: APP, namespace, labels: LABELS } },
  ...role('Role', APP, namespace, CONTROL_RULES, namespace),
  ...role('ClusterRole', `${APP}-access`, undefined, CONTROL_CLUSTER_RULES, namespace),
];

/** Roles in the cluster of the nodes. */
export const targetRoles = ({ namespace }: InstallSettings): readonly object[] => [
  ...role('ClusterRole', `${APP}-nodes`, undefined, TARGET_RULES, namespace),
  ...role('Role', `${APP}-tokens`, 'kube-system', TOKEN_RULES, namespace),
  ...role('Role', `${APP}-node-events`, 'default', NODE_EVENT_RULES, namespace),
];

const CERTIFICATES = `${APP}-webhooks`;

/** What self-made certificates of the webhooks need: one Secret, and the two configurations. Creation cannot be limited to a name. */
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
    CERTIFICATES,
    undefined,
    [
      {
        apiGroups: ['admissionregistration.k8s.io'],
        resources: ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'],
        resourceNames: [APP],
        verbs: ['get', 'list', 'watch', 'patch'],
      },
    ],
    namespace,
  ),
];
