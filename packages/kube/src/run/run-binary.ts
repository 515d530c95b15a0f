import { hostname } from 'node:os';
import { errorText } from '../base/error-text.ts';
import { ConfigError } from '../credentials/cluster-config.ts';
import { IN_CLUSTER } from '../credentials/load-kubeconfig.ts';
import type { Fence } from '../election/fence.ts';
import { type ElectionEnd, runElected } from '../election/run-elected.ts';
import { type CommonFlags, commonFlags } from '../flags/common-flags.ts';
import { registerFeatures } from '../flags/feature-gates.ts';
import type { Flags, FlagValues } from '../flags/flag.ts';
import { parseFlags } from '../flags/parse-flags.ts';
import { checkFleetFlags, type FleetFlags, fleetFlags, hasSeed, isFleet, SEED_FLAGS } from '../fleet/flags.ts';
import { refusalOf } from '../informer/refusal.ts';
import { createLogger, type LeveledLogger } from '../log/create-logger.ts';
import type { LogLevel } from '../log/memory-logger.ts';
import { createMetrics, type Metrics } from '../metrics/create-metrics.ts';
import { watchProcess } from '../metrics/process.ts';
import { ObserveDecisions } from '../observe/decisions.ts';
import { undiciTransport } from '../transports/undici.ts';
import { type Clusters, type Connections, connectClusters, type Dial } from './cluster/clusters.ts';
import { reachPhase } from './cluster/reach-phase.ts';
import { createContext } from './context.ts';
import { crossCheck, doubtsAbout } from './cross-check.ts';
import type { BinaryDefinition, Configuration } from './definition.ts';
import { environmentPhase } from './environment/phase.ts';
import { FleetProcess } from './fleet-process.ts';
import { DebugPages } from './health/debug-pages.ts';
import type { Check, HealthSources } from './health/health.ts';
import { serveHealth } from './health/serve-health.ts';
import { createManager, type Manager } from './manager.ts';
import { type Host, processHost } from './process/host.ts';
import type { MemoryUse } from './process/memory.ts';
import type { Phase } from './process/phase.ts';
import { reportedSettings } from './reported-settings.ts';
import { UnitRunner } from './units.ts';
import {
  AnswerWatcher,
  CertificatesInUse,
  checkMemory,
  compareVersions,
  servedCertificate,
  Warnings,
} from './warnings/index.ts';
import { workUntil } from './work.ts';

const levelOf = (flags: FlagValues<CommonFlags>): LogLevel | 'silent' =>
  flags.v >= 4 ? 'debug' : (flags['log-level'] as LogLevel | 'silent');

type Connected = Clusters & { readonly connections: Connections };

const FLEET_CONNECTIONS = 8;

class Run<F extends Flags> {
  readonly #definition: BinaryDefinition<F>;
  readonly #host: Host;
  readonly #flags: FlagValues<F> & FlagValues<CommonFlags>;
  readonly #log: LeveledLogger;
  readonly #metrics: Metrics;
  readonly #decisions: ObserveDecisions | undefined;
  readonly #manager: Manager;
  readonly #ended = Promise.withResolvers<number>();
  readonly #warnings: Warnings;
  readonly #certificates = new CertificatesInUse();
  readonly #pages = new DebugPages();
  readonly #reached = new AbortController();
  #clusters: Connected | undefined;
  readonly #fleetFlags: FleetFlags | undefined;
  #fleet: FleetProcess<F> | undefined;
  #runner: UnitRunner | undefined;
  #address = '';
  #leadership = { ok: true, detail: 'not requested yet' };
  #stopping = false;

