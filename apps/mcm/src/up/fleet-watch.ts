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
import type { ControllerHealth } from '../controllers/health.ts';
import { ControllerWatch } from '../controllers/watch.ts';
import { type FleetView, viewFleet } from '../screen/fleet.ts';

export interface FleetWatch {
  synced(signal: AbortSignal): Promise<void>;
  view(): FleetView;
}

const STARTING_MS = 20_000;

export function watchFleet(
  client: KubeClient,
  namespace: string,
  options: {
    clock: Clock;
    random: Random;
    log: Logger;
    signal: AbortSignal;
    onChange: () => void;
    /** Returns the programs of `mcm up` that do not respond to requests. */
    programs?: () => readonly ControllerHealth[];
  },
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
    // The screen does not show events of pods, and most events in a cluster are events of pods.
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
      const health = [
        ...controllers.assess(namespace, { deployments, machines: fleet }),
        ...(options.programs?.() ?? []),
      ];
      return viewFleet(deployments, informers.sets.store.list(), fleet, eventInformer.store.list(), health);
    },
  };
}
