import { machineConfigCrds } from '@mcm/machine-config';
import { type Rule, role } from './roles.ts';
import type { InstallSettings } from './settings.ts';
import { securedContainer } from './workload.ts';

/** Name of everything of the machine-config-controller. */
export const CONFIG_APP = 'machine-config-controller';
/** Labels by which its pods are found. */
export const CONFIG_SELECTOR = { 'app.kubernetes.io/name': CONFIG_APP } as const;
const LABELS = { ...CONFIG_SELECTOR, 'app.kubernetes.io/part-of': 'mcm' } as const;
const PORTS = { plain: 8797, secure: 10_270 } as const;
/** Name of the port that is scraped. */
export const CONFIG_METRICS_PORT = 'metrics-tls';

const CONFIGS = ['machineconfiguration.openshift.io'];

/** Everywhere in the cluster. What each is for: docs/permissions.md. */
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
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch', 'patch'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
];

const EVENTS: readonly Rule[] = [{ apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] }];

/** In the namespace of the installation. */
const OWN_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], resourceNames: [CONFIG_APP], verbs: ['get', 'update'] },
];

/** ServiceAccount and roles of the machine-config-controller. */
export function configRoles({ namespace }: InstallSettings): readonly object[] {
  const owner = { account: CONFIG_APP, labels: LABELS };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: CONFIG_APP, namespace, labels: LABELS } },
    ...role('ClusterRole', CONFIG_APP, undefined, RULES, namespace, owner),
    ...role('Role', CONFIG_APP, namespace, OWN_RULES, namespace, owner),
    // Events of objects without a namespace.
    ...role('Role', `${CONFIG_APP}-events`, 'default', EVENTS, namespace, owner),
  ];
}

const service = ({ namespace }: InstallSettings): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: CONFIG_APP, namespace, labels: LABELS },
  spec: {
    selector: CONFIG_SELECTOR,
    ports: [{ name: CONFIG_METRICS_PORT, port: PORTS.secure, targetPort: PORTS.secure }],
  },
});

const deployment = ({ namespace, replicas, configController }: InstallSettings): object => ({
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
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 65_532,
          runAsGroup: 65_532,
          fsGroup: 65_532,
          seccompProfile: { type: 'RuntimeDefault' },
        },
        containers: [
          securedContainer({
            name: CONFIG_APP,
            image: configController.image,
            flags: {
              ...{ namespace, 'pull-secret-namespace': namespace, 'control-kubeconfig': 'inClusterConfig' },
              ...{ 'target-kubeconfig': 'inClusterConfig', 'secure-port': String(PORTS.secure) },
              ...configController.flags,
            },
            ports: PORTS,
            port: CONFIG_METRICS_PORT,
            resources: configController.resources,
          }),
        ],
      },
    },
  },
});

const budget = ({ namespace }: InstallSettings): object => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: CONFIG_APP, namespace, labels: LABELS },
  spec: { maxUnavailable: 1, selector: { matchLabels: CONFIG_SELECTOR }, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
});

/** Everything of the machine-config-controller, for clusters that want it. */
export const machineConfigObjects = (settings: InstallSettings): readonly object[] => [
  ...machineConfigCrds,
  ...configRoles(settings),
  service(settings),
  deployment(settings),
  budget(settings),
];
