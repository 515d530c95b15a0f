export type InstallPart = 'all' | 'control' | 'target';

/** The flags of a container by name. The names have no dashes at the start. */
export type ContainerFlags = Readonly<Record<string, string>>;

/** The settings of an installation. In the chart, string settings are Helm templates. */
export interface InstallSettings {
  readonly namespace: string;
  /** The name of the installation. Several installations in one namespace must have different names. */
  readonly name: string;
  readonly app: string;
  /** The names of the ServiceAccounts. If both programs run in one pod, they share one ServiceAccount. */
  readonly accounts: { readonly manager: string; readonly controller: string; readonly fleet: string };
  /** Whether the machine controller runs in separate pods with its own ServiceAccount. */
  readonly isSeparate: boolean;
  readonly fleetNamespaces: string;
  /** With this flag, a fleet serves the clusters of another project instead of labelled namespaces. */
  readonly fleetSource?: { readonly flag: 'fleet-clusters' | 'fleet-cluster-profiles'; readonly selector: string };
  /** Additional flags of both programs of a fleet. */
  readonly fleetFlags: ContainerFlags;
  /** An upgrade of a fleet replaces the pods with this ordinal or a higher one. */
  readonly fleetPartition: number | string;
  readonly provider: string;
  readonly replicas: number | string;
  readonly images: { readonly manager: string; readonly controller: string };
  readonly flags: { readonly manager: ContainerFlags; readonly controller: ContainerFlags };
  /**
   * The values of the kubeconfig flags: `inClusterConfig`, `none` (only for target), `/etc/mcm/control/kubeconfig` or
   * `/etc/mcm/target/kubeconfig`. The kubeconfig files come from the Secrets machine-controller-manager-control and
   * machine-controller-manager-target (key `kubeconfig`).
   */
  readonly kubeconfigs: { readonly control: string; readonly target: string };
  readonly resources: { readonly manager: Resources; readonly controller: Resources };
  readonly shares: number | string;
  /** The address of the folder with the runbooks. If `runbookBaseUrl` is undefined, alerts contain no links. */
  readonly runbookBaseUrl?: string;
  readonly configController: { readonly image: string; readonly flags: ContainerFlags; readonly resources: Resources };
  readonly dashboard: { readonly image: string; readonly flags: ContainerFlags; readonly resources: Resources };
  readonly configDaemon: { readonly image: string; readonly flags: ContainerFlags; readonly resources: Resources };
}

/** The resources of a container. CPU has no limit, because a throttled controller can lose its Lease. */
export interface Resources {
  readonly cpu: string;
  readonly memory: string;
  readonly memoryLimit: string;
}

/**
 * The name of the manager and of the installation. As in the original, the container and the Lease of the manager have
 * the name of the installation.
 */
export const APP = 'machine-controller-manager';

/** The name of the container, the Lease, the roles and the separate pods of the machine controller. */
export const CONTROLLER_APP = 'machine-controller';

export const FLEET_APP = 'mcm-fleet';

/** The sections that are not part of a fleet. */
export const NOT_IN_FLEET: readonly string[] = ['rbac', 'target-rbac', 'webhooks', 'workload', 'network-policy'];

/** Returns the settings for the objects of a separate machine controller. */
export const separated = (settings: InstallSettings): InstallSettings => ({
  ...settings,
  accounts: { ...settings.accounts, controller: CONTROLLER_APP },
  isSeparate: true,
});

export const selectorOf = ({ app }: Pick<InstallSettings, 'app'>): Readonly<Record<string, string>> => ({
  'app.kubernetes.io/name': app,
});

export const labelsOf = (settings: Pick<InstallSettings, 'app'>): Readonly<Record<string, string>> => ({
  ...selectorOf(settings),
  'app.kubernetes.io/part-of': 'mcm',
});

/**
 * Returns the name of a cluster-wide object, which consists of the name and the namespace of the installation. A
 * namespace contains no dot, so the names of two installations are different.
 */
export const shared = (name: string, namespace: string): string => `${name}.${namespace}`;

export const PORTS = {
  manager: { plain: 10_258, secure: 10_268 },
  controller: { plain: 10_259, secure: 10_269 },
  webhooks: 9443,
} as const;

/** The providers of this project. The name of a provider is a part of the image name. */
export const PROVIDERS = ['aws', 'azure', 'gcp', 'local'] as const;

export const imageOf = (provider: string): string => `mcm/machine-controller-${provider}:0.1.0`;

/** The values of the flag `--with`. Each value selects an optional part of the installation. */
export const OPTIONAL_SECTIONS = [
  'separate-controller',
  'fleet',
  'machine-config',
  'machine-config-daemon',
  'dashboard',
  'policies',
  'monitoring',
] as const;

/** The default settings. */
export const DEFAULT_INSTALL: InstallSettings = {
  namespace: 'default',
  name: APP,
  app: APP,
  accounts: { manager: APP, controller: APP, fleet: FLEET_APP },
  isSeparate: false,
  fleetNamespaces: `${FLEET_APP}=local`,
  fleetFlags: {},
  fleetPartition: 0,
  provider: 'local',
  replicas: 2,
  images: { manager: 'mcm/machine-controller-manager:0.1.0', controller: imageOf('local') },
  flags: { manager: {}, controller: {} },
  kubeconfigs: { control: 'inClusterConfig', target: 'inClusterConfig' },
  resources: {
    manager: { cpu: '20m', memory: '100Mi', memoryLimit: '512Mi' },
    controller: { cpu: '50m', memory: '150Mi', memoryLimit: '1Gi' },
  },
  shares: 20,
  configController: {
    image: 'mcm/machine-config-controller:0.1.0',
    flags: {},
    resources: { cpu: '20m', memory: '150Mi', memoryLimit: '1Gi' },
  },
  dashboard: {
    image: 'mcm/mcm:0.1.0',
    flags: {},
    resources: { cpu: '20m', memory: '150Mi', memoryLimit: '512Mi' },
  },
  configDaemon: {
    image: 'mcm/machine-config-daemon:0.1.0',
    flags: {},
    resources: { cpu: '10m', memory: '80Mi', memoryLimit: '300Mi' },
  },
};