  constructor(
    definition: BinaryDefinition<F>,
    host: Host,
    flags: FlagValues<F> & FlagValues<CommonFlags>,
    fleetFlags: FleetFlags | undefined,
  ) {
    this.#definition = definition;
    this.#host = host;
    this.#flags = flags;
    this.#fleetFlags = fleetFlags;
    this.#log = createLogger({ level: levelOf(flags), fields: { binary: definition.name } });
    this.#metrics = createMetrics(definition.metricsPrefix === undefined ? {} : { prefix: definition.metricsPrefix });
    const common: FlagValues<CommonFlags> = flags;
    registerFeatures(this.#metrics.meters, definition.defaults.features ?? {}, common['feature-gates']);
    this.#warnings = new Warnings(this.#log, this.#metrics.meters);
    const { clock } = host;
    const decisions = () => new ObserveDecisions({ clock, log: this.#log, meters: this.#metrics.meters });
    this.#decisions = common['observe-only'] ? decisions() : undefined;
    this.#metrics.caches(() => this.#runner?.cacheSizes() ?? new Map());
    this.#metrics.malformed(() => this.#runner?.malformed() ?? new Map());
    this.#manager = createManager({
      clock: host.clock,
      log: this.#log,
      phases: [
        this.#connect(),
        this.#serve(),
        this.#lookAround(),
        this.#reach('control'),
        this.#reach('target'),
        ...this.#serveMore(),
        fleetFlags === undefined ? this.#lead() : this.#serveFleet(fleetFlags),
      ],
    });
  }

  async run(warnings: readonly string[], settings: Configuration['settings']): Promise<number> {
    const { name, version } = this.#definition;
    this.#log.info('starting', { version, node: process.version, ...settings });
    for (const warning of warnings) this.#log.warn(warning);
    this.#host.onStopRequest((reason) => this.#onStopRequest(reason));
    try {
      await this.#manager.start();
      this.#host.print(`ready ${this.#address}`);
    } catch (error) {
      if (!this.#stopping) this.#fail(`${name}: ${errorText(error)}`);
    }
    return this.#ended.promise;
  }

  #onStopRequest(reason: string): void {
    if (this.#stopping) {
      this.#host.exit(1);
      return;
    }
    this.#end(0, reason);
  }

  /** The last log line contains the reason why the process ends, because users look there first. */
  #fail(sentence: string): void {
    this.#end(1, sentence, () => this.#host.printError(sentence));
  }

