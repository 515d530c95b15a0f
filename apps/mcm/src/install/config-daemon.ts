import { type Rule, role } from './roles.ts';
import type { InstallSettings } from './settings.ts';

/** Name of everything of the daemon of a node. */
export const DAEMON_APP = 'machine-config-daemon';
const LABELS = { 'app.kubernetes.io/name': DAEMON_APP, 'app.kubernetes.io/part-of': 'mcm' } as const;
const OWNER = { account: DAEMON_APP, labels: LABELS };

/** What a daemon may beside what a kubelet may of its own Node; pools are for machines that nobody gave a config at their first boot. */
const CONFIG_RULES: readonly Rule[] = [
  { apiGroups: ['machineconfiguration.openshift.io'], resources: ['machineconfigs'], verbs: ['get'] },
  { apiGroups: ['machineconfiguration.openshift.io'], resources: ['machineconfigpools'], verbs: ['list'] },
];

const EVENTS: readonly Rule[] = [{ apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] }];

/** Daemons that run with the ServiceAccount reach every Node; kubelets' credentials are confined to their own. */
const NODE_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch', 'patch'] },
];

/** A daemon that starts with the kubelet's credentials is one of these. */
const KUBELETS = { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:nodes' } as const;

interface Binding {
  readonly kind: string;
  readonly subjects: readonly object[];
}

const isBinding = (object: object): object is Binding => 'subjects' in object;

/** For kubelets too: daemons are started by systemd with their credentials, or as pods. */
const shared = (objects: readonly object[]): readonly object[] =>
  objects.map((object) => (isBinding(object) ? { ...object, subjects: [...object.subjects, KUBELETS] } : object));

/** Roles of daemons in the cluster of the configs. */
export const daemonRoles = ({ namespace }: InstallSettings): readonly object[] => [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: DAEMON_APP, namespace, labels: LABELS } },
  ...shared(role('ClusterRole', DAEMON_APP, undefined, CONFIG_RULES, namespace, OWNER)),
];

/** Roles of daemons in the cluster of the nodes. */
export const daemonTargetRoles = ({ namespace }: InstallSettings): readonly object[] => [
  ...role('ClusterRole', `${DAEMON_APP}-nodes`, undefined, NODE_RULES, namespace, OWNER),
  ...shared(role('Role', `${DAEMON_APP}-events`, 'default', EVENTS, namespace, OWNER)),
];
