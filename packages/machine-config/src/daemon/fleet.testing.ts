import {
  type Clock,
  createInformer,
  type Informer,
  type KubeClient,
  type Node,
  nodes,
  seededRandom,
  silentLogger,
} from '@mcm/kube';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { NodeDaemon } from './daemon.ts';
import type { Entry, NodeDisk } from './disk/disk.ts';
import type { DaemonHost } from './disk/host.ts';
import { MemoryDisk } from './disk/memory-disk.ts';
import { DaemonDriver } from './drive.ts';
import type { PostAction } from './policy/disruption.ts';

export class PlayedHost implements DaemonHost {
  readonly memory = new MemoryDisk({ '/etc/hostname': { kind: 'file', content: '', mode: 0o644 } });
  readonly disk: NodeDisk;
  readonly actions: string[] = [];
  readonly services: string[] = [];
  left = Number.POSITIVE_INFINITY;
  done = false;
  boots = 0;
  line = 'ro quiet';
  fails: (config: string) => boolean = () => false;

  constructor() {
    this.disk = {
      read: (path) => this.memory.read(path),
      owned: (found, wanted) => this.memory.owned(found, wanted),
      put: (path, entry: Entry) => this.#step(() => this.memory.put(path, entry)),
      remove: (path) => this.#step(() => this.memory.remove(path)),
    };
  }

  async #step(work: () => Promise<void>): Promise<void> {
    this.left -= 1;
    if (this.left < 0) {
      if (this.left === -1 && this.done) await work();
      return new Promise(() => undefined);
    }
    return work();
  }

  bootId = async () => `boot-${this.boots}`;
  commandLine = async () => this.line;
  setCommandLine = (line: string) =>
    this.#step(async () => {
      this.line = line;
    });
  act = (action: PostAction) =>
    this.#step(async () => {
      this.actions.push(action.type);
      if (action.type === 'Restart') this.services.push(`Restart ${action.restart.serviceName}`);
      if (action.type === 'Reload') this.services.push(`Reload ${action.reload.serviceName}`);
    });
  reboot = () =>
    this.#step(async () => {
      this.boots += 1;
    });

  async prepare(to: MachineConfig): Promise<void> {
    if (this.fails(to.metadata.name)) throw new Error('cannot write');
  }
}

export class PlayedFleet {
  readonly hosts = new Map<string, PlayedHost>();
  readonly #drivers = new Map<string, DaemonDriver>();
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #nodes: Informer<Node>;
  readonly #stop = new AbortController();
  fails: (config: string) => boolean = () => false;

  constructor(client: KubeClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
    this.#nodes = createInformer(client, nodes, { clock, random: seededRandom(5), log: silentLogger });
    this.#nodes.onChange(({ object }) => this.#driver(object.metadata.name).consider());
    void this.#nodes.run(this.#stop.signal);
  }

  host(name: string): PlayedHost {
    let host = this.hosts.get(name);
    if (!host) {
      host = new PlayedHost();
      host.fails = (config) => this.fails(config);
      this.hosts.set(name, host);
    }
    return host;
  }

  restart(name: string): void {
    this.host(name).left = Number.POSITIVE_INFINITY;
    this.#drivers.delete(name);
    this.#driver(name).consider();
  }

  stop(): void {
    this.#stop.abort();
  }

  #driver(nodeName: string): DaemonDriver {
    const known = this.#drivers.get(nodeName);
    if (known) return known;
    const random = seededRandom(9);
    const clock = this.#clock;
    const store = {
      get: () => this.#nodes.store.get(nodeName),
      wrote: (node: Node) => this.#nodes.recordWrite(node),
    };
    const daemon = new NodeDaemon({
      nodeName,
      client: this.#client,
      node: store,
      host: this.host(nodeName),
      clock,
      random,
      log: silentLogger,
    });
    const { signal } = this.#stop;
    const life = {
      signal,
      run: (work: () => Promise<void>) => void work().catch(() => undefined),
      after: (ms: number, work: () => void) =>
        clock.setTimeout(() => {
          if (!signal.aborted && this.#drivers.get(nodeName) === driver) work();
        }, ms),
    };
    const driver = new DaemonDriver(daemon, life, random, () => undefined);
    this.#drivers.set(nodeName, driver);
    return driver;
  }
}
