import { type Reporter, SimulatedProcess } from '@mcm/conformance/fleet';
import { buildMachineController } from '@mcm/core';
import {
  createClient,
  createRecorder,
  type KubeClient,
  type Random,
  silentLogger,
  type Transport,
  type VirtualClock,
} from '@mcm/kube';
import { runManager } from '@mcm/machine-controller-manager';
import type { SimulatedCloud } from './clouds.ts';
import type { Faults } from './faults.ts';
import type { ControllerSettings } from './settings.ts';
import type { VmRules } from './vm-rules.ts';

const NAMES = ['manager', 'machine-controller'] as const;
export type ProcessName = (typeof NAMES)[number];

const MAX_RESTART_MS = 15_000;

export interface ControllersOptions {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly reporter: Reporter;
  readonly faults: Faults;
  readonly vms: VmRules;
  readonly apiServer: Transport;
  readonly cloud: SimulatedCloud;
  readonly settings: ControllerSettings;
  readonly namespace: string;
}

interface Running {
  readonly process: SimulatedProcess;
  readonly stop: AbortController;
}

/** The controllers of a simulated fleet. A killed controller starts again. */
export class Controllers {
  readonly #o: ControllersOptions;
  readonly #running = new Map<ProcessName, Running>();

  constructor(options: ControllersOptions) {
    this.#o = options;
  }

  start(): void {
    for (const name of NAMES) this.#start(name);
  }

  kill(name: ProcessName): void {
    this.#o.reporter.note('act', `the ${name} is killed`);
    this.#o.faults.delays();
    this.#running.get(name)?.process.kill();
  }

  stop(): void {
    for (const { stop } of this.#running.values()) stop.abort(new Error('closed'));
  }

  #start(name: ProcessName): void {
    const { clock, random, reporter, faults, apiServer } = this.#o;
    const stop = new AbortController();
    const process = new SimulatedProcess(undefined, () => {
      stop.abort(new Error('killed'));
      clock.setTimeout(() => this.#start(name), random.next() * MAX_RESTART_MS);
    });
    this.#running.set(name, { process, stop });
    const transport = process.wrap(faults.api(apiServer));
    const client = createClient({ transport, userAgent: name, clock, random });
    if (name === 'manager') reporter.managerStarts();
    const ended =
      name === 'manager'
        ? this.#runManager(client, process, stop.signal)
        : this.#runMachineController(client, process, stop.signal);
    void ended.catch((error: unknown) => {
      if (!stop.signal.aborted) reporter.violate(`the ${name} ended: ${String(error)}`);
    });
  }

  #runManager(client: KubeClient, process: SimulatedProcess, signal: AbortSignal): Promise<void> {
    const { random, settings, namespace } = this.#o;
    const runtime = { clock: process.clock(this.#o.clock), random, log: silentLogger, freeze: true };
    return runManager({ control: client, target: client, namespace, runtime }, settings.manager, signal).ended;
  }

  #runMachineController(client: KubeClient, process: SimulatedProcess, signal: AbortSignal): Promise<void> {
    const { random, settings, namespace, cloud, faults, vms } = this.#o;
    const clock = process.clock(this.#o.clock);
    const connect = (origin: string): Transport => process.wrap(faults.cloud(cloud.connect(origin), cloud.dialect));
    return buildMachineController({
      driver: vms.wrap(cloud.createDriver({ clock, random, connect })),
      control: client,
      target: client,
      namespace,
      clock,
      random,
      secretRandom: random,
      log: silentLogger,
      recorder: createRecorder({ client, component: 'machine-controller', clock, log: silentLogger }),
      runtime: { clock, random, log: silentLogger, freeze: true },
      ...settings.machines,
      interruptions: settings.interruptions ? { observe: () => undefined } : undefined,
    }).run(signal);
  }
}
