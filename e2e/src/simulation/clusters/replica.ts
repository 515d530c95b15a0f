import type { Reporter } from '@mcm/conformance/fleet';
import { type KillPoint, SimulatedProcess } from '@mcm/conformance/fleet';
import { machineControllerBinary } from '@mcm/core';
import {
  type Clock,
  errorText,
  type MemoryLogger,
  type Random,
  type Transport,
  type UndiciTransportOptions,
  type VirtualClock,
} from '@mcm/kube';
import { type PlayedFleet, runFleet } from '@mcm/kube/testing';
import { machineControllerManager } from '@mcm/machine-controller-manager';
import { createLocalDriver } from '@mcm/provider-local';
import { answerOf } from '../network/answer.ts';
import { SkewedClock } from '../processes/skewed-clock.ts';
import type { Fences, Writer } from './fences.ts';
import { clusterOfRequest } from './fences.ts';
import { BUDGET, type RolloutVerifier } from './rollout-verifier.ts';
import { cloudTokenOf, kubeconfigOf, SEED, serverOf, type Wires } from './wires.ts';

export const PROGRAMS = ['machine-controller-manager', 'machine-controller'] as const;
export type ProgramName = (typeof PROGRAMS)[number];

export interface FleetDefect {
  /** Wraps the connection of a process to the seed. */
  readonly seed?: (transport: Transport, process: string) => Transport;
  readonly target?: (transport: Transport, process: string) => Transport;
  readonly cloud?: (transport: Transport) => Transport;
}

export interface ReplicaParts {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly log: MemoryLogger;
  readonly reporter: Reporter;
  readonly fences: Fences;
  readonly wires: Wires;
  readonly defect: FleetDefect;
  readonly quietLeaseMs: number | undefined;
  readonly hibernateMs: number | undefined;
  /** The flag that selects how the fleet finds its clusters. */
  readonly sourceFlag: string;
  /**
   * Returns the namespace in which a replica stores its peer Lease. Replicas that use the same namespace form a fleet.
   */
  readonly homeOf: (replica: string) => string;
  readonly rollouts: RolloutVerifier | undefined;
  readonly server: (name: string) => Transport;
  /** Returns the cluster whose Lease a replica must hold when it writes to a server. */
  readonly writesTo: (server: string) => string;
  readonly cloud: (endpoint: string) => { readonly cluster: string; readonly transport: Transport };
  readonly changed: () => void;
  readonly killPoint: () => KillPoint | undefined;
  readonly restartMs: () => number;
}

export class Program {
  readonly name: ProgramName;
  readonly replica: string;
  readonly #parts: ReplicaParts;
  readonly #skewMs: number;
  #lives = 0;
  #writer: Writer | undefined;
  #fleet: PlayedFleet | undefined;
  #stop = new AbortController();
  #closed = false;

  constructor(name: ProgramName, replica: string, skewMs: number, parts: ReplicaParts) {
    this.name = name;
    this.replica = replica;
    this.#skewMs = skewMs;
    this.#parts = parts;
  }

  get process(): string {
    return `${this.name}-${this.replica}`;
  }

  get runs(): boolean {
    const proc = this.#writer?.proc;
    return proc !== undefined && !proc.dead && !proc.frozen && !this.#stop.signal.aborted;
  }

  get identity(): string {
    return this.#writer?.identity ?? '';
  }

  serves(cluster: string): boolean {
    return this.#fleet?.status().some((one) => one.cluster === cluster && one.state === 'serving') ?? false;
  }

  hibernates(cluster: string): boolean {
    return this.#fleet?.status().some((one) => one.cluster === cluster && one.state === 'hibernated') ?? false;
  }

  status(): string {
    return JSON.stringify(this.#fleet?.status().map(({ cluster, state, error }) => [cluster, state, error]));
  }

  async texts(): Promise<readonly string[]> {
    return (await this.#fleet?.texts()) ?? [];
  }

  kill(): void {
    this.#writer?.proc.kill();
  }

  freeze(ms: number): void {
    const proc = this.#writer?.proc;
    if (proc === undefined || proc.frozen || proc.dead) return;
    proc.freeze();
    this.#parts.changed();
    this.#parts.clock.setTimeout(() => {
      proc.thaw();
      this.#parts.changed();
    }, ms);
  }

  /** Ends the process as SIGTERM does. */
  stop(): void {
    this.#stop.abort(new Error('SIGTERM'));
    this.#parts.changed();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#writer?.proc.kill();
  }

