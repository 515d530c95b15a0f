import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Clock,
  ConfigError,
  errorText,
  type Logger,
  type Meters,
  type ServedCertificate,
  type ServingPair,
  serveCertificateFiles,
} from '@mcm/kube';
import { createNodeGroups, type NodeGroupContext } from './groups.ts';
import { registerAutoscalerMetrics } from './metrics.ts';
import { type AutoscalerServer, startAutoscalerServer } from './server.ts';

/** The address and the certificates of the gRPC server for the cluster autoscaler. */
export interface AutoscalerSettings {
  readonly host: string;
  /** The port of the gRPC server. If the port is 0, the manager does not serve the protocol. */
  readonly port: number;
  readonly certificates: string;
}

/** The clients and other objects that the protocol needs. */
export interface AutoscalerContext extends NodeGroupContext {
  readonly clock: Clock;
  readonly served: ServedCertificate;
  readonly meters: Meters;
}

const FLAG = '--autoscaler-cert-dir';

/**
 * Reads the CA with which the server verifies its clients.
 * @throws ConfigError with the flag and the file
 */
async function readClientCa(directory: string): Promise<string> {
  try {
    return await readFile(join(directory, 'ca.crt'), 'utf8');
  } catch (error) {
    throw new ConfigError(
      `${FLAG} must contain ca.crt, the CA of the certificate of the autoscaler; cannot read this file in ${directory}: ${errorText(error)}`,
    );
  }
}

/** A gRPC server that restarts when its certificate files change. */
class RenewedServer {
  readonly #start: (pair: ServingPair) => Promise<AutoscalerServer>;
  readonly #log: Logger;
  #running: Promise<AutoscalerServer | undefined>;

  constructor(start: (pair: ServingPair) => Promise<AutoscalerServer>, first: AutoscalerServer, log: Logger) {
    this.#start = start;
    this.#running = Promise.resolve(first);
    this.#log = log;
  }

  use(pair: ServingPair): void {
    this.#running = this.#running.then(async (server) => {
      await server?.close();
      return this.#start(pair).catch((error: unknown) => {
        this.#log.error('Cannot serve the autoscaler with the new certificate', { error: errorText(error) });
        return undefined;
      });
    });
  }

  async close(): Promise<void> {
    await (await this.#running)?.close();
  }
}

/**
 * Serves the external gRPC protocol of the cluster autoscaler until the returned function is called. Every replica
 * serves the protocol, because the autoscaler may connect to any replica. A replica that is not the leader can safely
 * change the size of a group. The replica writes one object, and the write fails if another client has changed the
 * object.
 */
export async function serveAutoscaler(
  settings: AutoscalerSettings,
  context: AutoscalerContext,
): Promise<(() => Promise<void>) | undefined> {
  const { host, port, certificates } = settings;
  if (port === 0) return undefined;
  const { clock, log, served, meters } = context;
  const { groups, ready, run } = createNodeGroups(context);
  const observe = registerAutoscalerMetrics(meters, () => (ready() ? groups.list().length : undefined));
  const start = async (pair: ServingPair): Promise<AutoscalerServer> => {
    const clientCa = await readClientCa(certificates);
    return startAutoscalerServer({ host, port, groups, ready, log, clock, observe }, { ...pair, clientCa });
  };
  const { server, close } = await serveCertificateFiles(
    { directory: certificates, flag: FLAG },
    async (pair) => new RenewedServer(start, await start(pair), log),
    { clock, log, served },
  );
  const end = new AbortController();
  const ended = run(end.signal);
  log.info('Serving requests of the cluster autoscaler', { port });
  return async () => {
    close();
    end.abort(new Error('the process stops'));
    await Promise.all([ended, server.close()]);
  };
}
