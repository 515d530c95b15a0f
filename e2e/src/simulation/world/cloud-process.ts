import type { Reporter } from '@mcm/conformance/fleet';
import { type Clock, handlerTransport, type Logger, type Random, type Transport } from '@mcm/kube';
import {
  type CloudStore,
  createLocalCloud,
  type KubeletBehaviour,
  type LocalCloud,
  MemoryStore,
} from '@mcm/provider-local';
import type { Disk } from './disk.ts';

export interface CloudProcessOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly reporter: Reporter;
  /** The transport that the simulated kubelets use for the API server. */
  readonly apiServer: Transport;
  readonly kubelets: KubeletBehaviour;
  readonly disk?: Disk | undefined;
}

/** The local cloud, with its simulated kubelets. */
export class CloudProcess {
  readonly #options: CloudProcessOptions;
  #store: CloudStore;
  readonly #made = new Map<string, Set<string>>();
  #cloud: LocalCloud;
  #life = new AbortController();

  constructor(options: CloudProcessOptions) {
    this.#options = options;
    this.#store = options.disk?.openCloud() ?? new MemoryStore();
    this.#cloud = this.#start();
  }

  get cloud(): LocalCloud {
    return this.#cloud;
  }

  get runs(): boolean {
    return !this.#life.signal.aborted;
  }

  get vmsMade(): number {
    return [...this.#made.values()].reduce((sum, ids) => sum + ids.size, 0);
  }

  #start(): LocalCloud {
    const { clock, random, log, apiServer: transport, kubelets } = this.#options;
    return createLocalCloud({
      clock,
      random,
      log,
      store: this.#store,
      kubelets: {
        connect: () => transport,
        nodeCluster: { server: 'https://127.0.0.1', transport, bare: transport },
        defaults: kubelets,
      },
    });
  }

  /** Restarts the cloud: its connections end, and it starts again with its stored data. */
  restart(downMs: number): void {
    if (this.#life.signal.aborted) return;
    this.#life.abort(new Error('read ECONNRESET'));
    const { clock, reporter, disk } = this.#options;
    disk?.crashCloud();
    const closed = this.#cloud.close();
    const start = (): void => {
      if (disk) this.#store = disk.openCloud();
      this.#cloud = this.#start();
      this.#life = new AbortController();
    };
    const fail = (error: unknown): void => reporter.violate(`the cloud process does not end: ${String(error)}`);
    clock.setTimeout(() => void closed.then(start).catch(fail), downMs);
  }

  /** Returns a connection to the cloud. */
  transport(): Transport {
    return async (request) => {
      const { signal } = this.#life;
      if (signal.aborted) throw new Error('connect ECONNREFUSED');
      const transport = handlerTransport(async (sent) => this.#cloud.fetch(sent));
      const both = request.signal ? AbortSignal.any([request.signal, signal]) : signal;
      const answer = await transport({ ...request, signal: both });
      this.#options.reporter.note('request', `cloud ${request.method} ${request.path.split('?')[0]} ${answer.status}`);
      this.#countVms();
      return answer;
    };
  }

  #countVms(): void {
    const living = new Map<string, string>();
    for (const { id, clientToken = '', name, state } of this.#cloud.instances.list()) {
      this.#made.set(clientToken, (this.#made.get(clientToken) ?? new Set()).add(id));
      if (state === 'terminated') continue;
      const other = living.get(clientToken);
      if (other !== undefined) this.#options.reporter.violate(`machine ${name} has two VMs: ${other} and ${id}`);
      living.set(clientToken, id);
    }
  }
}
