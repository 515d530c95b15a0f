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

/** The API servers, clocks and metrics that the controllers use. */
export interface Environment {
  /** The cluster of the Machine objects. */
  readonly control: KubeClient;
  /** The cluster of the nodes. `target` is undefined if there is no cluster of nodes. */
  readonly target: KubeClient | undefined;
  /** The namespace of the Machine objects. */
  readonly namespace: string;
  /** The clock, the random numbers, the log, and the settings of caches. */
  readonly runtime: InformerRuntime;
  readonly metrics?: QueueMetrics;
  /** The registry for the metrics of deployments and sets. If `meters` is absent, there are no metrics. */
  readonly meters?: Meters;
  /**
   * Records events for traces of rollouts, and is registered before the controllers start. If `traces` is absent, there
   * are no traces.
   */
  readonly traces?: Pick<Traces, 'exporter' | 'rollouts' | 'idOf' | 'events'> | undefined;
  /** Receives the decisions. If `journal` is absent, decisions are not recorded. */
  readonly journal?: Journal | undefined;
  /** In fleet mode, the reachability of the other clusters in the region of this cluster. */
  readonly region?: (() => RegionReach | undefined) | undefined;
  /** Allows disruptions by rollouts in a fleet. */
  readonly rollouts?: RolloutPermit | undefined;
}

/** The settings of the operator. Times are in milliseconds. */
export interface ManagerSettings extends SafeguardSettings {
  /** The maximum number of objects of one kind that are processed at the same time. */
  readonly concurrency: number;
  /** The maximum number of parallel objects for single controllers, by the name of the controller. */
  readonly concurrencyByController?: Readonly<Record<string, number>>;
  /** A set is frozen when the number of its machines exceeds the sum of replicas and surge by the given number. */
  readonly safetyUp: number;
  /** A frozen set is unfrozen when the number of its machines is lower than the freeze limit by the given number. */
  readonly safetyDown: number;
  readonly overshootingPeriodMs: number;
  /** Whether the manager protects the nodes of a rollout from the cluster autoscaler. */
  readonly protectNodesDuringRollout: boolean;
  /** Whether MachineDeployments have the conditions `Ready` and `Stalled`. */
  readonly readyCondition: boolean;
  /** Whether MachineDeployments and MachineSets have the field `status.blockedBy`. */
  readonly blockedBy: boolean;
  /** Whether the manager writes the ConfigMap `machine-disruptions`. */
  readonly disruptionReport: boolean;
  /** Whether warm machines follow CapacityBuffers of the target cluster. */
  readonly capacityBuffers: boolean;
}

/** The default values of the original's flags. */
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
  /** Returns true if no controller has work within `withinMs` (default 0). */
  idle(withinMs?: number): boolean;
  /** Writes the delayed events. */
  flush(): Promise<void>;
}

/** The time within which similar events are combined into one write. A rollout produces many similar events. */
const EVENT_DELAY_MS = 3_000;

function recorderOf({ control, runtime, traces }: Environment, component: string): EventRecorder {
  const recorder = createRecorder({ client: control, component, delayMs: EVENT_DELAY_MS, ...runtime });
  return traces?.events(recorder) ?? recorder;
}
const overshootOf = (
  { safetyUp, safetyDown, overshootingPeriodMs: periodMs }: ManagerSettings,
  concurrency: number,
) => ({ safetyUp, safetyDown, periodMs, concurrency });

/** The caches of the objects that several controllers write, and the client that orders their writes. */
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

/** Creates the caches and controllers. The process starts the caches and controllers when it runs their units. */
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
  // Other controllers do not wait for the objects of buffers.
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
