import {
  type Change,
  type Clock,
  isInvalid,
  type KubeClient,
  KubeError,
  type Node,
  nodes,
  type Pod,
  pods,
  type VolumeAttachment,
} from '@mcm/kube';
import type { BootOptions, Instance, InstanceHost, MachineType } from '@mcm/provider-local';
import { formatProviderId } from '@mcm/provider-local';
import type { ApiCache } from './api-cache.ts';
import { CSI_DRIVER } from './apps.ts';

export const LOST_AFTER_MS = 50_000;
const READY_AFTER_MS = 500;
const REGISTER_AGAIN_MS = 1_000;
const SILENT_OF_LATE_MS = 60_000;

interface HollowNode {
  readonly instance: Instance;
  joined: boolean;
  silent: boolean;
  silentSince: number;
  readonly busy: Set<string>;
}

const volumesInUse = (mounted: ReadonlySet<string> = new Set()): string[] =>
  [...mounted].sort().map((volume) => `kubernetes.io/csi/${CSI_DRIVER}^${volume}`);

/** Simulated kubelets. */
export class HollowNodes implements InstanceHost {
  readonly #clock: Clock;
  readonly #client: KubeClient;
  readonly #cache: ApiCache;
  readonly #nodes = new Map<string, HollowNode>();
  readonly #fail: (text: string) => void;
  joinDelayMs = 0;
  unmountMs = 0;
  readonly #mounted = new Map<string, Set<string>>();

  readonly #reports = new Map<string, Promise<void>>();

  constructor(options: { clock: Clock; client: KubeClient; cache: ApiCache; fail: (text: string) => void }) {
    this.#clock = options.clock;
    this.#client = options.client;
    this.#cache = options.cache;
    this.#fail = options.fail;
    this.#cache.pods.onChange((change) => this.#podChanged(change));
    this.#cache.attachments.onChange((change) => this.#attachmentChanged(change));
    this.#cache.nodes.onChange((change) => this.#nodeChanged(change));
  }

  boot(instance: Instance, _type: MachineType, { orders }: BootOptions): void {
    const node: HollowNode = { instance, joined: false, silent: false, silentSince: 0, busy: new Set() };
    this.#nodes.set(instance.name, node);
    this.#mounted.delete(instance.name);
    const order = Object.assign({}, ...orders) as { join?: string; joinDelay?: number };
    if (order.join === 'never') return;
    this.#clock.setTimeout(() => this.#try(() => this.#join(node)), order.joinDelay ?? this.joinDelayMs);
  }

  halt(instanceId: string): Promise<void> {
    for (const [name, { instance }] of this.#nodes) if (instance.id === instanceId) this.#nodes.delete(name);
    return Promise.resolve();
  }

  forget(): void {
    // Simulated kubelets store nothing on a disk, so nothing is deleted.
  }

  get names(): string[] {
    return [...this.#nodes.keys()].sort();
  }

  usersOf(volume: string): string[] {
    const since = this.#clock.now().getTime() - SILENT_OF_LATE_MS;
    const known = ({ silent, silentSince }: HollowNode): boolean => !silent && silentSince < since;
    return [...this.#nodes].flatMap(([name, node]) =>
      known(node) && this.#mounted.get(name)?.has(volume) ? [name] : [],
    );
  }

  silence(name: string, silent: boolean): void {
    const node = this.#nodes.get(name);
    if (!node || node.silent === silent) return;
    node.silent = silent;
    node.silentSince = this.#clock.now().getTime();
    if (!silent) {
      this.#try(() => this.#report(node, 'True'));
      for (const pod of this.#podsOn(name)) this.#look(pod);
      return;
    }
    const since = node.silentSince;
    this.#clock.setTimeout(() => {
      if (node.silent && node.silentSince === since) this.#try(() => this.#report(node, 'Unknown'));
    }, LOST_AFTER_MS);
  }

  #isAlive(node: HollowNode): boolean {
    return this.#nodes.get(node.instance.name) === node;
  }