  #onCollection(use: MemoryUse): void {
    const why = checkMemory(use, this.#warnings);
    if (why === undefined || this.#stopping) return;
    const sentence = `${this.#definition.name}: ${why}`;
    // The process logs the reason before it stops, because the stop needs more memory.
    this.#log.error(sentence);
    this.#fail(sentence);
  }

  #end(code: number, reason: string, last?: () => void): void {
    this.#stopping = true;
    void this.#manager.stop(reason).then(() => {
      last?.();
      this.#ended.resolve(code);
    });
  }

  #connect(): Phase {
    return {
      name: 'configuration',
      start: async () => {
        const { name, version } = this.#definition;
        const flags: FlagValues<CommonFlags> = this.#flags;
        const clusters = await connectClusters({
          binary: name,
          version,
          ...kubeconfigsOf(flags, this.#fleetFlags !== undefined),
          dial: this.#dial,
          qps: flags['kube-api-qps'],
          burst: flags['kube-api-burst'],
          env: this.#host.env,
          clock: this.#host.clock,
          random: this.#host.random,
          metrics: this.#metrics,
          log: this.#log,
          warnings: this.#warnings,
          certificates: this.#certificates,
          answers: new AnswerWatcher({
            clock: this.#host.clock,
            warnings: this.#warnings,
            meters: this.#metrics.meters,
          }),
        });
        this.#clusters = clusters;
        return () => clusters.close();
      },
    };
  }

  #serve(): Phase {
    return {
      name: 'health-server',
      start: async () => {
        const flags: FlagValues<CommonFlags> = this.#flags;
        const { clock } = this.#host;
        const sources: HealthSources = {
          alive: () => !this.#stopping,
          readiness: () => this.#readiness(),
          scrape: () => (this.#fleet ?? this.#metrics).scrape(),
          settings: () => this.#flags,
          logLevel: this.#log.level,
          profiling: flags.profiling,
          pages: this.#pages,
          clock,
        };
        const client = () => this.#clusters?.control.client('access');
        const notes = { certificates: this.#certificates, warnings: this.#warnings };
        const served = servedCertificate('certificate of --secure-port', notes);
        const { url, close } = await serveHealth(flags, sources, { client, clock, log: this.#log, served });
        this.#address = url;
        const unwatch = watchProcess(this.#metrics.meters);
        const forget = this.#host.onCollection?.((use) => this.#onCollection(use));
        return () => {
          unwatch();
          forget?.();
          return close();
        };
      },
    };
  }

  #reach(which: 'control' | 'target'): Phase {
    return reachPhase(which, () => ({
      cluster: this.#clusters?.[which],
      host: this.#host,
      warnings: this.#warnings,
      reached: () => {
        if (which === 'control') this.#reached.abort();
      },
    }));
  }

  #lookAround(): Phase {
    return environmentPhase(() => ({
      clusters: this.#clusters,
      certificates: this.#certificates,
      clock: this.#host.clock,
      log: this.#log,
      meters: this.#metrics.meters,
      warnings: this.#warnings,
      crds: this.#definition.crds ?? [],
      reached: this.#reached.signal,
    }));
  }

  #serveMore(): Phase[] {
    const { serve } = this.#definition;
    return serve && this.#decisions === undefined && this.#fleetFlags === undefined
      ? [{ name: 'services', start: () => serve(this.#context().context) }]
      : [];
  }

  get #dial(): Dial {
    return this.#host.dial ?? undiciTransport;
  }

  #serveFleet(fleetFlags: FleetFlags): Phase {
    return {
      name: 'fleet',
      start: async () => {
        const home = this.#clusters;
        if (home === undefined) throw new Error('fleet before configuration');
        this.#definition.begin?.(this.#log);
        const stop = new AbortController();
        const fleet = new FleetProcess<F>({
          definition: this.#definition,
          host: this.#host,
          flags: this.#flags,
          fleetFlags,
          log: this.#log,
          dial: this.#dial,
          home,
          connections: home.connections,
          metrics: this.#metrics,
          pages: this.#pages,
        });
        this.#fleet = fleet;
        const running = fleet.run(stop.signal).catch((error: unknown) => {
          this.#fail(`${this.#definition.name}: ${errorText(error)}`);
        });
        return async () => {
          stop.abort(new Error('the process stops'));
          await running;
        };
      },
    };
  }

  #lead(): Phase {
    return {
      name: 'leader-election',
      start: async () => {
        const stop = new AbortController();
        const leading = this.#elect(stop.signal).catch((error: unknown) => {
          this.#fail(`${this.#definition.name}: ${errorText(error)}`);
        });
        return async () => {
          stop.abort(new Error('the process stops'));
          await leading;
        };
      },
    };
  }

  async #elect(signal: AbortSignal): Promise<void> {
    const flags: FlagValues<CommonFlags> = this.#flags;
    if (this.#decisions !== undefined) this.#log.info('Observe only: no writes and no Lease (--observe-only)');
    if (!flags['leader-elect'] || this.#decisions !== undefined) return this.#work(signal, signal);
    const { clock, random, identity } = this.#host;
    const client = this.#clusters?.control.urgentClient('leader-election');
    if (client === undefined) throw new Error('the leader election started before the configuration of the clusters');
    this.#leadership = { ok: true, detail: 'standby' };
    let lost = '';
    const end: ElectionEnd = await runElected(
      {
        client,
        lease: { namespace: flags.namespace, name: this.#definition.leaseName ?? this.#definition.name },
        identity,
        timings: {
          leaseMs: flags['leader-elect-lease-duration'],
          renewDeadlineMs: flags['leader-elect-renew-deadline'],
          retryMs: flags['leader-elect-retry-period'],
        },
        clock,
        random,
        log: this.#log,
        signal,
        version: this.#definition.version,
        settings: reportedSettings(this.#definition.flags, this.#flags),
        onLeader: (leader, version) => {
          this.#leadership = { ok: true, detail: `standby: ${leader} is the leader` };
          compareVersions(this.#definition, leader, version, this.#warnings);
        },
        onLost: (because) => {
          const refusals = this.#warnings.list().filter(({ subject }) => subject === 'control API server');
          lost = [because, ...refusals.map(({ sentence }) => sentence)].join('; ');
        },
        // A process that lacks the permission for the Lease is not ready, which stops the rollout of a new version.
        onForbidden: (error) => {
          const why = refusalOf({ refused: error }) ?? errorText(error);
          this.#leadership = { ok: false, detail: `cannot become the leader: ${why} in namespace ${flags.namespace}` };
        },
        follow: true,
      },
      (term, fence) => this.#work(term, signal, fence),
    );
    if (end === 'lost')
      this.#fail(
        `${this.#definition.name}: Lease lost: ending the process, because another replica may become the leader: ${lost}`,
      );
  }

  async #work(term: AbortSignal, stop: AbortSignal, fence?: Fence): Promise<void> {
    this.#leadership = { ok: true, detail: this.#decisions === undefined ? 'leading' : 'observing without a Lease' };
    this.#warnings.clear('version', this.#definition.name);
    const { clock, random } = this.#host;
    const { context, recorders } = this.#context(fence);
    this.#definition.begin?.(this.#log);
    const units = await this.#definition.units(context);
    this.#runner = new UnitRunner({ units, clock, random, log: this.#log });
    await workUntil(this.#runner, { term, stop, clock }, recorders);
  }

  #context(fence?: Fence): ReturnType<typeof createContext<F>> {
    const clusters = this.#clusters;
    if (clusters === undefined) throw new Error('controllers before configuration');
    return createContext({
      name: this.#definition.name,
      flags: this.#flags,
      clusters,
      host: this.#host,
      log: this.#log,
      metrics: this.#metrics,
      decisions: this.#decisions,
      pages: this.#pages,
      certificates: this.#certificates,
      warnings: this.#warnings,
      fence,
    });
  }

  #readiness(): readonly Check[] {
    const phases = this.#manager.status().map(({ name, state, detail }): Check => {
      const ok = state === 'started';
      if (name === 'environment' && ok) return { name, ok, detail: this.#warnings.summary() };
      if (name === 'fleet' && ok) return { name, ok, detail: this.#fleet?.summary() ?? '' };
      if (name === 'leader-election' && ok) return { name, ...this.#leadership };
      return { name, ok, detail: ok ? 'ok' : detail || state };
    });
    return [...phases, ...(this.#runner?.checks() ?? [])];
  }
}

/** Returns the fleet flags, or undefined if the process serves one cluster. */
function givenFleet<F extends Flags>(
  { fleet }: BinaryDefinition<F>,
  values: Partial<FleetFlags>,
): FleetFlags | undefined {
  return fleet !== undefined && isFleet(values as FleetFlags) ? (values as FleetFlags) : undefined;
}

/** Returns the flags that only apply to a process with one cluster. */
const singleFlags = <F extends Flags>({ fleet, flags }: BinaryDefinition<F>, values: FlagValues<F>): string[] =>
  (fleet?.without ?? [])
    .filter((name) => values[name] !== flags[name]?.fallback)
    .map((name) => `--${name} is not available in the fleet mode; use the flag only for a process with one cluster`);

/**
 * Returns errors in the flags of the rollout budget. A rollout budget needs a watch of the clusters' Leases, which a
 * fleet without a seed does not have.
 */
function budgetProblems<F extends Flags>(
  { fleet }: BinaryDefinition<F>,
  values: FlagValues<F>,
  fleetFlags: FleetFlags | undefined,
): string[] {
  const name = fleet?.rolloutBudget;
  if (name === undefined || values[name] === '' || (fleetFlags !== undefined && hasSeed(fleetFlags))) return [];
  return [`--${name} needs ${SEED_FLAGS}`];
}

function kubeconfigsOf(flags: FlagValues<CommonFlags>, fleet: boolean) {
  const control = flags['control-kubeconfig'];
  if (!fleet) return { controlKubeconfig: control, targetKubeconfig: flags['target-kubeconfig'] };
  return {
    controlKubeconfig: control === '' ? IN_CLUSTER : control,
    targetKubeconfig: 'none',
    urgentConnections: FLEET_CONNECTIONS,
  };
}

/**
 * Runs a controller binary until it must stop, as in `process.exit(await runBinary(definition))`.
 * - The promise resolves to the exit code: 0 after a stop request, 1 after a failed start or the loss of the Lease.
 * - The binary prints `ready <address>` when it serves its endpoints, its API servers have answered, and the election
 * has begun.
 */
export async function runBinary<const F extends Flags>(
  definition: BinaryDefinition<F>,
  host: Host = processHost(hostname()),
): Promise<number> {
  const crash = (error: unknown): number => {
    host.printError(error instanceof Error ? (error.stack ?? '') : '');
    host.printError(`${definition.name}: unexpected error in this program: ${errorText(error)}`);
    return 1;
  };
  host.onCrash?.((error) => host.exit(crash(error)));
  try {
    const parsed = await parseFlags(
      definition,
      { ...commonFlags(definition.defaults), ...(definition.fleet ? fleetFlags : {}), ...definition.flags },
      host.argv,
      host.env,
    );
    if (parsed.kind === 'print') {
      host.print(parsed.text.trimEnd());
      return 0;
    }
    const flags = parsed.values as FlagValues<F> & FlagValues<CommonFlags>;
    const fleet = givenFleet(definition, parsed.values as Partial<FleetFlags>);
    const problems = [
      ...crossCheck(flags),
      ...(fleet === undefined ? [] : [...checkFleetFlags({ ...flags, ...fleet }), ...singleFlags(definition, flags)]),
      ...budgetProblems(definition, flags, fleet),
      ...(definition.check?.(flags) ?? []),
    ];
    if (problems.length > 0) throw new ConfigError(problems.join('\n'));
    const { settings, warnings = [] } = (await definition.configure?.(flags)) ?? {};
    return await new Run(definition, host, flags, fleet).run(
      [...parsed.warnings, ...doubtsAbout(flags), ...warnings],
      settings,
    );
  } catch (error) {
    if (!(error instanceof ConfigError)) return crash(error);
    for (const line of error.message.split('\n')) host.printError(`${definition.name}: ${line}`);
    return 1;
  }
}
