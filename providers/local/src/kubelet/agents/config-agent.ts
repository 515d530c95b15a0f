import { type Clock, type Informer, type KubeClient, type Logger, type Node, type Random, sleep } from '@mcm/kube';
import {
  DaemonDriver,
  type DaemonHost,
  DaemonPaths,
  type MachineConfig,
  MemoryDisk,
  NodeDaemon,
  type PostAction,
  readText,
  textEntry,
  wantedDisk,
} from '@mcm/machine-config';
import type { KubeletBehaviour } from '../../machine/behaviour.ts';
import type { Life } from '../node/life.ts';
import type { StoredMachine } from '../node/memory.ts';

export interface ConfigAgentOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly life: Life;
  readonly nodeName: string;
  readonly nodes: () => Informer<Node>;
  readonly behaviour: () => KubeletBehaviour;
  readonly paused: () => boolean;
  readonly console: (line: string) => void;
  readonly outage: { failed(error: unknown): void; worked(): void };
  readonly stored: StoredMachine | undefined;
  readonly store: (machine: StoredMachine) => void;
  /** Called when a reboot starts and ends, because the Node is not ready during the reboot. */
  readonly rebooting: (off: boolean) => void;
}

const CONFIG_MS = 1_000;
export const REBOOT_MS = 2_000;
const FAILURE = 'requested by the local cloud API';

export const NEW_MACHINE: StoredMachine = {
  disk: {
    '/etc/hostname': { kind: 'file', content: '', mode: 0o644 },
    '/etc/os-release': { kind: 'file', content: Buffer.from('ID=hollow\n').toString('base64'), mode: 0o644 },
  },
  boots: 1,
  commandLine: 'ro quiet',
};

/** Simulates the machine-config daemon of a node. The agent uses the code of the real daemon, with a disk in memory. */
export class ConfigAgent {
  readonly #options: ConfigAgentOptions;
  readonly #disk: MemoryDisk;
  readonly #daemon: NodeDaemon;
  readonly #driver: DaemonDriver;
  #boots: number;
  #commandLine: string;
  #drifted = '';
  #wake: (() => void) | undefined;

  constructor(options: ConfigAgentOptions) {
    this.#options = options;
    const { client, clock, random, log, life, nodeName, nodes, outage, console } = options;
    const { disk, boots, commandLine } = options.stored ?? NEW_MACHINE;
    [this.#boots, this.#commandLine] = [boots, commandLine];
    this.#disk = new MemoryDisk(disk, () => this.#store());
    const node = {
      get: () => nodes().store.get(nodeName),
      wrote: (written: Node) => nodes().recordWrite(written),
    };
    const host = this.#host();
    this.#daemon = new NodeDaemon({ nodeName, client, node, host, clock, random, log, ended: () => life.over });
    this.#driver = new DaemonDriver(this.#daemon, life, random, (error) => {
      outage.failed(error);
      console(`config daemon: ${error instanceof Error ? error.message : String(error)}`);
    });
  }

  consider(): void {
    if (this.#options.paused()) return;
    this.#wake?.();
    this.#options.life.run(async () => {
      await this.#drift();
      this.#driver.consider();
    });
  }

  #store(): void {
    this.#options.store({ disk: this.#disk.image(), boots: this.#boots, commandLine: this.#commandLine });
  }

  #host(): DaemonHost {
    const { console } = this.#options;
    return {
      disk: this.#disk,
      bootId: async () => `boot-${this.#boots}`,
      commandLine: async () => this.#commandLine,
      setCommandLine: async (line) => {
        this.#commandLine = line;
        this.#store();
      },
      act: async (action) => console(`config daemon: ${describe(action)}`),
      prepare: (to) => this.#prepare(to),
      reboot: () => this.#reboot(),
    };
  }

  /** Simulates the work of the daemon before the update. The behavior of the kubelet defines a delay and a failure. */
  async #prepare({ metadata }: MachineConfig): Promise<void> {
    const { behaviour, console } = this.#options;
    console(`config daemon: applying ${metadata.name}`);
    await this.#pause(behaviour().configDelay ?? CONFIG_MS);
    while (behaviour().config === 'hang') await this.#untilOrdered();
    if (behaviour().config === 'fail') throw new Error(behaviour().configFailure ?? FAILURE);
  }

  async #reboot(): Promise<void> {
    const { behaviour, console, rebooting } = this.#options;
    console('config daemon: rebooting');
    rebooting(true);
    await this.#pause(behaviour().rebootDelay ?? REBOOT_MS);
    while (behaviour().reboot === 'never') await this.#untilOrdered();
    this.#boots += 1;
    this.#store();
    rebooting(false);
    console(`boot number ${this.#boots}, kernel command line: ${this.#commandLine}`);
  }

  async #pause(ms: number): Promise<void> {
    const { clock, life } = this.#options;
    if (ms > 0) await sleep(clock, ms, life.ending);
  }

  async #untilOrdered(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { ending } = this.#options.life;
    const onEnd = () => reject(ending.reason);
    ending.addEventListener('abort', onEnd, { once: true });
    this.#wake = resolve;
    await promise.finally(() => ending.removeEventListener('abort', onEnd));
  }

  async #drift(): Promise<void> {
    const { drift = '' } = this.#options.behaviour();
    if (drift === this.#drifted) return;
    const before = this.#drifted;
    this.#drifted = drift;
    if (drift !== '') await this.#disk.put(drift, textEntry('changed by hand\n', 0o644));
    const text = await readText(this.#disk, DaemonPaths.CurrentConfig);
    const wanted = text === undefined ? undefined : wantedDisk(JSON.parse(text) as MachineConfig).entries.get(before);
    if (before !== '' && wanted) await this.#disk.put(before, wanted);
    this.#daemon.diskChanged();
  }
}

function describe(action: PostAction): string {
  if (action.type === 'Reload') return `reload ${action.reload.serviceName}`;
  if (action.type === 'Restart') return `restart ${action.restart.serviceName}`;
  return action.type;
}
