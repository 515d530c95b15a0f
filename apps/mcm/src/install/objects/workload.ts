import { webhookSecret } from './roles.ts';
import {
  APP,
  CONTROLLER_APP,
  type ContainerFlags,
  FLEET_APP,
  type InstallSettings,
  labelsOf,
  PORTS,
  type Resources,
  selectorOf,
  shared,
} from './settings.ts';

const SECURITY = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
} as const;

export const POD_SECURITY = {
  runAsNonRoot: true,
  runAsUser: 65_532,
  runAsGroup: 65_532,
  fsGroup: 65_532,
  seccompProfile: { type: 'RuntimeDefault' },
};

const argsOf = (flags: ContainerFlags): string[] => Object.entries(flags).map(([name, value]) => `--${name}=${value}`);

export interface SecuredContainer {
  readonly name: string;
  readonly image: string;
  readonly flags: ContainerFlags;
  readonly ports: { readonly plain: number; readonly secure: number };
  readonly port: string;
  readonly more?: readonly object[];
  readonly resources: Resources;
}

/** Returns a container with probes and resource limits, and without privileges. */
export const securedContainer = ({ name, image, flags, ports, port, more = [], resources }: SecuredContainer) => ({
  name,
  image,
  args: argsOf(flags),
  ports: [{ name: port, containerPort: ports.secure }, ...more],
  // The path `/livez` fails if the process is stuck. The path `/readyz` succeeds for each working replica, even if
  // another replica is the leader.
  livenessProbe: { httpGet: { path: '/livez', port: ports.plain }, periodSeconds: 10, failureThreshold: 6 },
  readinessProbe: { httpGet: { path: '/readyz', port: ports.plain }, periodSeconds: 10 },
  resources: {
    requests: { cpu: resources.cpu, memory: resources.memory },
    limits: { memory: resources.memoryLimit },
  },
  securityContext: SECURITY,
  // The programs write no termination message, so Kubernetes shows the end of the log.
  terminationMessagePolicy: 'FallbackToLogsOnError',
});

const container = (given: Omit<SecuredContainer, 'port'>) => ({
  ...securedContainer({ ...given, port: `${given.name === APP ? 'manager' : 'controller'}-tls` }),
  volumeMounts: KUBECONFIGS.map(({ mount }) => mount),
});

/** Returns the volume of an optional Secret, which contains the kubeconfig of another cluster. */
const kubeconfigOf = (name: string) => ({
  mount: { name, mountPath: `/etc/mcm/${name}`, readOnly: true },
  volume: { name, secret: { secretName: `${APP}-${name}`, optional: true, defaultMode: 0o440 } },
});
const CONTROL = kubeconfigOf('control');
export const KUBECONFIGS = [CONTROL, kubeconfigOf('target')];

interface Pods {
  readonly name: string;
  readonly account: string;
  readonly selector: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

/** Returns the pods of the manager. */
const sharedPods = (settings: InstallSettings): Pods => ({
  name: settings.name,
  account: settings.accounts.manager,
  selector: selectorOf(settings),
  labels: labelsOf(settings),
});

/**
 * Returns the pods of a separate machine controller. No selector matches both types of pods, because their labels
 * differ.
 */
const separatePods = (settings: InstallSettings): Pods => ({
  name: CONTROLLER_APP,
  account: settings.accounts.controller,
  selector: selectorOf({ app: CONTROLLER_APP }),
  labels: labelsOf({ app: CONTROLLER_APP }),
});

const commonFlags = ({ namespace, kubeconfigs }: InstallSettings, secure: number): ContainerFlags => ({
  namespace,
  'control-kubeconfig': kubeconfigs.control,
  'target-kubeconfig': kubeconfigs.target,
  'secure-port': String(secure),
});

function managerContainer(settings: InstallSettings): object {
  const { name, namespace, images, flags, resources } = settings;
  const webhooks = {
    'webhook-port': String(PORTS.webhooks),
    'webhook-configurations': shared(name, namespace),
    'webhook-cert-secret': webhookSecret(settings),
    'webhook-names': `${name}.${namespace}.svc`,
  };
  return container({
    name: APP,
    image: images.manager,
    flags: { ...commonFlags(settings, PORTS.manager.secure), ...webhooks, ...flags.manager },
    ports: PORTS.manager,
    more: [{ name: 'webhooks', containerPort: PORTS.webhooks }],
    resources: resources.manager,
  });
}

const controllerContainer = (settings: InstallSettings): object =>
  container({
    name: CONTROLLER_APP,
    image: settings.images.controller,
    flags: { ...commonFlags(settings, PORTS.controller.secure), ...settings.flags.controller },
    ports: PORTS.controller,
    more: [],
    resources: settings.resources.controller,
  });

const templateOf = (
  { account, selector, labels }: Pods,
  containers: readonly object[],
  volumes: readonly object[] = KUBECONFIGS.map(({ volume }) => volume),
): object => ({
  metadata: { labels },
  spec: {
    serviceAccountName: account,
    priorityClassName: 'system-cluster-critical',
    terminationGracePeriodSeconds: 30,
    securityContext: POD_SECURITY,
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: selector },
      },
    ],
    containers,
    volumes,
  },
});

