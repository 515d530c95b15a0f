/** Which objects are made. */
export type InstallPart = 'all' | 'control' | 'target';

/** The flags of a container, by name without dashes. */
export type ContainerFlags = Readonly<Record<string, string>>;

/** What an installation is made of. Texts may be templates of Helm. */
export interface InstallSettings {
  readonly namespace: string;
  /** `aws`, `azure`, `gcp` or `local`; names the image of the machine controller. */
  readonly provider: string;
  /** A number, or a template of one. */
  readonly replicas: number | string;
  readonly images: { readonly manager: string; readonly controller: string };
  readonly flags: { readonly manager: ContainerFlags; readonly controller: ContainerFlags };
  /**
   * As the flags take them: `inClusterConfig`, for the target `none`, or `/etc/mcm/control/kubeconfig` and `/etc/mcm/target/kubeconfig`, which
   * come from key `kubeconfig` of Secrets machine-controller-manager-control and -target.
   */
  readonly kubeconfigs: { readonly control: string; readonly target: string };
  readonly resources: { readonly manager: Resources; readonly controller: Resources };
  /** Of the API server's concurrency, next to the shares of its other priority levels. A number, or a template of one. */
  readonly shares: number | string;
  /** The machine-config-controller, where it is wanted. */
  readonly configController: { readonly image: string; readonly flags: ContainerFlags; readonly resources: Resources };
  /** The machine-config-daemon as a pod of each node, where systemd does not start it. */
  readonly configDaemon: { readonly image: string; readonly flags: ContainerFlags; readonly resources: Resources };
}

/** Requests, and the limit of memory; processor time is not limited: a throttled controller loses its lease. */
export interface Resources {
  readonly cpu: string;
  readonly memory: string;
  readonly memoryLimit: string;
}

/** Name of everything that is installed: the original's. */
export const APP = 'machine-controller-manager';

/** Labels by which the pods are found. */
export const SELECTOR = { 'app.kubernetes.io/name': APP } as const;
export const LABELS = { ...SELECTOR, 'app.kubernetes.io/part-of': 'mcm' } as const;

/** The name of what stands outside its namespace, where other installations may be too: a namespace has no dots. */
export const shared = (name: string, namespace: string): string => `${name}.${namespace}`;

/** Ports of the two containers. */
export const PORTS = {
  manager: { plain: 10_258, secure: 10_268 },
  controller: { plain: 10_259, secure: 10_269 },
  webhooks: 9443,
} as const;

/** The image of the machine controller of a provider. */
export const imageOf = (provider: string): string => `mcm/machine-controller-${provider}:0.1.0`;

/** What is left out unless asked for, by the names that a user asks with; each comes with its part in the cluster of the nodes. */
export const OPTIONAL_SECTIONS = ['machine-config', 'machine-config-daemon', 'policies', 'monitoring'] as const;

/** What is installed when nothing else is said. */
export const DEFAULT_INSTALL: InstallSettings = {
  namespace: 'default',
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
  configDaemon: {
    image: 'mcm/machine-config-daemon:0.1.0',
    flags: {},
    resources: { cpu: '10m', memory: '80Mi', memoryLimit: '300Mi' },
  },
};
