import type { Reporter } from '@mcm/conformance/fleet';
import { type KillPoint, SimulatedProcess } from '@mcm/conformance/fleet';
import { buildMachineController, MACHINE_DEFAULTS } from '@mcm/core';
import {
  type Clock,
  createClient,
  createRecorder,
  DEFAULT_ELECTION_TIMINGS,
  type Fence,
  fencedClient,
  type KubeClient,
  type Logger,
  type Random,
  runElected,
  type Transport,
  type VirtualClock,
} from '@mcm/kube';
import { runManager } from '@mcm/machine-controller-manager';
import { createLocalDriver } from '@mcm/provider-local';
import type { Network, Peer } from '../network/network.ts';
import { SkewedClock } from '../processes/skewed-clock.ts';
import { FenceVerifier } from '../record/fence-verifier.ts';
import { NAMESPACE, type ProcessName, type WorldOptions } from './world-options.ts';

const USER_AGENTS: Readonly<Record<ProcessName, string>> = {
  manager: 'machine-controller-manager',
  'machine-controller': 'machine-controller',
};

export interface ControllersParts {
  readonly clock: VirtualClock;
  readonly log: Logger;
  readonly random: Random;
  readonly network: Network;
  readonly reporter: Reporter;
  readonly apiServer: Readonly<Record<ProcessName, Transport>>;
  readonly cloud: Transport;
}

const SLOTS = [0, 1] as const;

interface Running {
  readonly proc: SimulatedProcess;
  readonly stop: AbortController;
}

/** The default settings of the Lease, but with fewer renewals. */
const ELECTION = { follow: true, timings: { ...DEFAULT_ELECTION_TIMINGS, retryMs: 5_000 } } as const;

interface Self {
  readonly name: ProcessName;
  readonly identity: string;
  readonly proc: SimulatedProcess;
  readonly stop: AbortSignal;
  readonly clock: Clock;
  readonly peer: Peer;
}

export class Controllers {
  readonly #parts: ControllersParts;
  readonly #options: WorldOptions;
  readonly #running = new Map<string, Running>();
  readonly #killPointsLeft: Map<ProcessName, KillPoint>;
  readonly #fences: FenceVerifier;
  #lives = 0;

  constructor(parts: ControllersParts, options: WorldOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#killPointsLeft = new Map(Object.entries(options.killPoints ?? {}) as [ProcessName, KillPoint][]);
    this.#fences = new FenceVerifier(parts.reporter);
  }

  requests(name: ProcessName): number {
    return this.#running.get(`${name} 0`)?.proc.requests ?? 0;
  }

