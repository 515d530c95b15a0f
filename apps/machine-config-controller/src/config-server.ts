import {
  type Clock,
  type KubeClient,
  keepSelfMadeCertificates,
  type Logger,
  type Meters,
  type Random,
  type SelfMadeOptions,
  type ServedCertificate,
  type ServingPair,
  serveCertificateFiles,
  startTlsServer,
  type TlsServer,
} from '@mcm/kube';
import { createConfigEndpoint, createTokenCaches, type RateLimit } from '@mcm/machine-config';

const FLAGS = { port: '--config-server-port', certificates: '--config-server-cert-dir' } as const;

/** The settings of the config server: its address and its certificate. */
export interface ConfigServerSettings {
  readonly host: string;
  /** The port of the server. If the port is 0, the operating system selects a free port. */
  readonly port: number;
  /** The folder of the certificates. If `certificates` is empty, the server creates self-signed certificates. */
  readonly certificates: string;
  /** The settings for self-signed certificates. */
  readonly selfMade: Pick<SelfMadeOptions, 'namespace' | 'secret' | 'names'>;
  /**
   * Whether the server looks up the machine of a bootstrap token in a cache. If the CRDs of machines may be absent,
   * `machinePools` must be false.
   */
  readonly machinePools: boolean;
  readonly limit: RateLimit;
}

/** The clients and other objects that the config server needs. */
export interface ConfigServerContext {
  readonly control: KubeClient;
  readonly target: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly meters?: Meters;
  readonly served: ServedCertificate;
}

/** A running config server. */
export interface ConfigServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Registers the metrics of the config server. */
export function registerConfigServerMetrics(meters: Meters): (status: number) => void {
  const name = 'mcc_config_server_requests_total';
  const count = meters.counter({
    name,
    help: 'Number of configuration requests of booting machines, by status code',
    labels: ['code'],
  });
  return (status) => count({ code: String(status) });
}

/**
 * Returns the DNS names of a Service inside of its cluster. Machines outside of the cluster connect with the names in
 * `--config-server-names`.
 */
export const serverNames = (service: string, namespace: string): readonly string[] => [
  `${service}.${namespace}.svc`,
  `${service}.${namespace}.svc.cluster.local`,
];

type Stop = () => Promise<void>;
type Serve = Parameters<typeof startTlsServer>[2];
interface Served {
  readonly server: TlsServer;
  readonly stop: Stop;
}

async function serveFromFiles(settings: ConfigServerSettings, serve: Serve, context: ConfigServerContext) {
  const files = { directory: settings.certificates, flag: FLAGS.certificates };
  const start = (pair: ServingPair) => startTlsServer({ ...settings, flag: FLAGS.port }, pair, serve);
  const { server, close } = await serveCertificateFiles(files, start, context);
  return { server, stop: async () => close() } satisfies Served;
}

async function serveSelfMade(settings: ConfigServerSettings, serve: Serve, context: ConfigServerContext) {
  const { control, clock, random, log, served } = context;
  const server = await startTlsServer({ ...settings, flag: FLAGS.port }, undefined, serve);
  const stopping = new AbortController();
  const shared = { client: control, clock, random, log, configurations: '', purpose: 'first boots' };
  const use = (pair: ServingPair): void => {
    server.use(pair);
    served.use(pair);
  };
  const kept = keepSelfMadeCertificates({ ...settings.selfMade, ...shared, use }, stopping.signal);
  const stop = () => {
    stopping.abort(new Error('the process is stopping'));
    return kept;
  };
  return { server, stop } satisfies Served;
}

/**
 * Serves configurations for the first boot of machines until `close` is called. Every replica of the controller runs a
 * config server.
 */
export async function startConfigServer(
  settings: ConfigServerSettings,
  context: ConfigServerContext,
): Promise<ConfigServer> {
  const { control, target, clock, random, log, meters } = context;
  const { limit, certificates, machinePools } = settings;
  const counted = meters && { onAnswer: registerConfigServerMetrics(meters) };
  const caches = machinePools ? createTokenCaches(control, { clock, random, log }) : undefined;
  const endpoint = createConfigEndpoint({ control, target, clock, log, limit, caches, ...counted });
  const serve = certificates === '' ? serveSelfMade : serveFromFiles;
  const { server, stop } = await serve(settings, endpoint, context);
  const caching = new AbortController();
  const cached = [caches?.machines, caches?.sets].map((informer) => informer?.run(caching.signal));
  log.info('Serving configurations to booting machines', { port: server.port });
  return {
    port: server.port,
    close: async () => {
      caching.abort(new Error('the process is stopping'));
      await Promise.all([stop(), server.close(), ...cached]);
    },
  };
}
