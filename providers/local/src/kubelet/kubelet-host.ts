import type { Change, Clock, Informer, Logger, Node, Pod, Random } from '@mcm/kube';
import { type KubeletBehaviour, layerBehaviour } from '../machine/behaviour.ts';
import type { BootOptions, Instance, InstanceHost, KubeletControl, MachineType } from '../machine/model.ts';
import { type Access, Enrolment, type EnrolmentOptions } from './enrolment.ts';
import { HollowKubelet } from './kubelet.ts';
import type { KubeletMemory } from './node/memory.ts';

/** The options of the host on which simulated kubelets run. */
export interface KubeletHostOptions extends Pick<EnrolmentOptions, 'nodeCluster' | 'connect'> {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly memory: KubeletMemory;
  /** The default behavior of kubelets, which user data, fault rules and the admin API can override. */
  readonly defaults?: KubeletBehaviour;
}

/** Runs the kubelet of each instance, from the boot of the instance to its end. */
export class KubeletHost implements InstanceHost, KubeletControl {
  readonly #options: KubeletHostOptions;
  readonly #enrolment: Enrolment;
  readonly #kubelets = new Map<string, HollowKubelet>();
  readonly #byNode = new Map<string, HollowKubelet>();
  readonly #watched = new WeakSet<Informer<Pod> | Informer<Node>>();

  constructor(options: KubeletHostOptions) {
    this.#options = options;
    this.#enrolment = new Enrolment(options);
  }

  boot(instance: Instance, machineType: MachineType, { resumed, orders, console }: BootOptions): void {
    const { clock, random, log, memory, defaults = {} } = this.#options;
    if (orders.length > 0) {
      const state = memory.get(instance.id) ?? {};
      memory.put(instance.id, { ...state, ordered: layerBehaviour(state.ordered, ...orders) });
    }
    const kubelet = new HollowKubelet({
      instance,
      machineType,
      clock,
      random,
      log,
      memory,
      defaults,
      console,
      enrolment: this.#enrolment,
      onJoined: (joined, access) => this.#joined(joined, access),
    });
    this.#kubelets.set(instance.id, kubelet);
    kubelet.start({ resumed });
  }

  async halt(instanceId: string): Promise<void> {
    const kubelet = this.#kubelets.get(instanceId);
    if (!kubelet) return;
    this.#kubelets.delete(instanceId);
    if (this.#byNode.get(kubelet.nodeName) === kubelet) this.#byNode.delete(kubelet.nodeName);
    await kubelet.halt();
  }

  forget(instanceId: string): void {
    this.#options.memory.remove(instanceId);
  }

  behaviour(instanceId: string): KubeletBehaviour | undefined {
    return this.#kubelets.get(instanceId)?.behaviour;
  }

  order(instanceId: string, behaviour: KubeletBehaviour): boolean {
    const kubelet = this.#kubelets.get(instanceId);
    kubelet?.order(behaviour);
    return kubelet !== undefined;
  }

  /** Stops the kubelets. The machines stay powered on, and continue in the next process. */
  async close(): Promise<void> {
    await Promise.all([...this.#kubelets.keys()].map((id) => this.halt(id)));
    this.#enrolment.close();
  }

  #joined(kubelet: HollowKubelet, { client, connection }: Access): void {
    this.#byNode.set(kubelet.nodeName, kubelet);
    const informer = connection.pods(client);
    if (!this.#watched.has(informer)) {
      this.#watched.add(informer);
      informer.onChange((change) => this.#dispatch(change));
    }
    const selected = connection.selectedNodes(client);
    if (!this.#watched.has(selected)) {
      this.#watched.add(selected);
      selected.onChange(({ object }) => this.#byNode.get(object.metadata.name)?.onSelected());
    }
    kubelet.onSelected();
    if (kubelet.behaviour.configDaemon === true) this.#followNodes(connection.nodes(client), kubelet);
    for (const pod of informer.store.byIndex('node', kubelet.nodeName))
      kubelet.onPod({ type: 'added', key: `${pod.metadata.namespace}/${pod.metadata.name}`, object: pod });
  }

  #followNodes(informer: Informer<Node>, kubelet: HollowKubelet): void {
    if (!this.#watched.has(informer)) {
      this.#watched.add(informer);
      informer.onChange(({ object }) => this.#byNode.get(object.metadata.name)?.onNode());
    }
    kubelet.onNode();
  }

  #dispatch(change: Change<Pod>): void {
    const { nodeName } = change.object.spec;
    if (nodeName !== undefined) this.#byNode.get(nodeName)?.onPod(change);
  }
}
