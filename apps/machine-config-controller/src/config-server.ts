import {
  type Clock,
  type KubeClient,
  type Logger,
  type Meters,
  readCertificateFiles,
  startTlsServer,
  watchCertificateFiles,
} from '@mcm/kube';
import { createConfigEndpoint, type RateLimit } from '@mcm/machine-config';

/** Where the config server serves, and with which certificate. */
export interface ConfigServerSettings {
  readonly host: string;
  /** 0: not at all. */
  readonly port: number;
  /** Holds `tls.crt` and `tls.key`. */
  readonly certificates: string;
  readonly limit: RateLimit;
}

/** What it needs of the process. */
export interface ConfigServerContext {
  readonly control: KubeClient;
  readonly target: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly meters?: Meters;
}

/** A server that runs. */
export interface ConfigServer {
  readonly port: number;
  close(): Promise<void>;
}

/** The metrics of the config server. */
export function registerConfigServerMetrics(meters: Meters): (status: number) => void {
  const name = 'mcc_config_server_requests_total';
  const count = meters.counter({
    name,
    help: 'Requests of machines that boot, by the code of the answer',
    labels: ['code'],
  });
  return (status) => count({ code: String(status) });
}

/** Serves the configuration of first boots, in every replica, until it is closed. */
export async function startConfigServer(
  settings: ConfigServerSettings,
  { control, target, clock, log, meters }: ConfigServerContext,
): Promise<ConfigServer> {
  const { host, port, certificates, limit } = settings;
  const pair = await readCertificateFiles(certificates, '--config-server-cert-dir');
  const counted = meters && { onAnswer: registerConfigServerMetrics(meters) };
  const endpoint = createConfigEndpoint({ control, target, clock, log, limit, ...counted });
  const server = await startTlsServer({ host, port, flag: '--config-server-port' }, pair, endpoint);
  const files = watchCertificateFiles(certificates, { clock, log, use: server.use });
  log.info('Serving configurations of first boots', { port: server.port });
  return {
    port: server.port,
    close: () => {
      files.close();
      return server.close();
    },
  };
}
