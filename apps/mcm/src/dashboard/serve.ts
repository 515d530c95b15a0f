import type { MachineClass } from '@mcm/api';
import {
  type Clock,
  createLogger,
  errorText,
  type Logger,
  pause,
  type Random,
  realClock,
  silentLogger,
} from '@mcm/kube';
import { type Cluster, type ClusterFlags, inCluster } from '../cluster/cluster.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import { ControllerWatch } from '../controllers/watch.ts';
import { type FleetSource, readSource } from '../members/source.ts';
import { createGate } from './access/gate.ts';
import { Board } from './board/board.ts';
import { clusterSource } from './board/clusters.ts';
import { Controllers } from './board/controllers.ts';
import { Drains } from './board/drains.ts';
import { Hub } from './board/hub.ts';
import { watchSources } from './board/sources.ts';
import { createDetails } from './detail.ts';
import { isLoopback, startRemote } from './remote.ts';
import { type DashboardServer, startDashboard } from './server.ts';
import { followSettings } from './settings.ts';

export type DashboardFlags = ClusterFlags & {
  readonly port: number;
  readonly allNamespaces?: boolean;
  readonly fleet?: true | string;
  /** The IP address on which the server listens. */
  readonly listen: string;
  readonly tlsCertDir?: string;
};

/** Runs the command `mcm dashboard` until the signal is aborted. */
export const runDashboard = (flags: DashboardFlags, environment: CommandEnvironment): Promise<void> =>
  inCluster(flags, 'dashboard', async (cluster) => {
    const signal = environment.signal();
    // This request verifies that the API server responds. Otherwise, the command ends with an error.
    await cluster.client.request('GET', '/version', { signal });
    const given = flags.fleet === true ? undefined : flags.fleet;
    const fleet =
      flags.fleet === undefined ? undefined : await readSource(cluster.client, cluster.namespace, given, signal);
    const all = flags.allNamespaces === true || fleet !== undefined;
    const remote = isLoopback(flags.listen) ? undefined : { host: flags.listen, certificates: flags.tlsCertDir };
    if (remote === undefined && flags.tlsCertDir !== undefined)
      throw new UserError('--tls-cert-dir needs --listen with an address that other machines can reach');
    const options = { ...environment, signal, port: flags.port, allNamespaces: all, fleet, remote };
    const dashboard = await serveDashboard(cluster, options);
    const scope =
      fleet !== undefined ? `the fleet ${fleet.selector}` : all ? 'all namespaces' : `namespace ${cluster.namespace}`;
    environment.say(`dashboard of ${scope}: ${dashboard.url} (Ctrl-C stops the dashboard)`);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await dashboard.close();
  });

/** The minimum time between two messages, so that many changes within a short time become one message. */
const GAP_MS = 200;
/** The interval at which the dashboard checks which objects wait for too long. */
const TICK_MS = 5_000;
/** The interval at which the dashboard assesses the controllers, because no event occurs if a controller stops. */
const CONTROLLERS_MS = 2_000;

export interface ServeOptions {
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly port: number;
  readonly allNamespaces?: boolean;
  /** How the fleet finds its clusters. If `fleet` is set, `allNamespaces` must be set too. */
  readonly fleet?: FleetSource | undefined;
  /**
   * The settings for access from other computers, with TLS and logins. If `certificates` is undefined, a self-signed
   * certificate is used.
   */
  readonly remote?: { readonly host: string; readonly certificates: string | undefined } | undefined;
}

/**
 * Watches a cluster and serves its dashboard until the signal is aborted.
 * @throws UserError if the port is not available
 */
export async function serveDashboard(
  { client, target, namespace: own, programs }: Cluster,
  { random, signal, port, allNamespaces = false, fleet: source, remote }: ServeOptions,
): Promise<DashboardServer> {
  const clock = realClock;
  const log = createLogger({ level: 'warn' });
  const runtime = { clock, random, log };
  const namespace = allNamespaces ? undefined : own;
  const fleet = source?.selector;
  const clusters = await clusterSource(client, source, own, signal);
  let wake: () => void = () => undefined;
  let board: Board | undefined;
  const sources = watchSources({
    client,
    target,
    namespace,
    clusters,
    peersIn: own,
    runtime,
    signal,
    onGap: () => board?.touchGaps(),
  });
  const settings = followSettings(client, own, { ...runtime, signal, onChange: () => wake() });
  const defaults = () => settings().ofMachines.defaults;
  const classOf = ({ metadata, spec }: { metadata: { namespace?: string }; spec: { class?: { name?: string } } }) =>
    sources.classes.store.get(`${metadata.namespace ?? ''}/${spec.class?.name ?? ''}`) as MachineClass | undefined;
  const drains = new Drains({
    target: fleet === undefined ? target : undefined,
    runtime,
    signal,
    defaults,
    classOf,
    onChange: () => board?.touchDrains(),
  });
  const onRenewal = () => undefined; // No action: the next periodic assessment takes the renewal into account.
  const watch = new ControllerWatch({ client, namespace, ...runtime, log: silentLogger, signal, onChange: onRenewal });
  const controllers = new Controllers(watch, namespace);
  const around = { sources, namespace, fleet, clock, log, defaults, drains, controllers, login: remote !== undefined };
  const made = new Board({ ...around, onDirty: () => wake() });
  board = made;
  made.flush();
  const hub = new Hub(() => made.first());
  const details = createDetails({ client, target, fleet, clock, random, board: made, sources, settings, controllers });
  const common = { port, hub, details, signal, clock };
  const served =
    remote === undefined
      ? await startDashboard(common)
      : await startRemote(remote, createGate({ client, clock, log }), common, log);
  sources.run();
  watch.run();
  void flushOnChange(made, hub, { clock, log, signal, onWake: (handler) => (wake = handler) });
  void every(clock, TICK_MS, signal, async () => {
    made.tick();
    hub.beat();
  });
  void every(clock, CONTROLLERS_MS, signal, async () => {
    controllers.notePrograms(programs?.() ?? []);
    made.assessControllers();
  });
  return {
    ...served,
    async close() {
      hub.close();
      await served.close();
    },
  };
}

/** Sends changes of the board to the pages, at most every 200 ms. */
async function flushOnChange(
  board: Board,
  hub: Hub,
  options: { clock: Clock; log: Logger; signal: AbortSignal; onWake: (handler: () => void) => void },
): Promise<void> {
  const { clock, log, signal, onWake } = options;
  let next = Promise.withResolvers<void>();
  onWake(() => next.resolve());
  signal.addEventListener('abort', () => next.resolve(), { once: true });
  while (!signal.aborted) {
    await next.promise;
    next = Promise.withResolvers<void>();
    if (signal.aborted) return;
    try {
      const frame = board.flush();
      if (frame !== undefined) hub.send(frame);
    } catch (error) {
      log.error('Cannot update the dashboard; the next change starts another update', { error: errorText(error) });
    }
    await pause(clock, GAP_MS, signal);
  }
}

async function every(clock: Clock, ms: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await work();
    await pause(clock, ms, signal);
  }
}
