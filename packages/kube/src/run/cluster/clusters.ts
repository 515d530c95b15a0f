import { errorText } from '../../base/error-text.ts';
import type { Random } from '../../base/random.ts';
import { type ClientOptions, createClient, userAgent } from '../../client/create-client.ts';
import type { Clock } from '../../clock/clock.ts';
import type { KubeClient } from '../../contract/client.ts';
import type { Logger } from '../../contract/logger.ts';
import { ServerHistory } from '../../contract/server-history.ts';
import type { Transport } from '../../contract/transport.ts';
import { type ClusterConfig, ConfigError } from '../../credentials/cluster-config.ts';
import type { FilesNews } from '../../credentials/follow-files.ts';
import { IN_CLUSTER, loadKubeconfig } from '../../credentials/load-kubeconfig.ts';
import type { Metrics } from '../../metrics/create-metrics.ts';
import type { UndiciTransport, UndiciTransportOptions } from '../../transports/undici.ts';
import type { AnswerWatcher, CertificatesInUse, CredentialPlaces, Warnings } from '../warnings/index.ts';

/** The clients of one cluster. */
export interface Cluster {
  readonly server: string;
  readonly source: string;
  client(component: string): KubeClient;
  /** Returns a client with a separate connection, for urgent requests such as renewing a Lease. */
  urgentClient(component: string): KubeClient;
}

/** The cluster of the Machine objects and the cluster of the Nodes, which may be one cluster. */
export interface Clusters {
  readonly control: Cluster;
  readonly target: Cluster | undefined;
  readonly same: boolean;
  close(): Promise<void>;
}

export type Dial = (options: UndiciTransportOptions) => UndiciTransport;

/** Settings of the clients, and the kubeconfigs of their clusters. */
export interface ClusterSettings extends ClientSettings {
  readonly controlKubeconfig: string;
  readonly targetKubeconfig: string;
  readonly urgentConnections?: number | undefined;
}

export interface ClientSettings {
  readonly binary: string;
  readonly version: string;
  readonly qps: number;
  readonly burst: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly dial: Dial;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly warnings: Warnings;
  readonly answers: AnswerWatcher;
  readonly certificates: CertificatesInUse;
}

const NONE = 'none';

/** Selects the source for the configuration of each cluster. */
export function chooseSources(settings: Pick<ClusterSettings, 'controlKubeconfig' | 'targetKubeconfig'>): {
  readonly control: string;
  readonly target: string | undefined;
} {
  const target = settings.targetKubeconfig === '' ? IN_CLUSTER : settings.targetKubeconfig;
  const control = settings.controlKubeconfig === '' ? target : settings.controlKubeconfig;
  if (control === NONE) {
    throw new ConfigError(
      settings.controlKubeconfig === NONE
        ? '--control-kubeconfig must not be "none", because the control cluster contains the machine objects; set a path or "inClusterConfig"'
        : '--target-kubeconfig=none needs --control-kubeconfig: a path or "inClusterConfig"',
    );
  }
  return { control, target: target === NONE ? undefined : target };
}

function note(name: string, { ca, clientCertificate, from }: ClusterConfig, certificates: CertificatesInUse): void {
  // A credential plugin replaces its certificates automatically, so mcm does not warn about their expiry.
  if (clientCertificate !== undefined && from?.clientCertificate !== undefined)
    certificates.use({
      what: `client certificate of the ${name} cluster`,
      ...clientCertificate,
      from: from.clientCertificate,
    });
  if (ca !== undefined)
    certificates.use({ what: `certificate authority of the ${name} cluster`, certificate: ca, from: from?.ca });
}

function reportFiles(name: string, news: FilesNews, { log, warnings, certificates }: ClientSettings): void {
  if (news.kind === 'unusable') {
    warnings.raise('credentials', name, `cannot use the new credentials of the ${name} cluster: ${news.sentence}`);
    return;
  }
  warnings.clear('credentials', name);
  if (news.kind === 'as-before') return;
  note(name, news.config, certificates);
  log.info('Using the renewed credentials of a cluster', { cluster: name });
}

interface Source {
  readonly name: string;
  readonly flag: string;
  readonly given: boolean;
  readonly source: string;
}

export interface Connections {
  readonly server: string;
  readonly source: string;
  readonly places: CredentialPlaces;
  readonly transport: Transport;
  readonly urgent: Transport;
  close(): Promise<void>;
}

export interface OpenOptions {
  readonly source: string;
  readonly shown: string;
  readonly dial: Dial;
  readonly urgentConnections?: number | undefined;
}

/** Opens the connections of a cluster. */
export function openConnections(
  config: ClusterConfig,
  { source, shown, dial, urgentConnections = 1 }: OpenOptions,
): Connections {
  const transport = dial(config);
  const urgent = dial({ ...config, connections: urgentConnections });
  const close = async (): Promise<void> => {
    await Promise.all([transport.close(), urgent.close()]);
  };
  const { ca: authority, clientCertificate, authorization } = config.from ?? {};
  const places = { authority, shown: clientCertificate ?? authorization ?? shown };
  return { server: config.server, source, places, transport, urgent, close };
}

async function connect({ name, flag, given, source }: Source, settings: ClusterSettings): Promise<Connections> {
  const what = given ? `--${flag}=${source}` : `--${flag} (absent, which means ${source})`;
  const { clock, env, certificates, dial } = settings;
  try {
    const config = await loadKubeconfig(source, { clock, env, onFiles: (news) => reportFiles(name, news, settings) });
    note(name, config, certificates);
    const { urgentConnections } = settings;
    return openConnections(config, { source: what, shown: source, dial, urgentConnections });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(`${what}: ${errorText(error)}`);
  }
}

export function clusterOf(
  name: string,
  { server, source, places, transport, urgent }: Connections,
  settings: ClientSettings,
): Cluster {
  const { clock, random, qps, burst, binary, version } = settings;
  const measured = settings.metrics.requests(new URL(server).host);
  const { observe, refused } = settings.answers.of(name, places);
  const options: Omit<ClientOptions, 'userAgent' | 'transport'> = {
    clock,
    random,
    observe: (sample) => {
      measured(sample);
      observe(sample);
    },
    refused,
    rateLimit: qps > 0 ? { qps, burst } : undefined,
    history: new ServerHistory(),
  };
  const over = (way: Transport) => (component: string) =>
    createClient({ ...options, transport: way, userAgent: userAgent(binary, version, component) });
  return { server, source, client: over(transport), urgentClient: over(urgent) };
}

/**
 * Connects to the clusters.
 * @throws ConfigError with the name of the flag
 */
export async function connectClusters(
  settings: ClusterSettings,
): Promise<Clusters & { readonly connections: Connections }> {
  const sources = chooseSources(settings);
  const same = sources.target === sources.control;
  const [givenControl, givenTarget] = [settings.controlKubeconfig !== '', settings.targetKubeconfig !== ''];
  const target =
    sources.target === undefined
      ? undefined
      : await connect(
          {
            name: same ? 'control' : 'target',
            flag: 'target-kubeconfig',
            given: givenTarget,
            source: sources.target,
          },
          settings,
        );
  const control =
    same && target !== undefined
      ? target
      : await connect(
          { name: 'control', flag: 'control-kubeconfig', given: givenControl, source: sources.control },
          settings,
        );
  return {
    control: clusterOf('control', control, settings),
    target: target === undefined ? undefined : clusterOf('target', target, settings),
    same,
    connections: control,
    close: async () => {
      await Promise.all([control.close(), same ? undefined : target?.close()]);
    },
  };
}
