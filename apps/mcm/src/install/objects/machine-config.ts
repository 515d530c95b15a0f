import { machineConfigCrds } from '@mcm/machine-config';
import { daemonRoles, daemonTargetRoles } from './config-daemon.ts';
import { type Rule, role } from './roles.ts';
import type { InstallSettings } from './settings.ts';
import { KUBECONFIGS, networkPolicyFor, POD_SECURITY, securedContainer } from './workload.ts';

export const CONFIG_APP = 'machine-config-controller';
export const CONFIG_SELECTOR = { 'app.kubernetes.io/name': CONFIG_APP } as const;
const LABELS = { ...CONFIG_SELECTOR, 'app.kubernetes.io/part-of': 'mcm' } as const;
const PORTS = { plain: 8797, secure: 10_270 } as const;
export const CONFIG_METRICS_PORT = 'metrics-tls';

/** The port of the config server. The machines of OpenShift clusters use this port. */
const BOOT_PORT = 22_623;
const CERTIFICATES = {
  own: `${CONFIG_APP}-server`,
  given: `${CONFIG_APP}-tls`,
  path: '/etc/mcm/config-server',
} as const;

const CONFIGS = ['machineconfiguration.openshift.io'];

/** Permissions to check whether a machine may boot, and whether a client may read metrics. */
const ACCESS_RULES: readonly Rule[] = [
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
];

/** Permissions in the cluster of the MachineConfigs. docs/permissions.md explains each permission. */
const RULES: readonly Rule[] = [
  {
    apiGroups: CONFIGS,
    resources: ['machineconfigs'],
    verbs: ['get', 'list', 'watch', 'create', 'update', 'delete'],
  },
  {
    apiGroups: CONFIGS,
    resources: ['machineconfigpools', 'controllerconfigs'],
    verbs: ['get', 'list', 'watch', 'patch'],
  },
  { apiGroups: CONFIGS, resources: ['kubeletconfigs', 'containerruntimeconfigs'], verbs: ['list', 'watch', 'patch'] },
  {
    apiGroups: CONFIGS,
    resources: ['machineconfigpools', 'controllerconfigs', 'kubeletconfigs', 'containerruntimeconfigs'].map(
      (plural) => `${plural}/status`,
    ),
    verbs: ['patch'],
  },
  {
    apiGroups: CONFIGS,
    resources: ['machineconfigpools', 'controllerconfigs', 'kubeletconfigs', 'containerruntimeconfigs'].map(
      (plural) => `${plural}/finalizers`,
    ),
    verbs: ['update'],
  },
  {
    apiGroups: ['machine.sapcloud.io'],
    resources: ['machines', 'machinedeployments'],
    verbs: ['list', 'watch', 'patch'],
  },
  { apiGroups: ['machine.sapcloud.io'], resources: ['machinesets'], verbs: ['list', 'watch'] },
  { apiGroups: ['config.openshift.io'], resources: ['apiservers'], verbs: ['list', 'watch'] },
  ...ACCESS_RULES,
];

/** Permissions of the machine-config-controller in the target cluster. */
const NODE_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch', 'patch'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch', 'delete'] },
  { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: ['list', 'watch'] },
  ...ACCESS_RULES,
];

const EVENTS: readonly Rule[] = [{ apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] }];

/** Permissions in the namespace of the installation itself. RBAC cannot limit the creation of objects to one name. */
const OWN_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch', 'create'] },
  { apiGroups: [''], resources: ['secrets'], resourceNames: [CERTIFICATES.own], verbs: ['get', 'update'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    resourceNames: [CONFIG_APP],
    verbs: ['get', 'watch', 'update'],
  },
];

const OWNER = { account: CONFIG_APP, labels: LABELS };

function configRoles({ namespace }: InstallSettings): readonly object[] {
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: CONFIG_APP, namespace, labels: LABELS } },
    ...role('ClusterRole', CONFIG_APP, undefined, RULES, namespace, OWNER),
    ...role('Role', CONFIG_APP, namespace, OWN_RULES, namespace, OWNER),
    // Events about cluster-wide objects are in the namespace `default`.
    ...role('Role', `${CONFIG_APP}-events`, 'default', EVENTS, namespace, OWNER),
  ];
}

/** Returns the roles in the target cluster, including the roles of the machine-config-daemon. */
export const configTargetRoles = (settings: InstallSettings): readonly object[] => [
  ...role('ClusterRole', `${CONFIG_APP}-nodes`, undefined, NODE_RULES, settings.namespace, OWNER),
  ...role('Role', `${CONFIG_APP}-node-events`, 'default', EVENTS, settings.namespace, OWNER),
  ...daemonTargetRoles(settings),
];

const service = ({ namespace }: InstallSettings): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: CONFIG_APP, namespace, labels: LABELS },
  spec: {
    selector: CONFIG_SELECTOR,
    ports: [
      { name: CONFIG_METRICS_PORT, port: PORTS.secure, targetPort: PORTS.secure },
      { name: 'config-server', port: BOOT_PORT, targetPort: BOOT_PORT },
    ],
  },
});

const deployment = ({ namespace, replicas, kubeconfigs, configController }: InstallSettings): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: CONFIG_APP, namespace, labels: LABELS },
  spec: {
    replicas,
    selector: { matchLabels: CONFIG_SELECTOR },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template: {
      metadata: { labels: LABELS },
      spec: {
        serviceAccountName: CONFIG_APP,
        priorityClassName: 'system-cluster-critical',
        terminationGracePeriodSeconds: 30,
        securityContext: POD_SECURITY,
        containers: [
          {
            ...securedContainer({
              name: CONFIG_APP,
              image: configController.image,
              flags: {
                namespace,
                'pull-secret-namespace': namespace,
                'control-kubeconfig': kubeconfigs.control,
                'target-kubeconfig': kubeconfigs.target,
                'secure-port': String(PORTS.secure),
                'config-server-port': String(BOOT_PORT),
                'machine-pools': 'true',
                ...configController.flags,
              },
              ports: PORTS,
              port: CONFIG_METRICS_PORT,
              more: [{ name: 'config-server', containerPort: BOOT_PORT }],
              resources: configController.resources,
            }),
            volumeMounts: VOLUMES.map(({ mount }) => mount),
          },
        ],
        volumes: VOLUMES.map(({ volume }) => volume),
      },
    },
  },
});

/** Volumes of optional Secrets: kubeconfigs, and a certificate for `--config-server-cert-dir`. */
const VOLUMES = [
  ...KUBECONFIGS,
  {
    mount: { name: 'certificate', mountPath: CERTIFICATES.path, readOnly: true },
    volume: {
      name: 'certificate',
      secret: { secretName: CERTIFICATES.given, optional: true, defaultMode: 0o440 },
    },
  },
];

const budget = ({ namespace }: InstallSettings): object => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: CONFIG_APP, namespace, labels: LABELS },
  spec: { maxUnavailable: 1, selector: { matchLabels: CONFIG_SELECTOR }, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
});

export const machineConfigObjects = (settings: InstallSettings): readonly object[] => [
  ...machineConfigCrds,
  ...configRoles(settings),
  ...daemonRoles(settings),
  service(settings),
  deployment(settings),
  budget(settings),
  networkPolicyFor(CONFIG_APP, [BOOT_PORT, PORTS.secure], settings, { selector: CONFIG_SELECTOR, labels: LABELS }),
];
