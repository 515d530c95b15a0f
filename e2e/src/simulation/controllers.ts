import { buildMachineController, MACHINE_DEFAULTS } from '@mcm/core';
import {
  createClient,
  createRecorder,
  type KubeClient,
  type Logger,
  type Random,
  type Transport,
  type VirtualClock,
} from '@mcm/kube';
import { runManager } from '@mcm/machine-controller-manager';
import { createLocalDriver } from '@mcm/provider-local';
import type { Network } from './network.ts';
import { type Death, Life } from './process.ts';
import type { Witness } from './witness.ts';
import { NAMESPACE, type ProcessName, type WorldOptions } from './world-options.ts';

const USER_AGENTS: Readonly<Record<ProcessName, string>> = {
  manager: 'machine-controller-manager',
  'machine-controller': 'machine-controller',
};

export interface ControllersParts {
  readonly clock: VirtualClock;
  readonly log: Logger;
  /** A source that goes on from one life of a process to the next: no two of them make the same ids. */
  readonly random: Random;
  readonly network: Network;
  readonly witness: Witness;
  readonly apiServer: Transport;
  readonly cloud: Transport;
}

interface Running {
  readonly life: Life;
  readonly stop: AbortController;
}

/** Both controllers, each of which can be killed between any two of its requests, and is started again. */
export class Controllers {
  readonly #parts: ControllersParts;
  readonly #options: WorldOptions;
  readonly #running = new Map<ProcessName, Running>();
  readonly #deathsLeft: Map<ProcessName, Death>;

  constructor(parts: ControllersParts, options: WorldOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#deathsLeft = new Map(Object.entries(options.deaths ?? {}) as [ProcessName, Death][]);
  }

  /** Requests that a process has sent in its present life. */
  requests(name: ProcessName): number {
    return this.#running.get(name)?.life.requests ?? 0;
  }

  /** Ends a process as SIGKILL does. */
  kill(name: ProcessName): void {
    this.#parts.witness.note('act', `${name} is killed`);
    this.#running.get(name)?.life.kill();
  }

  /** Ends both for good. */
  stop(): void {
    for (const { stop } of this.#running.values()) stop.abort(new Error('closed'));
  }

  /** Starts a process anew; it knows nothing but what the API and the cloud tell it. */
  start(name: ProcessName): void {
    const { clock, witness } = this.#parts;
    const stop = new AbortController();
    const death = this.#deathsLeft.get(name);
    this.#deathsLeft.delete(name);
    const life = new Life(death, () => {
      stop.abort(new Error('killed'));
      clock.setTimeout(() => this.start(name), this.#options.restartAfterMs ?? 1_000);
    });
    this.#running.set(name, { life, stop });
    const client = this.#client(name, life);
    const ended =
      name === 'manager'
        ? this.#runManager(client, stop.signal)
        : this.#runMachineController(client, life, stop.signal);
    void ended.catch((error: unknown) => {
      if (!stop.signal.aborted) witness.violate(`${name} ended by itself: ${String(error)}`);
    });
  }

  #client(name: ProcessName, life: Life): KubeClient {
    const { clock, random, network, apiServer } = this.#parts;
    const { wrap = (_, transport) => transport } = this.#options;
    const transport = wrap(name, life.wrap(network.wire(name, apiServer)));
    return createClient({ transport, userAgent: USER_AGENTS[name], clock, random });
  }

  #runManager(client: KubeClient, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#parts;
    const { maxUnhealthyReplacements = MACHINE_DEFAULTS.maxUnhealthyReplacements } = this.#options;
    const runtime = { clock, random, log: this.#parts.log.with({ process: 'manager' }), freeze: true };
    const surroundings = { control: client, target: client, namespace: NAMESPACE, runtime };
    return runManager(surroundings, { maxUnhealthyReplacements }, signal).ended;
  }

  #runMachineController(client: KubeClient, life: Life, signal: AbortSignal): Promise<void> {
    const { clock, random, network, cloud } = this.#parts;
    const { maxUnhealthyReplacements = MACHINE_DEFAULTS.maxUnhealthyReplacements } = this.#options;
    const { wrapCloud = (transport) => transport, tracer } = this.#options;
    const name = 'machine-controller';
    const log = this.#parts.log.with({ process: name });
    return buildMachineController({
      driver: createLocalDriver({ clock, connect: () => wrapCloud(life.wrap(network.cloudWire(name, cloud))) }),
      tracer,
      control: client,
      target: client,
      namespace: NAMESPACE,
      defaults: { ...MACHINE_DEFAULTS, maxUnhealthyReplacements },
      clock,
      random,
      secretRandom: random,
      log,
      recorder: createRecorder({ client, component: name, clock, log }),
      runtime: { clock, random, log, freeze: true },
    }).run(signal);
  }
}
