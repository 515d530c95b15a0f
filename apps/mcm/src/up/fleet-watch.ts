import {
  type Machine,
  type MachineDeployment,
  type MachineSet,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import {
  type Clock,
  createInformer,
  type EventObject,
  events,
  type Informer,
  type KubeClient,
  type KubeObject,
  type Logger,
  type Random,
} from '@mcm/kube';
import { ControllerWatch } from '../controllers/watch.ts';
import { type FleetView, viewFleet } from '../screen/fleet.ts';

/** The current state of the fleet in one namespace. */
export interface FleetWatch {
  /** Resolves when each kind of object was listed once. */
  synced(signal: AbortSignal): Promise<void>;
  view(): FleetView;
}

/**
 * Time for which the controllers may be starting. The controllers start together with the watch, and until they run,
 * the Leases are from the last run.
 */
const STARTING_MS = 20_000;
const EVENTS_KEPT = 50;

export function watchFleet(
  client: KubeClient,
  namespace: string,
  options: { clock: Clock; random: Random; log: Logger; signal: AbortSignal; onChange: () => void },
): FleetWatch {
  const common = { clock: options.clock, random: options.random, log: options.log, namespace };
  const informers = {
    deployments: createInformer<MachineDeployment>(client, machineDeployments, common),
    sets: createInformer<MachineSet>(client, machineSets, common),
    machines: createInformer<Machine>(client, machines, common),
  };
  const controllers = new ControllerWatch({
    client,
    ...common,
    signal: options.signal,
    onChange: options.onChange,
    startingMs: STARTING_MS,
  });
  controllers.run();
  const eventInformer: Informer<EventObject> = createInformer<EventObject>(client, events, {
    ...common,
    // Events about the scheduling of pods are omitted, because they would hide the events of machines.
    fieldSelector: 'involvedObject.kind!=Pod',
  });
  const running = [...Object.values(informers), eventInformer] as readonly Informer<KubeObject>[];
  for (const informer of running) {
    informer.onChange(options.onChange);
    void informer.run(options.signal);
  }
  return {
    synced: async (signal) => {
      await Promise.all([...running, controllers].map((watch) => watch.whenSynced(signal)));
    },
    view: () => {
      const [deployments, fleet] = [informers.deployments.store.list(), informers.machines.store.list()];
      const health = controllers.assess(namespace, { deployments, machines: fleet });
      const recent = latest(eventInformer.store.list());
      return viewFleet(deployments, informers.sets.store.list(), fleet, recent, health);
    },
  };
}

const timeOf = (event: EventObject): string => event.lastTimestamp ?? event.metadata.creationTimestamp;

const latest = (all: readonly EventObject[]): EventObject[] =>
  [...all].sort((a, b) => timeOf(a).localeCompare(timeOf(b))).slice(-EVENTS_KEPT);
