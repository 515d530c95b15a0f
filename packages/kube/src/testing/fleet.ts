import type { Logger } from '../contract/logger.ts';
import { kubeconfigOfText } from '../credentials/load-kubeconfig.ts';
import { type CommonFlags, commonFlags } from '../flags/common-flags.ts';
import type { Flags, FlagValues } from '../flags/flag.ts';
import { parseFlags } from '../flags/parse-flags.ts';
import type { ClusterStatus } from '../fleet/cluster-state.ts';
import { type FleetFlags, fleetFlags } from '../fleet/flags.ts';
import { createMetrics } from '../metrics/create-metrics.ts';
import { clusterOf, type Dial, openConnections } from '../run/cluster/clusters.ts';
import type { BinaryDefinition } from '../run/definition.ts';
import { FleetProcess } from '../run/fleet-process.ts';
import { DebugPages } from '../run/health/debug-pages.ts';
import type { Host } from '../run/process/host.ts';
import { AnswerWatcher, CertificatesInUse, Warnings } from '../run/warnings/index.ts';

/** A fleet replica that runs in a test. */
export interface PlayedFleet {
  readonly status: () => readonly ClusterStatus[];
  /** Returns the metrics and the debug pages of the replica and of each cluster. */
  readonly texts: () => Promise<readonly string[]>;
  readonly ended: Promise<void>;
}

/** The parts of a fleet process that the test provides. */
export interface FleetTestOptions {
  readonly host: Pick<Host, 'argv' | 'clock' | 'random' | 'identity'>;
  readonly dial: Dial;
  readonly log: Logger;
  readonly kubeconfig: string;
  readonly signal: AbortSignal;
}

export async function playedProcess<const F extends Flags>(
  definition: BinaryDefinition<F>,
  { host: given, dial, log }: Pick<FleetTestOptions, 'host' | 'dial' | 'log'>,
) {
  const host: Host = {
    ...given,
    env: {},
    dial,
    print: () => undefined,
    printError: () => undefined,
    onStopRequest: () => undefined,
    exit: () => undefined,
  };
  const known = { ...commonFlags(definition.defaults), ...fleetFlags, ...definition.flags };
  const parsed = await parseFlags(definition, known, host.argv, host.env);
  if (parsed.kind === 'print') throw new Error(parsed.text);
  const flags = parsed.values as FlagValues<F> & FlagValues<CommonFlags> & FleetFlags;
  const common: FlagValues<CommonFlags> = flags;
  const metrics = createMetrics({ prefix: 'mcm_', process: false });
  const warnings = new Warnings(log, metrics.meters);
  const certificates = new CertificatesInUse();
  const { clock, random } = host;
  const answers = new AnswerWatcher({ clock, warnings, meters: metrics.meters });
  const connect = async (name: 'control' | 'target', kubeconfig: string) => {
    const config = await kubeconfigOfText(kubeconfig, { source: name, clock });
    const connections = openConnections(config, { source: name, shown: name, dial });
    const cluster = clusterOf(name, connections, {
      binary: definition.name,
      version: definition.version,
      qps: common['kube-api-qps'],
      burst: common['kube-api-burst'],
      env: {},
      clock,
      random,
      dial,
      metrics,
      log,
      warnings,
      certificates,
      answers,
    });
    return { cluster, connections };
  };
  return { host, flags, metrics, warnings, certificates, connect };
}

/** Runs a fleet replica without sockets or files, so that a simulation can repeat each run. */
export async function runFleet<const F extends Flags>(
  definition: BinaryDefinition<F>,
  options: FleetTestOptions,
): Promise<PlayedFleet> {
  const { dial, log, kubeconfig, signal } = options;
  const { host, flags, metrics, connect } = await playedProcess(definition, options);
  const { cluster: control, connections } = await connect('control', kubeconfig);
  const home = { control, target: undefined, same: false, close: () => connections.close() };
  const pages = new DebugPages();
  const parts = { definition, host, flags, fleetFlags: flags, log, dial, home, connections, metrics, pages };
  const fleet = new FleetProcess<F>(parts);
  const texts = async (): Promise<readonly string[]> => {
    const { text } = await fleet.scrape();
    const asked = fleet.status().flatMap(({ cluster }) =>
      pages.list().map(async ({ answer }) => {
        // A page returns an error if it does not know the cluster.
        const shown = await answer(new URLSearchParams({ cluster })).catch((error: unknown) => ({
          body: String(error),
        }));
        return shown.body;
      }),
    );
    return [text, ...(await Promise.all(asked))];
  };
  return { status: () => fleet.status(), texts, ended: fleet.run(signal) };
}
