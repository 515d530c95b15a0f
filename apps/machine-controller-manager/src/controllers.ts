import {
  EventSources,
  type Machine,
  type MachineClass,
  type MachineDeployment,
  type MachineSet,
  machineClasses,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import {
  BY_UNREST,
  CanaryChecks,
  type ControllerContext,
  CreationsUnderWay,
  createBufferCaches,
  createBufferController,
  createDeploymentController,
  createDisruptionController,
  createOvershootController,
  createSetController,
  DisruptionReport,
  DisruptionsUnderWay,
  type Journal,
  machineIndexes,
  machineSetIndexes,
  nodeIndexes,
  orderedClient,
  projectMachine,
  projectNode,
  registerManagerMetrics,
  SAFEGUARD_DEFAULTS,
  type SafeguardSettings,
  Safeguards,
  type Traces,
} from '@mcm/core';
import {
  type Controller,
  createInformer,
  createRecorder,
  type EventRecorder,
  type InformerRuntime,
  type KubeClient,
  type Meters,
  type Node,
  nodes,
  type QueueMetrics,
  type RegionReach,
  type RolloutPermit,
  type Unit,
} from '@mcm/kube';

/** The clients, the clock, the metrics and other objects that the controllers use. */
export interface Environment {
  readonly control: KubeClient;
  /** The client of the target cluster. If no target cluster exists, `target` is undefined. */
  readonly target: KubeClient | undefined;
  readonly namespace: string;
  readonly runtime: InformerRuntime;
  readonly metrics?: QueueMetrics;
  /** The registry for the metrics of deployments and sets. If `meters` is undefined, no metrics are recorded. */
  readonly meters?: Meters;
  /**
   * Records events for the traces of rollouts. The recorder must exist before the controllers start. If `traces` is
   * undefined, no traces are recorded.
   */
  readonly traces?: Pick<Traces, 'exporter' | 'rollouts' | 'idOf' | 'events'> | undefined;
  /** Records the decisions of the controllers. If `journal` is undefined, decisions are not recorded. */
  readonly journal?: Journal | undefined;
  readonly region?: (() => RegionReach | undefined) | undefined;
  /** In a fleet with a common disruption budget, decides whether a rollout may disrupt machines. */
  readonly rollouts?: RolloutPermit | undefined;
}

/** The settings of the manager, which come from flags. All times in the settings of the manager are in milliseconds. */
export interface ManagerSettings extends SafeguardSettings {
  /** The maximum number of objects that each controller processes at the same time. */
  readonly concurrency: number;
  /**
   * The maximum number of objects for some controllers. The key is the name of a controller. These values override
   * `concurrency`.
   */
  readonly concurrencyByController?: Readonly<Record<string, number>>;
  /** The manager freezes a MachineSet that has at least `safetyUp` machines more than replicas plus surge. */
  readonly safetyUp: number;
  /** The manager ends the freeze when the number of machines is at least `safetyDown` below the limit of `safetyUp`. */
  readonly safetyDown: number;
  readonly overshootingPeriodMs: number;
  /** Whether the manager protects the nodes of a rollout from the cluster autoscaler. */
  readonly protectNodesDuringRollout: boolean;
  /** Whether MachineDeployments have the conditions `Ready` and `Stalled`. */
  readonly readyCondition: boolean;
  /** Whether MachineDeployments and MachineSets have the field `status.blockedBy`. */
  readonly blockedBy: boolean;
  /** Whether the manager writes current disruptions to the ConfigMap `machine-disruptions`. */
  readonly disruptionReport: boolean;
  /** Whether warm machines are created for the CapacityBuffers in the target cluster. */
  readonly capacityBuffers: boolean;
}

/** The defaults of the settings, as in the flags of the original. */
export const DEFAULT_SETTINGS: ManagerSettings = {
  concurrency: 10,
  safetyUp: 2,
  safetyDown: 1,
  overshootingPeriodMs: 60_000,
  protectNodesDuringRollout: true,
  readyCondition: false,
  blockedBy: false,
  disruptionReport: false,
  capacityBuffers: false,
  ...SAFEGUARD_DEFAULTS,
};

export const CONTROLLERS = ['machinedeployment', 'machineset', 'overshoot-safety'];

/** The controllers of this binary. */
export interface Controllers {
  readonly units: readonly Unit[];
  /** Returns true if no controller will have work within the next `withinMs` milliseconds (default 0). */
  idle(withinMs?: number): boolean;
  /** Writes the events that the recorder has delayed to combine them with similar events. */
  flush(): Promise<void>;
}

const EVENT_DELAY_MS = 3_000;

function recorderOf({ control, runtime, traces }: Environment, component: string): EventRecorder {
  const recorder = createRecorder({ client: control, component, delayMs: EVENT_DELAY_MS, ...runtime });
  return traces?.events(recorder) ?? recorder;
}
const overshootOf = (
  { safetyUp, safetyDown, overshootingPeriodMs: periodMs }: ManagerSettings,
  concurrency: number,
) => ({ safetyUp, safetyDown, periodMs, concurrency });

/** Creates the caches of the objects that several controllers write, and the client for their writes. */
function owners({
  control,
  namespace,
  runtime,
}: Environment): Pick<ControllerContext, 'client' | 'deployments' | 'sets'> {
  const local = { ...runtime, namespace };
  const deployments = createInformer<MachineDeployment>(control, machineDeployments, local);
  const sets = createInformer<MachineSet>(control, machineSets, { ...local, indexes: machineSetIndexes });
  return { client: orderedClient(control, [deployments, sets]), deployments, sets };
}

/** Creates the caches and controllers of the binary. */
export function createControllers(environment: Environment, settings: ManagerSettings): Controllers {
  const { control, target, namespace, runtime, metrics } = environment;
  const local = { ...runtime, namespace };
  const recorder = recorderOf(environment, EventSources.MachineControllerManager);
  const setRecorder = recorderOf(environment, EventSources.MachineSetController);
  const nodeInformer =
    target && createInformer<Node>(target, nodes, { ...runtime, indexes: nodeIndexes, project: projectNode });
  const classes = createInformer<MachineClass>(control, machineClasses, local);
  const cached = createInformer<Machine>(control, machines, {
    ...local,
    indexes: machineIndexes,
    project: projectMachine,
  });
  const safeguards = new Safeguards(
    { machines: cached, classes, nodes: nodeInformer, region: environment.region },
    settings,
  );
  const report = settings.disruptionReport ? new DisruptionReport(safeguards) : undefined;
  const context: ControllerContext = {
    ...owners(environment),
    namespace,
    machines: cached,
    nodes: target && nodeInformer && { client: target, informer: nodeInformer },
    creations: new CreationsUnderWay(),
    disruptions: new DisruptionsUnderWay(),
    safeguards,
    report,
    canaryChecks: new CanaryChecks(),
    recorder,
    clock: runtime.clock,
    random: runtime.random,
    log: runtime.log,
    metrics,
    journal: environment.journal,
    traceIdOf: environment.traces?.idOf,
    blockedBy: settings.blockedBy,
    rollouts: environment.rollouts,
    protectNewNodes: settings.protectNodesDuringRollout,
  };
  if (environment.meters) registerManagerMetrics(environment.meters, context);
  environment.traces?.rollouts(context);
  const concurrency = (name: string): number => settings.concurrencyByController?.[name] ?? settings.concurrency;
  const buffers = settings.capacityBuffers && target ? createBufferCaches(target, runtime) : undefined;
  const spares = [classes, ...(nodeInformer ? [nodeInformer] : [])];
  // Only the controller of capacity buffers waits for the caches of buffers.
  const own = (name: string) => (name === 'capacity-buffer' && buffers ? [buffers.buffers, buffers.templates] : []);
  const controllers: readonly Controller[] = [
    createDeploymentController(context, { ...settings, concurrency: concurrency('machinedeployment') }),
    createSetController({ ...context, recorder: setRecorder }, { concurrency: concurrency('machineset') }),
    createOvershootController(context, overshootOf(settings, concurrency('overshoot-safety'))),
    ...(report ? [createDisruptionController(context, report)] : []),
    ...(buffers ? [createBufferController(context, buffers)] : []),
  ];
  const informers = [context.deployments, context.sets, context.machines, ...spares];
  const needs = [
    ...[machineDeployments, machineSets, machines, machineClasses].map((definition) => ({
      client: control,
      definition,
    })),
    ...(target ? [{ client: target, definition: nodes }] : []),
  ];
  const flush = async (): Promise<void> => {
    await Promise.all([recorder.flush(), setRecorder.flush(), environment.traces?.exporter.flush()]);
  };
  const units = controllers.map(
    (controller): Unit => ({
      name: controller.name,
      needs,
      informers: [...informers, ...own(controller.name)],
      spares: [...spares, ...own(controller.name)],
      quiet: () => controller.idle() && cached.store.countByIndex(BY_UNREST, '') === 0,
      run: async (signal) => {
        await controller.run(signal);
        await flush();
      },
    }),
  );
  return { units, idle: (withinMs) => controllers.every((controller) => controller.idle(withinMs)), flush };
}
