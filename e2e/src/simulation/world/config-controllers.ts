import type { Reporter } from '@mcm/conformance/fleet';
import { type KillPoint, SimulatedProcess } from '@mcm/conformance/fleet';
import {
  createClient,
  createRecorder,
  DEFAULT_ELECTION_TIMINGS,
  defined,
  fencedClient,
  type KubeClient,
  runElected,
  seededRandom,
  silentLogger,
  type Transport,
  UnitRunner,
  type VirtualClock,
} from '@mcm/kube';
import { createConfigControllers } from '@mcm/machine-config-controller';
import type { Network } from '../network/network.ts';
import { SkewedClock } from '../processes/skewed-clock.ts';
import { FenceVerifier } from '../record/fence-verifier.ts';
import { NAMESPACE } from './world-options.ts';

const NAME = 'machine-config-controller';
const RESTART_MS = 1_000;
const CLOSE_MS = 60_000;
const TREE = new Map([
  ['worker/00-worker/_base/files/motd.yaml', 'mode: 0644\npath: /etc/motd\ncontents:\n  inline: hello\n'],
]);

export interface ConfigControllersOptions {
  readonly haltDegraded?: number;
  /** Whether two processes compete for a Lease. */
  readonly elections?: boolean;
  readonly unfenced?: boolean;
  /** For each process, how far its clock is ahead of the simulated time, in milliseconds. */
  readonly skewMs?: readonly number[];
}

interface Parts {
  readonly clock: VirtualClock;
  readonly reporter: Reporter;
  readonly network: Network;
  readonly transport: () => Transport;
}

interface Running {
  readonly proc: SimulatedProcess;
  readonly stop: AbortController;
  ended: Promise<void>;
}

export class ConfigControllers {
  readonly #parts: Parts;
  readonly #options: ConfigControllersOptions;
  readonly #fences: FenceVerifier;
  readonly #running: Running[] = [];
  #killPoint: KillPoint | undefined;
  #lives = 0;
  #closed = false;

  constructor(parts: Parts, options: ConfigControllersOptions) {
    [this.#parts, this.#options] = [parts, options];
    this.#fences = new FenceVerifier(parts.reporter);
    for (const slot of options.elections ? [0, 1] : [0]) this.#start(slot);
  }

  get #worker(): Running | undefined {
    const living = this.#running.filter(({ proc }) => !proc.dead);
    return living.find(({ proc }) => this.#fences.holds(proc)) ?? living[0];
  }

  /** Kills the working process, as SIGKILL does. */
  kill(): void {
    const worker = this.#worker;
    if (!worker) return;
    this.#parts.reporter.note('act', `${NAME} is killed`);
    worker.proc.kill();
  }

  killTwice(killPoint: KillPoint): void {
    this.#killPoint = killPoint;
    this.kill();
  }

  /** Freezes the working process for `ms`, as SIGSTOP does. */
  freeze(ms: number): void {
    const worker = this.#worker;
    if (!worker || worker.proc.frozen) return;
    this.#parts.reporter.note('act', `process ${NAME} is suspended for ${ms} ms`);
    worker.proc.freeze();
    this.#parts.clock.setTimeout(() => worker.proc.thaw(), ms);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { stop } of this.#running) stop.abort(new Error('closed'));
    // A frozen process never ends, so the simulation does not wait for such a process.
    const ends = this.#running.flatMap(({ proc, ended }) => (proc.dead || proc.frozen ? [] : [ended]));
    await this.#parts.clock.ended(Promise.all(ends), { maxMs: CLOSE_MS });
  }

  #start(slot: number): void {
    const { clock, reporter, network, transport } = this.#parts;
    const killPoint = this.#killPoint;
    this.#killPoint = undefined;
    const stop = new AbortController();
    const proc = new SimulatedProcess(killPoint, () => {
      stop.abort(new Error('killed'));
      clock.setTimeout(() => {
        if (!this.#closed) this.#start(slot);
      }, RESTART_MS);
    });
    this.#lives += 1;
    const identity = `${NAME}-${this.#lives}`;
    const skewed = new SkewedClock(clock);
    skewed.skewMs = this.#options.skewMs?.[slot] ?? 0;
    const kill = (): void => {
      reporter.note('act', `${identity} is killed`);
      proc.kill();
    };
    const peer = { life: stop.signal, kill };
    const own = proc.clock(network.clock('manager', skewed, peer));
    const wire = proc.wrap(network.wire('manager', this.#fences.sees(transport()), peer));
    const verified = this.#fences.wrap({ identity, proc, lease: NAME }, wire);
    const client = createClient({ transport: verified, userAgent: NAME, clock: own });
    const runtime = { clock: own, random: seededRandom(3 + slot), log: silentLogger };
    const run = (seen: KubeClient, signal: AbortSignal) => this.#work(seen, signal, runtime);
    const running: Running = { proc, stop, ended: Promise.resolve() };
    this.#running[slot] = running;
    running.ended = (
      this.#options.elections ? this.#elected(client, identity, running, runtime, run) : run(client, stop.signal)
    ).catch((error: unknown) => {
      if (!stop.signal.aborted) reporter.violate(`${identity} ended unexpectedly: ${String(error)}`);
    });
  }

  /** Runs the controllers while a process holds the Lease. */
  async #elected(
    client: KubeClient,
    identity: string,
    { proc, stop }: Running,
    runtime: Runtime,
    work: (client: KubeClient, signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const lease = { namespace: NAMESPACE, name: NAME };
    // With a longer retry period, long histories contain fewer requests.
    const timings = { ...DEFAULT_ELECTION_TIMINGS, retryMs: 5_000 };
    const options = { client, lease, identity, ...runtime, signal: stop.signal, follow: true, timings };
    const end = await runElected(options, (term, fence) => {
      this.#parts.reporter.note('act', `${identity} leads`);
      return work(this.#options.unfenced ? client : fencedClient(client, fence), term);
    });
    if (end === 'lost') proc.kill();
  }

  #work(client: KubeClient, signal: AbortSignal, runtime: Runtime): Promise<void> {
    const { haltDegraded } = this.#options;
    const recorder = createRecorder({ client, component: 'test', ...runtime });
    const { units } = createConfigControllers(
      {
        control: client,
        target: client,
        recorder,
        nodeRecorder: recorder,
        runtime,
        tree: TREE,
        identity: { version: 'v1', hash: 'h1' },
      },
      defined({ machinePools: true, haltDegraded }),
    );
    return new UnitRunner({ units, ...runtime }).run(signal);
  }
}

interface Runtime {
  readonly clock: ReturnType<SimulatedProcess['clock']>;
  readonly random: ReturnType<typeof seededRandom>;
  readonly log: typeof silentLogger;
}
