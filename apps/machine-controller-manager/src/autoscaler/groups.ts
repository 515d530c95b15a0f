import { machineClasses, machineDeployments, machineSets, machines } from '@mcm/api';
import { machineIndexes, machineSetIndexes, NodeGroups, projectMachine } from '@mcm/core';
import { createInformer, errorText, type InformerRuntime, type KubeClient, type Logger, nodes } from '@mcm/kube';

/** The clients and other objects that the node groups need. */
export interface NodeGroupContext {
  readonly control: KubeClient;
  /** The client of the cluster that contains the nodes. Without a target cluster, `target` is undefined. */
  readonly target: KubeClient | undefined;
  readonly namespace: string;
  readonly runtime: InformerRuntime;
  readonly log: Logger;
}

/** The node groups, which read from their own caches. */
export interface ServedNodeGroups {
  readonly groups: NodeGroups;
  /** Returns true if all caches contain their first lists. */
  readonly ready: () => boolean;
  /** Fills the caches until the signal is aborted. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Creates the node groups and their caches. The function opens no port, so a simulation can call the node groups. */
export function createNodeGroups({ control, target, namespace, runtime, log }: NodeGroupContext): ServedNodeGroups {
  const local = { ...runtime, namespace };
  const caches = {
    deployments: createInformer(control, machineDeployments, local),
    sets: createInformer(control, machineSets, { ...local, indexes: machineSetIndexes }),
    machines: createInformer(control, machines, { ...local, indexes: machineIndexes, project: projectMachine }),
    classes: createInformer(control, machineClasses, local),
    nodes: target && createInformer(target, nodes, runtime),
  };
  const informers = Object.values(caches).filter((informer) => informer !== undefined);
  let isReady = false;
  return {
    groups: new NodeGroups(caches, control, runtime.clock),
    ready: () => isReady,
    run: async (signal) => {
      const running = informers.map((informer) => informer.run(signal));
      void Promise.all(informers.map((informer) => informer.whenSynced(signal))).then(
        () => {
          isReady = true;
        },
        (error: unknown) => log.debug('Cannot fill the caches of the autoscaler port', { error: errorText(error) }),
      );
      await Promise.allSettled(running);
    },
  };
}
