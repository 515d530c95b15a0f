import { type Rule, role } from './roles.ts';
import type { InstallSettings } from './settings.ts';
import { securedContainer } from './workload.ts';

/** Name of everything of the daemon of a node. */
export const DAEMON_APP = 'machine-config-daemon';
const LABELS = { 'app.kubernetes.io/name': DAEMON_APP, 'app.kubernetes.io/part-of': 'mcm' } as const;
const OWNER = { account: DAEMON_APP, labels: LABELS };
/** Whom daemons are where the configs are in another cluster than the nodes; their Secret is named after it. */
const CONTROL = `${DAEMON_APP}-control`;

/** What a daemon may next to what a kubelet may of its own Node; pools are for machines that nobody gave a config at their first boot. */
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

const also = (objects: readonly object[], ...more: readonly object[]): readonly object[] =>
  objects.map((object) => (isBinding(object) ? { ...object, subjects: [...object.subjects, ...more] } : object));

/** Who may read metrics from elsewhere; a kubelet may ask it anyway. */
const ACCESS_RULES: readonly Rule[] = [
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
];

/**
 * Roles of daemons in the cluster of the configs: for kubelets, whose credentials daemons have that systemd starts, for
 * pods of this cluster, and for pods of another one, whose ServiceAccount here is this one.
 */
export const daemonRoles = ({ namespace }: InstallSettings): readonly object[] => {
  const remote = { kind: 'ServiceAccount', name: CONTROL, namespace };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: CONTROL, namespace, labels: LABELS } },
    ...also(role('ClusterRole', DAEMON_APP, undefined, CONFIG_RULES, namespace, OWNER), remote, KUBELETS),
    ...also(role('ClusterRole', `${DAEMON_APP}-access`, undefined, ACCESS_RULES, namespace, OWNER), remote),
  ];
};

/** Roles of daemons in the cluster of the nodes. */
export const daemonTargetRoles = ({ namespace }: InstallSettings): readonly object[] => [
  ...role('ClusterRole', `${DAEMON_APP}-nodes`, undefined, NODE_RULES, namespace, OWNER),
  ...also(role('Role', `${DAEMON_APP}-events`, 'default', EVENTS, namespace, OWNER), KUBELETS),
];

const SELECTOR = { 'app.kubernetes.io/name': DAEMON_APP } as const;
const PORTS = { plain: 8798, secure: 10_271 } as const;
const ROOT_MOUNT = '/rootfs';

/**
 * The daemon as a pod of each node, where systemd does not start it. It writes the machine's disk, calls its programs and
 * reboots it: it is root, and privileged. It has no network of its own, since what it writes may be what that needs.
 */
export const daemonSet = ({ namespace, configDaemon }: InstallSettings): readonly object[] => [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: DAEMON_APP, namespace, labels: LABELS } },
  {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: DAEMON_APP, namespace, labels: LABELS },
    spec: {
      selector: { matchLabels: SELECTOR },
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '10%' } },
      template: {
        metadata: { labels: LABELS },
        spec: {
          serviceAccountName: DAEMON_APP,
          priorityClassName: 'system-node-critical',
          // What is under way is in a journal: the next process continues with it.
          terminationGracePeriodSeconds: 30,
          hostNetwork: true,
          hostPID: true,
          dnsPolicy: 'ClusterFirstWithHostNet',
          nodeSelector: { 'kubernetes.io/os': 'linux' },
          tolerations: [{ operator: 'Exists' }],
          containers: [
            {
              ...securedContainer({
                name: DAEMON_APP,
                image: configDaemon.image,
                flags: {
                  'node-name': '$(NODE_NAME)',
                  'root-mount': ROOT_MOUNT,
                  'secure-port': String(PORTS.secure),
                  ...configDaemon.flags,
                },
                ports: PORTS,
                port: 'metrics-tls',
                resources: configDaemon.resources,
              }),
              env: [{ name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
              securityContext: { privileged: true, runAsUser: 0, readOnlyRootFilesystem: true },
              volumeMounts: [
                { name: 'root', mountPath: ROOT_MOUNT, mountPropagation: 'HostToContainer' },
                { name: 'control', mountPath: '/etc/mcm/control', readOnly: true },
              ],
            },
          ],
          volumes: [
            { name: 'root', hostPath: { path: '/', type: 'Directory' } },
            { name: 'control', secret: { secretName: CONTROL, optional: true, defaultMode: 0o440 } },
          ],
        },
      },
    },
  },
];
