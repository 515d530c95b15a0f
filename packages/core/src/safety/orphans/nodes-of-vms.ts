import { Labels } from '@mcm/api';
import { type KubeClient, type Node, nodes } from '@mcm/kube';
import type { Caches } from '../../cluster/caches.ts';
import { instanceKey } from '../../node/instance.ts';
import { type ListedVm, type Use, useOf } from './served.ts';

export interface NodesOfVmsOptions {
  readonly caches: Caches;
  readonly target: KubeClient | undefined;
}

const PAGE = 500;

interface Lookup {
  readonly byName: (name: string) => readonly Node[];
  readonly byInstance: (key: string) => readonly Node[];
  readonly byMachine: (name: string) => readonly Node[];
}

/**
 * Finds the Ready Nodes of VMs without a machine. After an outage, the cache of Nodes may be older than the cache of
 * Machines. If the cache contains no Ready Node of a VM, mcm lists all Nodes once from the API server.
 */
export class NodesOfVms {
  readonly #o: NodesOfVmsOptions;
  #live: Promise<Lookup> | undefined;

  constructor(options: NodesOfVmsOptions) {
    this.#o = options;
  }

  /**
   * Returns whether a Node runs on the VM.
   * @throws KubeError if the API server refuses the list of Nodes
   */
  async useOf(about: Omit<ListedVm, 'nodes'>): Promise<Use> {
    const { target } = this.#o.caches;
    if (!target) return { use: 'none' };
    const { store } = target.nodes;
    const cached: Lookup = {
      byName: (name) => present(store.get(name)),
      byInstance: (key) => store.byIndex('instance', key),
      byMachine: (name) => store.byIndex('machine', name),
    };
    const use = useOf({ ...about, nodes: candidates(cached, about) });
    if (use.use === 'claimed' || use.use === 'unclaimed') return use;
    this.#live ??= this.#list();
    return useOf({ ...about, nodes: candidates(await this.#live, about) });
  }

  async #list(): Promise<Lookup> {
    const { target } = this.#o;
    const found: Node[] = [];
    let token: string | undefined;
    do {
      const page = await target?.resource(nodes).list({ limit: PAGE, continue: token });
      found.push(...(page?.items ?? []));
      token = page?.metadata.continue;
    } while (token);
    const names = new Map(found.map((node) => [node.metadata.name, node]));
    const instances = Map.groupBy(found, ({ spec }) => instanceKey(spec.providerID ?? ''));
    const machines = Map.groupBy(found, ({ metadata }) => metadata.labels?.[Labels.MachineName] ?? '');
    return {
      byName: (name) => present(names.get(name)),
      byInstance: (key) => instances.get(key) ?? [],
      byMachine: (name) => machines.get(name) ?? [],
    };
  }
}

const present = (node: Node | undefined): readonly Node[] => (node ? [node] : []);

const candidates = (lookup: Lookup, { vm, machine }: Omit<ListedVm, 'nodes'>): readonly Node[] => [
  ...lookup.byInstance(instanceKey(vm.providerId)),
  ...lookup.byMachine(vm.machineName),
  ...lookup.byName(vm.machineName),
  ...lookup.byName(machine?.metadata.labels?.[Labels.Node] ?? ''),
];