  #worker(name: ProcessName): Running | undefined {
    const all = SLOTS.map((slot) => this.#running.get(`${name} ${slot}`)).filter((one) => one !== undefined);
    const living = all.filter(({ proc }) => !proc.dead);
    return living.find(({ proc }) => this.#fences.holds(proc)) ?? living[0];
  }

  kill(name: ProcessName): void {
    const worker = this.#worker(name);
    if (!worker) return;
    this.#parts.reporter.note('act', `${name} is killed`);
    worker.proc.kill();
  }

  freeze(name: ProcessName, ms: number): void {
    const worker = this.#worker(name);
    if (!worker || worker.proc.frozen) return;
    const { clock, reporter } = this.#parts;
    reporter.note('act', `process ${name} is suspended for ${ms} ms`);
    worker.proc.freeze();
    clock.setTimeout(() => worker.proc.thaw(), ms);
  }

  stop(): void {
    for (const { stop } of this.#running.values()) stop.abort(new Error('closed'));
  }

  start(name: ProcessName): void {
    for (const slot of this.#options.elections ? SLOTS : [0]) this.#start(name, slot);
  }

  #start(name: ProcessName, slot: number): void {
    const { clock, reporter, network } = this.#parts;
    const { elections } = this.#options;
    const stop = new AbortController();
    const killPoint = this.#killPointsLeft.get(name);
    this.#killPointsLeft.delete(name);
    const proc = new SimulatedProcess(killPoint, () => {
      stop.abort(new Error('killed'));
      clock.setTimeout(() => this.#start(name, slot), this.#options.restartAfterMs ?? 1_000);
    });
    this.#running.set(`${name} ${slot}`, { proc, stop });
    this.#lives += 1;
    const skewed = new SkewedClock(clock);
    skewed.skewMs = this.#options.skewMs?.[name]?.[slot] ?? 0;
    const identity = `${name}-${this.#lives}`;
    const kill = (): void => {
      reporter.note('act', `${identity} is killed`);
      proc.kill();
    };
    const peer: Peer = { life: stop.signal, kill };
    const own = proc.clock(network.clock(name, skewed, peer));
    const self: Self = { name, identity, proc, stop: stop.signal, clock: own, peer };
    const client = this.#client(self);
    const work = (seen: KubeClient, signal: AbortSignal, fence?: Fence): Promise<void> =>
      name === 'manager' ? this.#runManager(seen, signal, self) : this.#runMachineController(seen, signal, self, fence);
    if (name === 'manager' && !elections) reporter.managerStarts();
    const ended = elections ? this.#elected(client, self, work) : work(client, stop.signal);
    void ended.catch((error: unknown) => {
      if (!stop.signal.aborted) reporter.violate(`${name} ended unexpectedly: ${String(error)}`);
    });
  }

  /** Runs a controller while its process holds the Lease. */
  async #elected(
    client: KubeClient,
    self: Self,
    work: (client: KubeClient, signal: AbortSignal, fence: Fence) => Promise<void>,
  ): Promise<void> {
    const { random, log } = this.#parts;
    const { unfenced = false } = this.#options;
    const { name, identity, clock, stop: signal, proc } = self;
    const lease = { namespace: NAMESPACE, name: USER_AGENTS[name] };
    const open: Fence = { confirm: async () => undefined, held: async () => undefined };
    const options = {
      client,
      lease,
      identity,
      clock,
      random,
      log: log.with({ process: identity }),
      signal,
      ...ELECTION,
    };
    const end = await runElected(options, (term, fence) => {
      this.#parts.reporter.note('act', `${identity} leads`);
      if (name === 'manager') this.#parts.reporter.managerStarts();
      return work(unfenced ? client : fencedClient(client, fence), term, unfenced ? open : fence);
    });
    if (end === 'lost') proc.kill();
  }

  #client({ name, identity, proc, peer, clock }: Self): KubeClient {
    const { random, network, apiServer } = this.#parts;
    const { wrap = (_, transport) => transport } = this.#options;
    const wire = network.wire(name, this.#fences.sees(apiServer[name]), peer);
    const transport = this.#fences.wrap({ identity, proc, lease: USER_AGENTS[name] }, wrap(name, proc.wrap(wire)));
    return createClient({ transport, userAgent: USER_AGENTS[name], clock, random });
  }

  #runManager(client: KubeClient, signal: AbortSignal, { clock }: Self): Promise<void> {
    const { random } = this.#parts;
    const { maxUnhealthyReplacements = MACHINE_DEFAULTS.maxUnhealthyReplacements } = this.#options;
    const runtime = { clock, random, log: this.#parts.log.with({ process: 'manager' }), freeze: true };
    const { journal, reports = false, capacityBuffers = false } = this.#options;
    const environment = { control: client, target: client, namespace: NAMESPACE, runtime, journal };
    const { log } = runtime;
    this.#options.serveGroups?.({ control: client, target: client, namespace: NAMESPACE, runtime, log }, signal);
    const settings = { maxUnhealthyReplacements, disruptionReport: reports, capacityBuffers };
    return runManager(environment, settings, signal).ended;
  }

  #runMachineController(
    client: KubeClient,
    signal: AbortSignal,
    { name, identity, proc, clock, peer }: Self,
    fence: Fence | undefined,
  ): Promise<void> {
    const { random, network } = this.#parts;
    const { maxUnhealthyReplacements = MACHINE_DEFAULTS.maxUnhealthyReplacements } = this.#options;
    const { wrapCloud = (transport) => transport, tracer, interruptions, hookWebhooks, journal } = this.#options;
    const log = this.#parts.log.with({ process: name });
    const cloud = (): Transport =>
      this.#fences.wrap(
        { identity, proc, lease: USER_AGENTS[name] },
        wrapCloud(proc.wrap(network.cloudWire(name, this.#parts.cloud, peer))),
      );
    return buildMachineController({
      driver: createLocalDriver({ clock, connect: cloud }),
      tracer,
      journal,
      rates: this.#options.rates?.(clock, this.#parts),
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
      fence,
      recordVmStates: this.#options.reports ?? false,
      interruptions: interruptions ? { observe: () => undefined } : undefined,
      hookWebhooks: hookWebhooks && {
        webhooks: hookWebhooks.webhooks,
        observe: hookWebhooks.observe,
        connect: (webhook) => proc.wrap(hookWebhooks.connect(webhook)),
      },
    }).run(signal);
  }
}
