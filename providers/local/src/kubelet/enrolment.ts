import type { KubeClient, OutageLog, Transport } from '@mcm/kube';
import type { IgnitionConfig } from '@mcm/machine-config';
import { requestCertificate } from './certificate/request-certificate.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { fetchFirstConfig } from './first-boot.ts';
import type { ApiAddress, ApiTransport } from './node/api-address.ts';
import type { KubeletCertificate } from './node/memory.ts';
import type { ConfigPointer } from './node/pointer.ts';
import { type BootConfig, UserDataError } from './node/user-data.ts';

/** Credentials for an API server that all simulated kubelets share. */
export interface NodeCluster {
  readonly server: string;
  /** The transport with the shared credentials. */
  readonly transport: Transport;
  /** The transport without credentials, with which bootstrap tokens are checked. */
  readonly bare: Transport;
}

export interface EnrolmentOptions extends Omit<ConnectionOptions, 'transport'> {
  readonly nodeCluster?: NodeCluster | undefined;
  readonly connect: (address: ApiAddress) => ApiTransport;
}

export interface Access {
  readonly client: KubeClient;
  readonly connection: Connection;
  readonly outage: OutageLog;
  /**
   * The stored client certificate. The store keeps the certificate across restarts, because a bootstrap token can be
   * used only once.
   */
  readonly certificate?: KubeletCertificate;
  close(): void;
}

/**
 * Exchanges the bootstrap token of a machine for a client certificate, as in TLS bootstrapping. With existing
 * credentials (`--node-kubeconfig`), the class only checks the token, and returns the shared connection.
 */
export class Enrolment {
  readonly #options: EnrolmentOptions;
  readonly #connections = new Map<string, Connection>();

  constructor(options: EnrolmentOptions) {
    this.#options = options;
  }

  /** @throws the error of the server */
  firstConfig(pointer: ConfigPointer, signal: AbortSignal): Promise<IgnitionConfig> {
    return fetchFirstConfig(pointer, this.#options.connect, signal);
  }

  /**
   * Exchanges the bootstrap token for access to the API server.
   * @throws {UserDataError} if the user data is invalid.
   */
  async enrol(
    nodeName: string,
    boot: BootConfig,
    options: {
      readonly certificate?: KubeletCertificate | undefined;
      /** Whether the API server has already accepted the bootstrap token. */
      readonly enrolled: boolean;
      readonly signal: AbortSignal;
    },
  ): Promise<Access> {
    const { nodeCluster } = this.#options;
    if (nodeCluster) return this.#shared(nodeCluster, boot, options);
    const { server, ca, token } = boot;
    if (server === undefined)
      throw new UserDataError('user data: server: contains no API server, and the cloud has no default API server');
    const address = { server, ca };
    const connection = this.#connection(`${server} ${ca}`, () => this.#options.connect(address));
    const certificate = options.certificate ?? (await this.#bootstrap(connection, nodeName, token, options.signal));
    // Each certificate needs its own connection, because TLS authenticates the client once for a connection.
    const transport = this.#options.connect({ ...address, clientCertificate: certificate });
    const own = new Connection({ ...this.#options, transport, nodeName });
    return {
      client: own.client(),
      connection: own,
      outage: connection.outage,
      certificate,
      close: () => {
        own.close();
        transport.close?.().catch((error: unknown) => this.#closeFailed(error));
      },
    };
  }

  async #shared(
    cluster: NodeCluster,
    boot: BootConfig,
    { enrolled, signal }: { readonly enrolled: boolean; readonly signal: AbortSignal },
  ): Promise<Access> {
    const connection = this.#connection('node-kubeconfig', () => cluster.transport);
    if (boot.token !== undefined && !enrolled) {
      const bare = this.#connection('node-kubeconfig, bare', () => cluster.bare);
      // The API server rejects an invalid token on any path. A response to `/version` proves that the token is valid.
      await bare.client(boot.token).request('GET', '/version', { signal });
    }
    return { client: connection.client(), connection, outage: connection.outage, close: () => undefined };
  }

  async #bootstrap(
    connection: Connection,
    nodeName: string,
    token: string | undefined,
    signal: AbortSignal,
  ): Promise<KubeletCertificate> {
    if (token === undefined)
      throw new UserDataError('user data: bootstrapToken: is missing, so the machine cannot join');
    return requestCertificate(connection.client(token), nodeName, signal);
  }

  #connection(key: string, transport: () => Transport): Connection {
    let connection = this.#connections.get(key);
    if (!connection) {
      connection = new Connection({ ...this.#options, transport: transport() });
      this.#connections.set(key, connection);
    }
    return connection;
  }

  #closeFailed(error: unknown): void {
    this.#options.log.debug('A connection to the API server did not close cleanly', { error: String(error) });
  }

  close(): void {
    for (const connection of this.#connections.values()) connection.close();
  }
}
