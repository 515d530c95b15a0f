import { metricsReader } from './monitoring.ts';
import { ACCESS_RULES, CONTROLLER_RULES, MANAGER_RULES, RBAC, type Rule, role } from './roles.ts';
import { APP, CONTROLLER_APP, FLEET_APP, type InstallSettings, labelsOf, shared } from './settings.ts';
import { fleetWorkload } from './workload.ts';

const LEASES = ['coordination.k8s.io'];
const SECRET = 'fleet-kubeconfig';

const DISCOVERY_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['namespaces'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['secrets'], resourceNames: [SECRET], verbs: ['list', 'watch'] },
  { apiGroups: LEASES, resources: ['leases'], resourceNames: [APP, CONTROLLER_APP], verbs: ['list', 'watch'] },
];

const ROLLOUT_BUDGET = 'mcm-rollout-budget';

/**
 * The rules for the peer Leases and the rollout budget. A replica may write all Leases of the namespace, because RBAC
 * cannot limit access to names with a prefix.
 */
const PEER_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['configmaps'], resourceNames: [ROLLOUT_BUDGET], verbs: ['list', 'watch', 'patch'] },
  { apiGroups: LEASES, resources: ['leases'], verbs: ['get', 'list', 'watch', 'create', 'update'] },
];

/** Permissions in the namespace of one cluster, as in an installation for a single cluster. */
const CLUSTER_RULES: readonly Rule[] = [
  ...new Map([...MANAGER_RULES, ...CONTROLLER_RULES].map((rule) => [JSON.stringify(rule), rule])).values(),
];

/**
 * Permissions to annotate the namespace of a cluster. A RoleBinding in a namespace also grants permissions for the
 * Namespace object itself.
 */
const HAND_OVER_RULES: readonly Rule[] = [{ apiGroups: [''], resources: ['namespaces'], verbs: ['patch'] }];

/** Permissions in the whole seed for the flag `--fleet-clusters`. */
const CLUSTER_API_RULES: readonly Rule[] = [
  { apiGroups: ['cluster.x-k8s.io'], resources: ['clusters'], verbs: ['list', 'watch'] },
];

/** Permissions in the namespace of the fleet's pods for the flag `--fleet-cluster-profiles`. */
const PROFILE_RULES: readonly Rule[] = [
  { apiGroups: ['multicluster.x-k8s.io'], resources: ['clusterprofiles'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
];

/** Returns the name of the ClusterRole for the RoleBindings in the namespaces of clusters. */
const clusterRoleName = ({ namespace }: InstallSettings): string => shared(`${FLEET_APP}-cluster`, namespace);

const handOverRoleName = ({ namespace }: InstallSettings): string => shared(`${FLEET_APP}-hand-over`, namespace);

const clusterApiRoleName = ({ namespace }: InstallSettings): string => shared(`${FLEET_APP}-cluster-api`, namespace);

const profileRoleName = ({ namespace }: InstallSettings): string => shared(`${FLEET_APP}-cluster-profiles`, namespace);

const bindingOf = (settings: InstallSettings, cluster: string, name: string): object => ({
  apiVersion: `${RBAC}/v1`,
  kind: 'RoleBinding',
  metadata: { name, namespace: cluster, labels: labelsOf(settings) },
  roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
  subjects: [{ kind: 'ServiceAccount', name: settings.accounts.fleet, namespace: settings.namespace }],
});

/** Returns the RoleBinding that grants a fleet its permissions in the namespace of a cluster. */
export const fleetBinding = (settings: InstallSettings, cluster: string): object =>
  bindingOf(settings, cluster, clusterRoleName(settings));

/** Returns the RoleBinding that allows a fleet to hand over a large cluster to a separate process. */
export const handOverBinding = (settings: InstallSettings, cluster: string): object =>
  bindingOf(settings, cluster, handOverRoleName(settings));

/** Returns the ClusterRoleBinding with which a fleet can find the Clusters of Cluster API. */
export const clusterApiBinding = (settings: InstallSettings): object => {
  const name = clusterApiRoleName(settings);
  return {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name, labels: labelsOf(settings) },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name: settings.accounts.fleet, namespace: settings.namespace }],
  };
};

/** Returns the RoleBinding with which a fleet can read the ClusterProfiles and their Secrets in its own namespace. */
export const profileBinding = (settings: InstallSettings): object =>
  bindingOf(settings, settings.namespace, profileRoleName(settings));

const fleetRoles = (settings: InstallSettings): readonly object[] => {
  const { namespace, accounts } = settings;
  const labels = labelsOf(settings);
  const owner = { account: accounts.fleet, labels };
  const discovery = [...DISCOVERY_RULES, ...ACCESS_RULES];
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: accounts.fleet, namespace, labels } },
    ...role('ClusterRole', shared(FLEET_APP, namespace), undefined, discovery, namespace, owner),
    ...role('Role', FLEET_APP, namespace, PEER_RULES, namespace, owner),
    unbound(clusterRoleName(settings), CLUSTER_RULES, labels),
    unbound(handOverRoleName(settings), HAND_OVER_RULES, labels),
    unbound(clusterApiRoleName(settings), CLUSTER_API_RULES, labels),
    unbound(profileRoleName(settings), PROFILE_RULES, labels),
  ];
};

const unbound = (name: string, rules: readonly Rule[], labels: Readonly<Record<string, string>>): object => ({
  apiVersion: `${RBAC}/v1`,
  kind: 'ClusterRole',
  metadata: { name, labels },
  rules,
});

/** Returns the role binding with which the fleet can find clusters of another project. */
const sourceBinding = (settings: InstallSettings): readonly object[] => {
  const flag = settings.fleetSource?.flag;
  if (flag === undefined) return [];
  return [flag === 'fleet-clusters' ? clusterApiBinding(settings) : profileBinding(settings)];
};

/** Returns the objects of a fleet: its roles, its share of the API server's capacity, and its pods. */
export const fleetObjects = (settings: InstallSettings): readonly object[] => [
  ...fleetRoles(settings),
  ...sourceBinding(settings),
  ...fleetWorkload(settings),
  metricsReader({ ...settings, name: FLEET_APP }),
];