  start(): void {
    if (this.#closed) return;
    const { clock, reporter, killPoint, restartMs, changed } = this.#parts;
    this.#lives += 1;
    const identity = `${this.process}-life${this.#lives}`;
    const stop = new AbortController();
    let over = false;
    const again = (): void => {
      if (over) return;
      over = true;
      changed();
      clock.setTimeout(() => this.start(), restartMs());
    };
    const proc = new SimulatedProcess(killPoint(), () => {
      if (!this.#closed) reporter.note('act', `${identity} is killed`);
      stop.abort(new Error('killed'));
      again();
    });
    this.#stop = stop;
    this.#writer = { identity, lease: this.name, proc };
    this.#fleet = undefined;
    changed();
    void this.#run(this.#writer, stop.signal)
      .then(again)
      .catch((error: unknown) => {
        if (proc.dead) return;
        reporter.violate(`${identity} ended unexpectedly: ${errorText(error)}`);
        again();
      });
  }

  async #run(writer: Writer, signal: AbortSignal): Promise<void> {
    const { random, log, rollouts, quietLeaseMs, hibernateMs, homeOf, sourceFlag } = this.#parts;
    const skewed = new SkewedClock(this.#parts.clock);
    skewed.skewMs = this.#skewMs;
    const clock = writer.proc.clock(skewed);
    const argv = [sourceFlag, `--fleet-replica=${this.replica}`, `--namespace=${homeOf(this.replica)}`];
    const limited = rollouts !== undefined && this.name === 'machine-controller-manager';
    if (limited) argv.push(`--fleet-rollout-budget=${BUDGET}`);
    if (hibernateMs !== undefined) argv.push(`--fleet-hibernate-after=${hibernateMs}ms`);
    if (quietLeaseMs !== undefined) argv.push(`--fleet-quiet-lease-duration=${quietLeaseMs}ms`);
    const options = {
      host: { argv, clock, random, identity: writer.identity },
      dial: (given: UndiciTransportOptions) => dialOf(this.process, writer, given, this.#parts),
      log: log.with({ process: writer.identity }),
      kubeconfig: kubeconfigOf(SEED),
      signal,
    };
    this.#fleet =
      this.name === 'machine-controller-manager'
        ? await runFleet(machineControllerManager, options)
        : await runFleet(controllerOf(writer, clock, this.#parts), options);
    await this.#fleet.ended;
  }
}

export function controllerOf(writer: Writer, clock: Clock, { fences, defect, cloud, reporter }: ReplicaParts) {
  const connect = (endpoint: string): Transport => {
    const { cluster, transport } = cloud(endpoint);
    const sent: Transport = (request) => {
      const { authorization } = request.headers ?? {};
      if (authorization !== `Bearer ${cloudTokenOf(cluster)}`)
        reporter.violate(
          `${writer.identity} sends the wrong credentials ${authorization} to the cloud of cluster ${cluster}`,
        );
      fences.verify(writer, cluster, request);
      return transport(request);
    };
    return writer.proc.wrap(defect.cloud ? defect.cloud(sent) : sent);
  };
  return machineControllerBinary(createLocalDriver({ clock, connect }));
}

const UNAUTHORIZED = JSON.stringify({ kind: 'Status', code: 401, reason: 'Unauthorized', message: 'Unauthorized' });

/** Returns the connection of a process to an API server. */
export function dialOf(process: string, writer: Writer, options: UndiciTransportOptions, parts: ReplicaParts) {
  const { fences, wires, reporter, server: planeOf, writesTo, defect, rollouts } = parts;
  const server = serverOf(options);
  const reached: Transport = async (request) => {
    const authorization = await options.authorization?.();
    if (authorization !== `Bearer ${wires.tokenOf(server)}`) {
      if (wires.accepted(server, authorization)) return answerOf(401, UNAUTHORIZED);
      reporter.violate(`${writer.identity} sends ${authorization} to ${server}`);
    }
    const cluster = clusterOfRequest(writesTo(server), request);
    if (cluster !== undefined) {
      fences.verify(writer, cluster, request);
      if (server === SEED) await rollouts?.verify(writer, cluster, request);
    }
    return wire(request);
  };
  const wire = wires.wire(process, server, planeOf(server));
  const broken = server === SEED ? defect.seed : defect.target;
  const transport = writer.proc.wrap(broken ? broken(reached, process) : reached);
  return Object.assign(transport, { close: async () => undefined });
}