  /** Runs `work`, and ignores the error if the object was deleted or changed meanwhile. */
  #try(work: () => Promise<void>): void {
    void work().catch((error: unknown) => {
      if (error instanceof KubeError && [404, 409].includes(error.code)) return;
      this.#fail(`the simulation failed: ${String(error)}`);
    });
  }

  async #join(node: HollowNode): Promise<void> {
    if (!this.#isAlive(node) || node.silent) return;
    node.joined = true;
    const { name, zone, id } = node.instance;
    const metadata = { name, labels: { 'kubernetes.io/hostname': name } };
    const spec = { providerID: formatProviderId({ zone, id }) };
    // The new Node must list its mounted volumes, because Kubernetes detaches all volumes that a Node does not list.
    const status = { volumesInUse: volumesInUse(this.#mounted.get(name)) };
    try {
      await this.#client.resource(nodes).create({ metadata, spec, status });
    } catch (error) {
      if (!(error instanceof KubeError) || error.code !== 409) throw error;
    }
    await this.#report(node, 'True');
  }

  async #report(node: HollowNode, ready: 'True' | 'Unknown'): Promise<void> {
    if (!this.#isAlive(node) || !node.joined) return;
    const { name } = node.instance;
    const lastTransitionTime = this.#clock
      .now()
      .toISOString()
      .replace(/\.\d+Z$/, 'Z');
    const status = {
      capacity: { pods: '110', cpu: '8', memory: '16Gi' },
      allocatable: { pods: '110', cpu: '8', memory: '16Gi' },
      conditions: [{ type: 'Ready', status: ready, reason: 'Kubelet', lastTransitionTime }],
    };
    const before = this.#cache.nodes.store.get(name)?.status?.conditions?.find(({ type }) => type === 'Ready');
    if (before?.status === ready) return;
    const others = (this.#cache.nodes.store.get(name)?.status?.conditions ?? []).filter(({ type }) => type !== 'Ready');
    const body = { status: { ...status, conditions: [...others, ...status.conditions] } };
    await this.#client.resource(nodes).patch(name, { type: 'merge', body }, { subresource: 'status' });
    // The taint that the node lifecycle controller would add.
    const unreachable = { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' };
    const taints = ready === 'True' ? null : [unreachable];
    await this.#client.resource(nodes).patch(name, { type: 'merge', body: { spec: { taints } } });
  }

  #nodeChanged(change: Change<Node>): void {
    const node = this.#nodes.get(change.object.metadata.name);
    if (change.type !== 'deleted' || !node?.joined) return;
    this.#clock.setTimeout(() => this.#try(() => this.#join(node)), REGISTER_AGAIN_MS);
  }

  #podsOn(name: string): readonly Pod[] {
    return this.#cache.pods.store.byIndex('node', name);
  }

  #podChanged(change: Change<Pod>): void {
    if (change.type !== 'deleted') this.#look(change.object);
    else this.#unmount(change.object);
  }

  #attachmentChanged(change: Change<VolumeAttachment>): void {
    for (const pod of this.#cache.pods.store.list()) if (pod.spec.volumes?.length) this.#look(pod);
    void change;
  }

  #look(pod: Pod): void {
    const node = this.#nodes.get(pod.spec.nodeName ?? '');
    if (!node || node.silent) return;
    if (pod.metadata.deletionTimestamp) this.#end(node, pod);
    else if (pod.status?.phase !== 'Running') this.#start(node, pod);
  }

  async #mount(nodeName: string, volumes: readonly string[], mounted: boolean): Promise<void> {
    if (volumes.length === 0) return;
    const all = this.#mounted.get(nodeName) ?? new Set();
    this.#mounted.set(nodeName, all);
    for (const volume of volumes) {
      if (mounted) all.add(volume);
      else all.delete(volume);
    }
    const write = (): Promise<void> => this.#reportMounts(nodeName, all);
    const report = (this.#reports.get(nodeName) ?? Promise.resolve()).then(write, write);
    this.#reports.set(nodeName, report);
    await report;
  }

  async #reportMounts(nodeName: string, all: ReadonlySet<string>): Promise<void> {
    const body = { status: { volumesInUse: volumesInUse(all) } };
    await this.#client.resource(nodes).patch(nodeName, { type: 'merge', body }, { subresource: 'status' });
  }

  #unmount(pod: Pod): void {
    const node = this.#nodes.get(pod.spec.nodeName ?? '');
    const volumes = this.#cache.volumesOf(pod);
    if (!node || volumes.length === 0) return;
    this.#clock.setTimeout(() => {
      if (this.#isAlive(node)) this.#try(() => this.#mount(node.instance.name, volumes, false));
    }, this.unmountMs);
  }

  #start(node: HollowNode, pod: Pod): void {
    const { uid, name, namespace = '' } = pod.metadata;
    if (node.busy.has(uid) || !this.#hasVolumes(node, pod)) return;
    node.busy.add(uid);
    this.#clock.setTimeout(() => {
      node.busy.delete(uid);
      const now = this.#cache.pods.store.get(`${namespace}/${name}`);
      if (!this.#isAlive(node) || node.silent || now?.metadata.uid !== uid || now.metadata.deletionTimestamp) return;
      if (!this.#hasVolumes(node, pod)) return;
      const body = { metadata: { uid }, status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
      this.#try(async () => {
        await this.#mount(node.instance.name, this.#cache.volumesOf(pod), true);
        await this.#client
          .resource(pods, namespace)
          .patch(name, { type: 'merge', body }, { subresource: 'status' })
          .catch((error: unknown) => {
            if (!isInvalid(error)) throw error;
          });
      });
    }, READY_AFTER_MS);
  }

  #hasVolumes(node: HollowNode, pod: Pod): boolean {
    return this.#cache.volumesOf(pod).every((volume) => {
      const all = this.#cache.attachments.store.byIndex('volume', volume);
      return all.some(({ spec }) => spec.nodeName === node.instance.name) && all.length === 1;
    });
  }

  #end(node: HollowNode, pod: Pod): void {
    const { uid, name, namespace = '', deletionTimestamp = '' } = pod.metadata;
    const key = `${uid}/end`;
    if (node.busy.has(key)) return;
    node.busy.add(key);
    const ms = Math.max(new Date(deletionTimestamp).getTime() - this.#clock.now().getTime(), 0);
    this.#clock.setTimeout(() => {
      node.busy.delete(key);
      if (!this.#isAlive(node) || node.silent) return;
      this.#try(async () => {
        const options = { gracePeriodSeconds: 0, preconditions: { uid } };
        await this.#client.resource(pods, namespace).delete(name, options);
      });
    }, ms);
  }
}