/** Returns a Deployment with the controllers. */
const deploymentOf = ({ namespace, replicas }: InstallSettings, pods: Pods, containers: readonly object[]): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: pods.name, namespace, labels: pods.labels },
  spec: {
    replicas,
    selector: { matchLabels: pods.selector },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template: templateOf(pods, containers),
  },
});

/** Returns the Deployment of the manager. */
export const deployment = (settings: InstallSettings): object =>
  deploymentOf(settings, sharedPods(settings), [
    managerContainer(settings),
    ...(settings.isSeparate ? [] : [controllerContainer(settings)]),
  ]);

const budgetOf = ({ namespace }: InstallSettings, { name, selector, labels }: Pods): object => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name, namespace, labels },
  spec: { maxUnavailable: 1, selector: { matchLabels: selector }, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
});

/**
 * Returns the PodDisruptionBudget of the controllers. When nodes are drained, all replicas except one stay available.
 */
export const budget = (settings: InstallSettings): object => budgetOf(settings, sharedPods(settings));

const CONTROLLER_PORT = {
  name: 'controller-tls',
  port: PORTS.controller.secure,
  targetPort: PORTS.controller.secure,
} as const;

/** Returns the Service through which the API server calls webhooks and clients read metrics. */
export const service = (settings: InstallSettings): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: settings.name, namespace: settings.namespace, labels: labelsOf(settings) },
  spec: {
    selector: selectorOf(settings),
    ports: [
      { name: 'webhooks', port: 443, targetPort: PORTS.webhooks },
      { name: 'manager-tls', port: PORTS.manager.secure, targetPort: PORTS.manager.secure },
      ...(settings.isSeparate ? [] : [CONTROLLER_PORT]),
    ],
  },
});

interface PodsOf {
  readonly selector: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * Allows connections to the metadata service of the cloud. The AWS SDK reads credentials from the metadata service if
 * the Secret contains no keys.
 */
export const METADATA_EGRESS = {
  to: [{ ipBlock: { cidr: '169.254.0.0/16' } }],
  ports: [{ protocol: 'TCP', port: 80 }],
} as const;

/**
 * Returns a network policy that allows connections to the ports of the pods, and to the ports of API servers, the cloud
 * and DNS. The addresses of API servers, the cloud and DNS are unknown, so any address is allowed.
 */
export const networkPolicyFor = (
  name: string,
  ports: readonly number[],
  { namespace }: InstallSettings,
  { selector, labels }: PodsOf,
  more: readonly object[] = [],
): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name, namespace, labels },
  spec: {
    podSelector: { matchLabels: selector },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ ports: ports.map((port) => ({ protocol: 'TCP', port })) }],
    egress: [
      { ports: [53].flatMap((port) => ['UDP', 'TCP'].map((protocol) => ({ protocol, port }))) },
      { ports: [443, 6443].map((port) => ({ protocol: 'TCP', port })) },
      ...more,
    ],
  },
});

