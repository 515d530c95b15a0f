import { type Rule, role } from './roles.ts';
import type { InstallSettings } from './settings.ts';
import { securedContainer } from './workload.ts';

export const DAEMON_APP = 'machine-config-daemon';
const LABELS = { 'app.kubernetes.io/name': DAEMON_APP, 'app.kubernetes.io/part-of': 'mcm' } as const;
const OWNER = { account: DAEMON_APP, labels: LABELS };
/** The name of a ServiceAccount and of its Secret. Daemons use both if the MachineConfigs are in another cluster. */
const CONTROL = `${DAEMON_APP}-control`;

/** Permissions that the daemon needs and that a kubelet does not have. */
const CONFIG_RULES: readonly Rule[] = [
  { apiGroups: ['machineconfiguration.openshift.io'], resources: ['machineconfigs'], verbs: ['get'] },
  { apiGroups: ['machineconfiguration.openshift.io'], resources: ['machineconfigpools'], verbs: ['list'] },
];

const EVENTS: readonly Rule[] = [{ apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] }];

/**
 * Permissions of the daemon for Nodes. With the ServiceAccount, a daemon can write all Nodes. With the credentials of
 * the kubelet, a daemon can write only its own Node.
 */
const NODE_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch', 'patch'] },
];

const KUBELETS = { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:nodes' } as const;

interface Binding {
  readonly kind: string;
  readonly subjects: readonly object[];
}

const isBinding = (object: object): object is Binding => 'subjects' in object;

const also = (objects: readonly object[], ...more: readonly object[]): readonly object[] =>
  objects.map((object) => (isBinding(object) ? { ...object, subjects: [...object.subjects, ...more] } : object));

/** Permissions to check whether a client may read metrics. */
const ACCESS_RULES: readonly Rule[] = [
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
];

/**
 * Roles of the daemons in the cluster with the MachineConfigs. The roles have three subjects:
 * - kubelets, because systemd starts daemons with the credentials of the kubelet
 * - pods of this cluster
 * - pods of another cluster, which use a ServiceAccount of this cluster
 */
export const daemonRoles = ({ namespace }: InstallSettings): readonly object[] => {
  const remote = { kind: 'ServiceAccount', name: CONTROL, namespace };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: CONTROL, namespace, labels: LABELS } },
    ...also(role('ClusterRole', DAEMON_APP, undefined, CONFIG_RULES, namespace, OWNER), remote, KUBELETS),
    ...also(role('ClusterRole', `${DAEMON_APP}-access`, undefined, ACCESS_RULES, namespace, OWNER), remote),
  ];
};

export const daemonTargetRoles = ({ namespace }: InstallSettings): readonly object[] => [
  ...role('ClusterRole', `${DAEMON_APP}-nodes`, undefined, NODE_RULES, namespace, OWNER),
  ...also(role('Role', `${DAEMON_APP}-events`, 'default', EVENTS, namespace, OWNER), KUBELETS),
];

const SELECTOR = { 'app.kubernetes.io/name': DAEMON_APP } as const;
const PORTS = { plain: 8798, secure: 10_271 } as const;
const ROOT_MOUNT = '/rootfs';

/**
 * Runs the daemon as a pod on each node, for nodes on which systemd does not start it. The pod is privileged and runs
 * as root, because the daemon writes the disk of the node and reboots the node. The pod uses the network of the host,
 * because the daemon may configure the pod network.
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
          // A kill does not damage the node, so a short grace period is sufficient.
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
