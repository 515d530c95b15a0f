import { machineDeployments, machineSets, machines } from '@mcm/api';
import {
  type Controller,
  createInformer,
  type EventRecorder,
  type InformerRuntime,
  type KubeClient,
  type KubeObject,
  type Meters,
  type Node,
  nodes,
  podDisruptionBudgets,
  type QueueMetrics,
  type ResourceDefinition,
  type Secret,
  secrets,
  type Unit,
} from '@mcm/kube';
import {
  type ApiServerConfig,
  apiServerConfigs,
  type ConfigContext,
  type ControllerIdentity,
  containerRuntimeConfigs,
  controllerConfigs,
  createCompanionController,
  createConfigCaches,
  createDrainController,
  createKubeletConfigController,
  createMachineCaches,
  createPodCache,
  createRenderController,
  createRuntimeConfigController,
  createTemplateController,
  createUpdateController,
  fixedSettings,
  kubeletConfigs,
  type MachineFleet,
  machineConfigPools,
  machineConfigs,
  machineFleet,
  registerPoolMetrics,
  type TemplateTree,
  watchedSettings,
} from '@mcm/machine-config';

/** The clients and other objects that the controllers need. */
export interface ConfigControllerOptions {
  readonly control: KubeClient;
  readonly target: KubeClient;
  readonly recorder: EventRecorder;
  readonly nodeRecorder: EventRecorder;
  readonly runtime: InformerRuntime;
  readonly metrics?: QueueMetrics;
  /** If `meters` is undefined, no metrics are recorded. */
  readonly meters?: Meters;
  readonly tree: TemplateTree;
  readonly identity: ControllerIdentity;
}

/** The settings of the controllers, which come from flags. */
export interface ConfigSettings {
  /** The maximum number of drains at the same time. Only drains need a limit, because all other queues are short. */
  readonly concurrency: number;
  readonly pullSecretNamespace: string;
  readonly tlsProfile: string;
  readonly watchApiServerConfig: boolean;
  readonly stampVersion: boolean;
  readonly renderWhilePaused: boolean;
  readonly keepRenders: number;
  readonly haltDegraded: number;
  /** Whether pools may refer to MachineDeployments and MachineSets. */
  readonly machinePools: boolean;
}

/** The default settings of the controllers. */
export const DEFAULT_CONFIG_SETTINGS: ConfigSettings = {
  concurrency: 5,
  pullSecretNamespace: 'openshift-config',
  tlsProfile: 'Intermediate',
  watchApiServerConfig: false,
  stampVersion: true,
  renderWhilePaused: false,
  keepRenders: 10,
  haltDegraded: 0,
  machinePools: false,
};

/** The names of the controllers in this binary. */
export const CONTROLLERS = [
  'template',
  'kubelet-config',
  'container-runtime-config',
  'render',
  'update',
  'drain',
  'machine',
];

/** The controllers of this binary. */
export interface ConfigControllers {
  readonly units: readonly Unit[];
  /** Returns true if no controller will have work within the next `withinMs` milliseconds (default 0). */
  idle(withinMs?: number): boolean;
}

const MACHINE_KINDS: readonly ResourceDefinition<KubeObject>[] = [machines, machineSets, machineDeployments];

/**
 * Returns a function that decides whether the controller may uncordon a node. While the machine of the node is being
 * deleted, the node stays cordoned.
 */
const mayUncordon =
  (fleet: MachineFleet) =>
  ({ metadata }: Node): boolean =>
    fleet.machinesOf(metadata.name).every((machine) => machine.metadata.deletionTimestamp === undefined);

/** Creates the caches and controllers of the binary. */
export function createConfigControllers(
  { control, target, recorder, nodeRecorder, runtime, metrics, meters, tree, identity }: ConfigControllerOptions,
  chosen: Partial<ConfigSettings> = {},
): ConfigControllers {
  const settings = { ...DEFAULT_CONFIG_SETTINGS, ...chosen };
  const caches = createConfigCaches(control, target, runtime);
  if (meters) registerPoolMetrics(meters, caches.pools);
  const { clock, random, log } = runtime;
  const context: ConfigContext = {
    client: control,
    target,
    caches,
    clock,
    random,
    log,
    recorder,
    identity,
    metrics,
  };
  const pullSecrets = createInformer<Secret>(control, secrets, { ...runtime, namespace: settings.pullSecretNamespace });
  const podCache = createPodCache(target, runtime);
  const budgets = createInformer(target, podDisruptionBudgets, runtime);
  const base = { featureGates: {}, tlsProfile: { type: settings.tlsProfile } };
  const servers = settings.watchApiServerConfig
    ? createInformer<ApiServerConfig>(control, apiServerConfigs, runtime)
    : undefined;
  const cluster = servers ? watchedSettings(base, servers) : fixedSettings(base);
  const { stampVersion, renderWhilePaused, keepRenders, haltDegraded, concurrency } = settings;
  const configs = Object.values(caches);
  const ofServers = servers ? [servers] : [];
  const machineCaches = settings.machinePools ? createMachineCaches(control, runtime) : undefined;
  const ofMachines = machineCaches ? [machineCaches.machines, machineCaches.sets, machineCaches.deployments] : [];
  const rendering: readonly Controller[] = [
    createKubeletConfigController(context, { tree, settings: cluster }),
    createRuntimeConfigController(context, { tree, settings: cluster }),
    createRenderController(context, { renderWhilePaused, keepRenders }),
  ];
  const update = createUpdateController(context, {
    haltAt: haltDegraded,
    machines: machineCaches,
  });
  const template = createTemplateController(context, { tree, settings: cluster, secrets: pullSecrets, stampVersion });
  const drain = createDrainController(
    { ...context, recorder: nodeRecorder },
    {
      pods: podCache,
      budgets,
      concurrency,
      mayUncordon: machineCaches ? mayUncordon(machineFleet(machineCaches)) : undefined,
    },
  );
  const companions = machineCaches ? [createCompanionController(context, machineCaches)] : [];
  const needs = [
    { client: control, definition: machineConfigs },
    { client: control, definition: machineConfigPools },
    { client: control, definition: controllerConfigs },
    { client: control, definition: kubeletConfigs },
    { client: control, definition: containerRuntimeConfigs },
    ...(servers ? [{ client: control, definition: apiServerConfigs }] : []),
    { client: target, definition: nodes },
  ];
  const machineNeeds = machineCaches ? MACHINE_KINDS.map((definition) => ({ client: control, definition })) : [];
  const unit = (controller: Controller, informers: Unit['informers'], more: Unit['needs'] = []): Unit => ({
    name: controller.name,
    needs: [...needs, ...more],
    informers,
    run: (signal) => controller.run(signal),
  });
  const units = [
    unit(template, [...configs, pullSecrets, ...ofServers]),
    ...rendering.map((controller) => unit(controller, [...configs, ...ofServers])),
    unit(update, [...configs, ...ofMachines], machineNeeds),
    unit(drain, [...configs, podCache, budgets, ...ofMachines], machineNeeds),
    ...companions.map((controller) => unit(controller, [...configs, ...ofMachines], machineNeeds)),
  ];
  const all = [template, ...rendering, update, drain, ...companions];
  return { units, idle: (withinMs) => all.every((controller) => controller.idle(withinMs)) };
}