const cloudEgress = ({ provider }: InstallSettings): readonly object[] => (provider === 'aws' ? [METADATA_EGRESS] : []);

/** Returns the network policy of the controllers. */
export const networkPolicy = (settings: InstallSettings): object =>
  networkPolicyFor(
    settings.name,
    [PORTS.webhooks, PORTS.manager.secure, ...(settings.isSeparate ? [] : [PORTS.controller.secure])],
    settings,
    sharedPods(settings),
    settings.isSeparate ? [] : cloudEgress(settings),
  );

/**
 * Returns the objects for the pods of a separate machine controller. Prometheus finds the Service by the label of the
 * installation.
 */
export const separateWorkload = (settings: InstallSettings): readonly object[] => {
  const pods = separatePods(settings);
  const { namespace } = settings;
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: pods.name, namespace, labels: labelsOf(settings) },
      spec: { selector: pods.selector, ports: [CONTROLLER_PORT] },
    },
    deploymentOf(settings, pods, [controllerContainer(settings)]),
    budgetOf(settings, pods),
    networkPolicyFor(pods.name, [PORTS.controller.secure], settings, pods, cloudEgress(settings)),
  ];
};

const fleetPods = ({ accounts }: InstallSettings): Pods => ({
  name: FLEET_APP,
  account: accounts.fleet,
  selector: selectorOf({ app: FLEET_APP }),
  labels: labelsOf({ app: FLEET_APP }),
});

/**
 * Returns the containers of a fleet's pods. The name of a replica is the ordinal of its pod, so a new pod serves the
 * clusters of the old pod.
 */
function fleetContainers(settings: InstallSettings) {
  const { namespace, kubeconfigs, images, flags, resources, fleetNamespaces, fleetSource, fleetFlags } = settings;
  const flagsOf = (secure: number): ContainerFlags => ({
    namespace,
    'control-kubeconfig': kubeconfigs.control,
    'secure-port': String(secure),
    ...(fleetSource === undefined
      ? { 'fleet-namespaces': fleetNamespaces }
      : { [fleetSource.flag]: fleetSource.selector }),
    'fleet-replica': '$(REPLICA)',
    ...fleetFlags,
  });
  const fieldPath = "metadata.labels['apps.kubernetes.io/pod-index']";
  const env = [{ name: 'REPLICA', valueFrom: { fieldRef: { fieldPath } } }];
  return (['manager', 'controller'] as const).map((program) => ({
    ...container({
      name: program === 'manager' ? APP : CONTROLLER_APP,
      image: images[program],
      flags: { ...flagsOf(PORTS[program].secure), ...flags[program] },
      ports: PORTS[program],
      resources: resources[program],
    }),
    env,
    volumeMounts: [CONTROL.mount],
  }));
}

/** Returns the StatefulSet of a fleet with its Service, its disruption budget and its network policy. */
export const fleetWorkload = (settings: InstallSettings): readonly object[] => {
  const pods = fleetPods(settings);
  const { namespace, replicas, fleetPartition: partition } = settings;
  const ports = [
    { name: 'manager-tls', port: PORTS.manager.secure, targetPort: PORTS.manager.secure },
    CONTROLLER_PORT,
  ];
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: pods.name, namespace, labels: labelsOf(settings) },
      spec: { clusterIP: 'None', selector: pods.selector, ports },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: pods.name, namespace, labels: pods.labels },
      spec: {
        replicas,
        serviceName: pods.name,
        podManagementPolicy: 'Parallel',
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition } },
        selector: { matchLabels: pods.selector },
        template: templateOf(pods, fleetContainers(settings), [CONTROL.volume]),
      },
    },
    budgetOf(settings, pods),
    networkPolicyFor(pods.name, [PORTS.manager.secure, PORTS.controller.secure], settings, pods, cloudEgress(settings)),
  ];
};
