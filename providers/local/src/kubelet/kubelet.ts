import {
  backoffMs,
  type Change,
  type Clock,
  ignoreNotFound,
  isAlreadyExists,
  type KubeClient,
  type Logger,
  type Node,
  nodes,
  type Pod,
  type Random,
  withoutUndefined,
} from '@mcm/kube';
import { type KubeletBehaviour, layerBehaviour } from '../machine/behaviour.ts';
import type { Instance, MachineType } from '../machine/model.ts';
import { ConfigAgent, NEW_MACHINE, REBOOT_MS } from './agents/config-agent.ts';
import { LeaseRenewer } from './agents/lease-renewer.ts';
import { NoticeAgent } from './agents/notice-agent.ts';
import { StatusReporter } from './agents/status-reporter.ts';
import { UpdateAgent } from './agents/update-agent.ts';
import type { Access, Enrolment } from './enrolment.ts';
import { firstMachine } from './first-boot.ts';
import { Life } from './node/life.ts';
import type { KubeletMemory } from './node/memory.ts';
import { draftNode, KUBELET_VERSION, type NodeFacts, nodeLabels, nodeStatus } from './node/node-object.ts';
import { type BootConfig, parseUserData, UserDataError } from './node/user-data.ts';
import { PodRunner } from './pods/pod-runner.ts';
import { StaticPods } from './pods/static-pods.ts';
import { VolumeManager } from './volumes/volume-manager.ts';

export interface KubeletOptions {
  readonly instance: Instance;
  readonly machineType: MachineType;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly enrolment: Enrolment;
  readonly memory: KubeletMemory;
  readonly defaults: KubeletBehaviour;
  readonly console: (line: string) => void;
  readonly onJoined: (kubelet: HollowKubelet, access: Access) => void;
}

/** The delay between two attempts to join. As in the real kubelet, the delay starts at 200 ms and doubles up to 7 s. */
const JOIN_BACKOFF = { baseMs: 200, maxMs: 7_000, jitter: 0.1 };

/** A simulated kubelet, which joins the cluster, reports its status and runs pods until the machine is powered off. */
export class HollowKubelet {
  readonly #options: KubeletOptions;
  readonly #life: Life;
  #boot: BootConfig = { behaviour: {} };
  #behaviour: KubeletBehaviour;
  #readyFrom = 0;
  #wake: (() => void) | undefined;
  #access: Access | undefined;
  #lease: LeaseRenewer | undefined;
  #status: StatusReporter | undefined;
  #runner: PodRunner | undefined;
  #statics: StaticPods | undefined;
  #agent: UpdateAgent | undefined;
  #notice: NoticeAgent | undefined;
  #config: ConfigAgent | undefined;
  #rebooting = false;

