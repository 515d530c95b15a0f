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
  type Informer,
  type KubeObject,
  type Node,
  nodes,
  pause,
  type Random,
  silentLogger,
} from '@mcm/kube';
import type { Cluster } from '../cluster/cluster.ts';
import { type ControllerHealth, notActing } from '../controllers/health.ts';
import { ControllerWatch } from '../controllers/watch.ts';
import { ofDeployments } from './narrow.ts';
import { type Branch, fleetTree, type TreeSource } from './tree.ts';

/** The minimum time between two reads of a fleet that changes. */
const GAP_MS = 1_000;
/** The interval at which the command assesses the controllers, because no event occurs if a controller stops. */
const LOOK_MS = 2_000;

export interface Look {
  readonly model: readonly Branch[];
  readonly health: readonly ControllerHealth[];
}

export interface FollowOptions {
  readonly allNamespaces: boolean;
  readonly all: boolean;
  readonly selector?: string | undefined;
  readonly name?: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/** Watches a fleet until the signal is aborted. */
export async function followTree(
  { client, target, namespace, programs }: Pick<Cluster, 'client' | 'target' | 'namespace' | 'programs'>,
  { allNamespaces, all, selector, name, clock, random, signal }: FollowOptions,
  show: (look: Look) => void,
): Promise<void> {
  let wake = Promise.withResolvers<void>();
  const onChange = (): void => wake.resolve();
  const runtime = { clock, random, log: silentLogger };
  const scope = allNamespaces ? {} : { namespace };
  const own = { ...runtime, ...scope };
  const watched = {
    deployments: createInformer<MachineDeployment>(client, machineDeployments, {
      ...own,
      labelSelector: selector,
      fieldSelector: name !== undefined ? `metadata.name=${name}` : undefined,
    }),
    sets: createInformer<MachineSet>(client, machineSets, own),
    machines: createInformer<Machine>(client, machines, own),
    nodes: createInformer<Node>(target, nodes, runtime),
  };
  const informers = Object.values(watched) as readonly Informer<KubeObject>[];
  const within = allNamespaces ? undefined : namespace;
  const controllers = new ControllerWatch({ ...runtime, client, namespace: within, signal, onChange });
  for (const informer of informers) {
    informer.onChange(onChange);
    informer.onRefused(onChange);
    void informer.run(signal);
  }
  controllers.run();
  const isKnown = (): boolean => informers.every(({ synced, refused }) => synced || refused !== undefined);
  let before = '';
  while (!signal.aborted) {
    // If mcm cannot read deployments, sets and machines, the command reports an error, because the tree would look like
    // an empty namespace.
    const refusals = [watched.deployments, watched.sets, watched.machines].map(({ refused }) => refused);
    if (refusals.every((refused) => refused !== undefined)) throw refusals[0];
    if (isKnown()) {
      const look = lookAt();
      // If only a time has changed, the tree is not printed again.
      const text = JSON.stringify([look.model, notActing(look.health)]);
      if (text !== before) show(look);
      before = text;
    }
    await pause(clock, GAP_MS, signal);
    await Promise.race([wake.promise, pause(clock, LOOK_MS, signal)]);
    wake = Promise.withResolvers<void>();
  }
  signal.throwIfAborted();

  function lookAt(): Look {
    const read: TreeSource = {
      deployments: watched.deployments.store.list(),
      sets: watched.sets.store.list(),
      machines: watched.machines.store.list(),
      nodes: watched.nodes.refused === undefined ? watched.nodes.store.list() : undefined,
    };
    const source = selector === undefined && name === undefined ? read : ofDeployments(read);
    const isIn = (ns: string) => (object: KubeObject) => object.metadata.namespace === ns;
    const names = allNamespaces
      ? new Set([...source.deployments, ...source.machines].map(({ metadata }) => metadata.namespace ?? ''))
      : new Set([namespace]);
    const health = new Map(
      [...names].sort().map((ns) => {
        const objects = {
          deployments: source.deployments.filter(isIn(ns)),
          machines: source.machines.filter(isIn(ns)),
        };
        return [ns, [...controllers.assess(ns, objects), ...(programs?.() ?? [])]] as const;
      }),
    );
    const controllersIn = (ns: string): readonly ControllerHealth[] => health.get(ns) ?? [];
    return { model: fleetTree(source, { controllersIn, allNamespaces, all }), health: [...health.values()].flat() };
  }
}