  constructor(options: KubeletOptions) {
    this.#options = options;
    this.#life = new Life(options.clock, (error) =>
      options.log.error('Simulated kubelet failed', { instance: options.instance.id, error }),
    );
    this.#behaviour = options.defaults;
  }

  get nodeName(): string {
    return this.#boot.nodeName ?? this.#options.instance.name;
  }

  get behaviour(): KubeletBehaviour {
    return this.#behaviour;
  }

  start({ resumed }: { readonly resumed: boolean }): void {
    this.#life.run(async () => {
      try {
        await this.#bringUp(resumed);
      } catch (error) {
        if (!(error instanceof UserDataError)) throw error;
        this.#options.console(`kubelet: ${error.message}`);
      }
    });
  }

  order(behaviour: KubeletBehaviour): void {
    const { instance, memory } = this.#options;
    const state = memory.get(instance.id) ?? {};
    const ordered = layerBehaviour(state.ordered, behaviour);
    memory.put(instance.id, { ...state, ordered });
    const wasSilent = this.#behaviour.silent === true;
    this.#layer();
    if (behaviour.consoleText !== undefined) this.#print(behaviour.consoleText);
    this.#wake?.();
    if (this.#paused()) return;
    // After an outage, the kubelet reports its complete status again, because the cluster may have marked the node as
    // NotReady.
    if (wasSilent) this.#revive();
    else this.#status?.report();
    this.#runner?.reconsider();
    this.#agent?.consider();
    this.#notice?.consider();
    this.#config?.consider();
  }

  async halt(): Promise<void> {
    await this.#life.end();
    this.#access?.close();
  }

  onPod(change: Change<Pod>): void {
    this.#runner?.onChange(change);
    this.#statics?.onChange(change);
  }

  onSelected(): void {
    this.#agent?.consider();
  }

  onNode(): void {
    this.#config?.consider();
  }

  #revive(): void {
    this.#lease?.start(0);
    this.#status?.report({ force: true, returning: true });
  }

  #layer(): void {
    const { defaults, instance, memory } = this.#options;
    this.#behaviour = layerBehaviour(defaults, this.#boot.behaviour, memory.get(instance.id)?.ordered);
  }

  async #bringUp(resumed: boolean): Promise<void> {
    const { clock, instance, memory } = this.#options;
    const state = memory.get(instance.id);
    const rejoining = resumed && state?.joined === true;
    this.#boot = parseUserData(instance.userData);
    this.#layer();
    if (!resumed) this.#greet();
    await this.#mayJoin();
    await this.#firstBoot();
    // After a stop and a start, the machine already has its files.
    if (state?.joined !== true) await this.#life.pause(this.#behaviour.joinDelay ?? 0);
    const certificate = state?.certificate;
    const access = await this.#untilItWorks('enrol', () =>
      this.#options.enrolment.enrol(this.nodeName, this.#boot, {
        certificate,
        enrolled: state?.enrolled === true || state?.joined === true,
        signal: this.#life.signal,
      }),
    );
    this.#access = access;
    this.#remember(access);
    this.#readyFrom = rejoining ? 0 : clock.now().getTime() + (this.#behaviour.readyDelay ?? 0);
    // After a restart, a kubelet that was already registered reads its Node first.
    const known = rejoining ? await this.#untilItWorks('look', () => this.#findNode(access.client)) : undefined;
    const node = known ?? (await this.#untilItWorks('register', () => this.#register(access.client)));
    await this.#untilItWorks('lease', () => this.#holdLease(access, node, known !== undefined));
    this.#run(access, node);
  }

  /** Waits until the machine has its files, as Ignition does. */
  async #firstBoot(): Promise<void> {
    const { console, instance, memory, enrolment } = this.#options;
    const { pointer } = this.#boot;
    if (!pointer || this.#behaviour.configDaemon !== true || memory.get(instance.id)?.machine) return;
    const machine = await this.#untilItWorks('first boot', async () =>
      firstMachine(NEW_MACHINE, await enrolment.firstConfig(pointer, this.#life.signal)),
    );
    console(`ignition: wrote the files of ${pointer.server}${pointer.path}`);
    if (machine.boots > NEW_MACHINE.boots) {
      await this.#life.pause(this.#behaviour.rebootDelay ?? REBOOT_MS);
      console(`boot number ${machine.boots}, kernel command line: ${machine.commandLine}`);
    }
    memory.put(instance.id, { ...memory.get(instance.id), machine });
  }

  #greet(): void {
    const { console, instance, machineType } = this.#options;
    const { name, cpus, memoryGi } = machineType;
    console(`Booting ${instance.image} on ${name} (${cpus} cpus, ${memoryGi} GiB) in ${instance.zone}`);
    if (this.#behaviour.consoleText !== undefined) this.#print(this.#behaviour.consoleText);
    if (this.#behaviour.join === 'never') console('kubelet: disabled, this machine does not join');
  }

  #print(text: string): void {
    for (const line of text.split('\n')) this.#options.console(line);
  }

  /**
   * Stores the credentials before the Node is created. When the Node exists, the machine controller deletes the
   * bootstrap token.
   */
  #remember({ certificate }: Access): void {
    const { instance, memory } = this.#options;
    const state = memory.get(instance.id) ?? {};
    if (state.enrolled && state.certificate === certificate) return;
    memory.put(instance.id, { ...state, enrolled: true, ...withoutUndefined({ certificate }) });
  }

  async #mayJoin(): Promise<void> {
    this.#life.ending.throwIfAborted();
    while (this.#behaviour.join === 'never' || this.#paused()) {
      const woken = Promise.withResolvers<void>();
      this.#wake = woken.resolve;
      const onEnd = (): void => woken.reject(this.#life.ending.reason);
      this.#life.ending.addEventListener('abort', onEnd, { once: true });
      await woken.promise.finally(() => this.#life.ending.removeEventListener('abort', onEnd));
    }
  }

  async #untilItWorks<T>(activity: string, attempt: () => Promise<T>): Promise<T> {
    const { console, random } = this.#options;
    let said = '';
    for (let failures = 1; ; failures++) {
      await this.#mayJoin();
      try {
        return await attempt();
      } catch (error) {
        if (error instanceof UserDataError || this.#life.over) throw error;
        const text = error instanceof Error ? error.message : String(error);
        if (text !== said) console(`kubelet: ${activity} failed, retrying: ${text}`);
        said = text;
      }
      await this.#life.pause(backoffMs(JOIN_BACKOFF, failures, random));
    }
  }

  #findNode(client: KubeClient): Promise<Node | undefined> {
    return ignoreNotFound(client.resource(nodes).get(this.nodeName, { signal: this.#life.signal }));
  }

  /** Registers the Node, or takes over an existing Node with an equal name, like a real kubelet. */
  async #register(client: KubeClient): Promise<Node> {
    const { clock, console } = this.#options;
    const resource = client.resource(nodes);
    const { signal } = this.#life;
    try {
      const node = await resource.create(draftNode(this.#facts(), clock.now(), this.#ready()), { signal });
      console(`kubelet ${KUBELET_VERSION}: registered node ${this.nodeName}`);
      return node;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    const { spec, metadata } = draftNode(this.#facts(), clock.now(), this.#ready());
    const existing = await resource.get(this.nodeName, { signal });
    const body = {
      metadata: { labels: metadata.labels ?? nodeLabels(this.#facts()) },
      spec: existing.spec.providerID ? undefined : { providerID: spec.providerID },
    };
    await resource.patch(this.nodeName, { type: 'merge', body }, { signal });
    const status = nodeStatus(this.#facts(), clock.now(), this.#ready());
    console(`kubelet ${KUBELET_VERSION}: took over node ${this.nodeName}`);
    return resource.patch(this.nodeName, { type: 'strategic', body: { status } }, { subresource: 'status', signal });
  }

  async #holdLease(access: Access, node: Node, known: boolean): Promise<void> {
    const { clock, random } = this.#options;
    const { client, outage } = access;
    this.#lease ??= new LeaseRenewer({
      client,
      clock,
      random,
      life: this.#life,
      nodeName: this.nodeName,
      outage,
      paused: () => this.#paused(),
      onRecovered: () => this.#status?.report({ force: true, returning: true }),
      findNode: async () => (await this.#findNode(client))?.metadata.uid,
    });
    if (known) return this.#lease.start(0);
    await this.#lease.create(node.metadata.uid);
    this.#lease.start();
  }

  #noticeAgent({ client, outage }: Access): NoticeAgent {
    const behaviour = (): KubeletBehaviour => this.#behaviour;
    return new NoticeAgent({ client, life: this.#life, nodeName: this.nodeName, outage, behaviour });
  }

  #run(access: Access, node: Node): void {
    const { clock, random, instance, memory } = this.#options;
    const { client, connection, outage } = access;
    const common = { client, clock, life: this.#life, outage, paused: () => this.#paused() };
    const volumes = new VolumeManager({
      client,
      life: this.#life,
      nodeName: this.nodeName,
      outage,
      nodes: () => connection.nodes(client),
      onChange: () => {
        this.#status?.report();
        runner.reconsider();
      },
    });
    const runner = new PodRunner({
      ...common,
      hostIp: instance.privateIp,
      behaviour: () => this.#behaviour,
      onPods: () => volumes.sync(runner.running()),
      volumesAttached: (pod) => volumes.attached(pod),
    });
    this.#runner = runner;
    this.#life.ending.addEventListener('abort', () => volumes.close(), { once: true });
    this.#statics = new StaticPods({ client, life: this.#life, node, outage, staticPods: this.#boot.staticPods ?? [] });
    this.#status = new StatusReporter(
      {
        ...common,
        random,
        facts: () => this.#facts(),
        ready: () => this.#ready(),
        volumesInUse: () => volumes.inUse(),
      },
      node,
    );
    this.#agent = new UpdateAgent({
      client,
      life: this.#life,
      nodeName: this.nodeName,
      outage,
      selected: () => connection.selectedNodes(client),
      behaviour: () => this.#behaviour,
      paused: () => this.#paused(),
      console: (line) => this.#options.console(line),
    });
    this.#notice = this.#noticeAgent(access);
    this.#notice.consider();
    if (this.#behaviour.configDaemon === true) this.#config = this.#configAgent(access);
    const state = memory.get(instance.id) ?? {};
    if (state.joined !== true) memory.put(instance.id, { ...state, joined: true });
    this.#options.onJoined(this, access);
    this.#statics.start();
    this.#status.report();
    const wait = this.#readyFrom - clock.now().getTime();
    if (wait > 0) this.#life.after(wait, () => this.#status?.report());
  }

  #configAgent({ client, connection, outage }: Access): ConfigAgent {
    const { clock, random, log, instance, memory } = this.#options;
    return new ConfigAgent({
      client,
      clock,
      random,
      log,
      life: this.#life,
      nodeName: this.nodeName,
      outage,
      nodes: () => connection.nodes(client),
      behaviour: () => this.#behaviour,
      paused: () => this.#paused(),
      console: (line) => this.#options.console(line),
      stored: memory.get(instance.id)?.machine,
      store: (machine) => memory.put(instance.id, { ...memory.get(instance.id), machine }),
      rebooting: (off) => {
        this.#rebooting = off;
        this.#status?.report();
      },
    });
  }

  #facts(): NodeFacts {
    const { instance, machineType } = this.#options;
    return { name: this.nodeName, instance, machineType, boot: this.#boot, behaviour: this.#behaviour };
  }

  #ready(): boolean {
    return (
      !this.#rebooting && this.#behaviour.ready !== false && this.#options.clock.now().getTime() >= this.#readyFrom
    );
  }

  #paused(): boolean {
    return this.#behaviour.silent === true;
  }
}
