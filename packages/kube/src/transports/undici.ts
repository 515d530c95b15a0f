import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Dispatcher } from 'undici';
import { defined, withoutUndefined } from '../base/defined.ts';
import { unlessAborted } from '../base/unless-aborted.ts';
import { isWatch } from '../client/paths.ts';
import type { Transport, TransportRequest, TransportResponse } from '../contract/transport.ts';
import { type ClusterConfig, ConfigError } from '../credentials/cluster-config.ts';
import { environmentProxy } from './environment-proxy.ts';
import { undiciParts } from './undici-parts.ts';

/** Options of a network transport. */
export interface UndiciTransportOptions extends ClusterConfig {
  readonly token?: string | undefined;
  /** Maximum number of connections for requests (default: 32). */
  readonly connections?: number;
}

/** A transport over the network. */
export type UndiciTransport = Transport & {
  /** Closes all connections. */
  close(): Promise<void>;
};

const DEFAULT_CONNECTIONS = 32;
/** The keep-alive time must be shorter than the timeout of the servers (kube-apiserver: at least 90 s). */
const KEEP_ALIVE_MS = 60_000;
/**
 * The time without data after which the kernel sends up to ten probes, one per second. The kernel then detects a
 * stopped server after 40 s.
 */
const PROBE_AFTER_MS = 30_000;

/**
 * Returns true if the server closed an idle connection while the client was sending a request. The transport then
 * repeats read requests, as Go's net/http does.
 */
const isStaleConnection = (error: unknown): boolean => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE';
};

/** Returns true if the server's certificate was not trusted, so that no request was sent. */
const isUntrusted = (error: unknown): error is Error => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_CERT_)/.test(code);
};

function tls(options: UndiciTransportOptions) {
  const { ca, tlsServerName, insecureSkipTlsVerify, clientCertificate } = options;
  return {
    ...secureContext({
      ca,
      cert: clientCertificate?.certificate,
      key: clientCertificate?.key,
    }),
    ...withoutUndefined({
      servername: tlsServerName,
      rejectUnauthorized: insecureSkipTlsVerify === true ? false : undefined,
    }),
  };
}

/**
 * If the certificates are invalid, each connection parses them again. Each request therefore fails with the error about
 * the certificates.
 */
function secureContext(certificates: SecureContextOptions) {
  try {
    return { secureContext: createSecureContext(certificates) };
  } catch {
    return certificates;
  }
}

function dispatcher(options: UndiciTransportOptions, origin: string, connections: number | null): Dispatcher {
  const undici = undiciParts();
  // The transport disables the time limits of undici, because the client enforces time limits by its own clock.
  const common = { headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: KEEP_ALIVE_MS, allowH2: false, connections };
  if (options.proxyUrl !== undefined) {
    const probes = { keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS };
    // With `proxyTls`, undici would use TLS for the connection to a SOCKS proxy, which supports no TLS.
    const proxyTls = options.proxyUrl.startsWith('socks5:') ? {} : { proxyTls: probes };
    return new undici.ProxyAgent({ uri: options.proxyUrl, requestTls: tls(options), ...proxyTls, ...common });
  }
  const connect = { ...tls(options), keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS, timeout: 10_000 };
  return new undici.Pool(origin, { ...common, connect });
}

function parseServer(server: string): { readonly origin: string; readonly prefix: string } {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new ConfigError(`the address of the API server must be an http(s) URL, not ${JSON.stringify(server)}`);
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
}

const toResponse = (data: Dispatcher.ResponseData): TransportResponse => ({
  status: data.statusCode,
  headers: {
    get: (name) => {
      const value = data.headers[name.toLowerCase()];
      return value === undefined ? null : Array.isArray(value) ? value.join(', ') : value;
    },
  },
  text: () => data.body.text(),
  body: data.body,
});

interface Connections {
  readonly requests: Dispatcher;
  readonly watches: Dispatcher;
}

/** Manages the connections with the current credentials. */
class LatestConnections {
  readonly #origin: string;
  readonly #options: UndiciTransportOptions;
  readonly #retired = new Set<Dispatcher>();
  readonly #seen = new WeakSet<ClusterConfig>();
  #shown: string | undefined;
  #current: Connections | undefined;

  constructor(origin: string, options: UndiciTransportOptions) {
    this.#origin = origin;
    this.#options = options;
  }

  of(config: ClusterConfig): Connections {
    // A delayed request may have an old configuration, which must not replace the current configuration.
    if (this.#current !== undefined && this.#seen.has(config)) return this.#current;
    this.#seen.add(config);
    const { ca, clientCertificate } = config;
    const shown = JSON.stringify([ca, clientCertificate]);
    if (this.#current !== undefined && shown === this.#shown) return this.#current;
    for (const each of this.#all()) this.#retire(each);
    const { ca: _, clientCertificate: __, ...rest } = this.#options;
    const options = { ...rest, ca, clientCertificate };
    this.#shown = shown;
    this.#current = {
      requests: dispatcher(options, this.#origin, options.connections ?? DEFAULT_CONNECTIONS),
      watches: dispatcher(options, this.#origin, null),
    };
    return this.#current;
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#all(), ...this.#retired].map((each) => each.destroy()));
  }

  #all(): readonly Dispatcher[] {
    return this.#current === undefined ? [] : [this.#current.requests, this.#current.watches];
  }

  #retire(old: Dispatcher): void {
    this.#retired.add(old);
    const forget = (): void => void this.#retired.delete(old);
    old.close().then(forget, forget);
  }
}

interface Credentials {
  readonly config: ClusterConfig;
  readonly authorization: string | undefined;
}

/**
 * Creates a transport over HTTP/1.1 that reuses connections. Without `proxyUrl`, the environment variables select the
 * proxy.
 * @throws ConfigError for an invalid address
 */
export function undiciTransport(options: UndiciTransportOptions): UndiciTransport {
  const { origin, prefix } = parseServer(options.server);
  const proxyUrl = options.proxyUrl ?? environmentProxy(origin, process.env);
  const connections = new LatestConnections(origin, { ...options, ...withoutUndefined({ proxyUrl }) });
  const fixed = options.token === undefined ? undefined : `Bearer ${options.token}`;

  const read = async (): Promise<Credentials> => {
    const config = (await options.latest?.()) ?? options;
    return { config, authorization: config.authorization === undefined ? fixed : await config.authorization() };
  };

  /** A hanging plugin or file system must not hold a request longer than the time limit of the request. */
  const credentials = (signal: AbortSignal | undefined): Promise<Credentials> => unlessAborted(read(), signal);

  const send = (
    request: TransportRequest,
    { config, authorization }: Credentials,
  ): Promise<Dispatcher.ResponseData> => {
    const { requests, watches } = connections.of(config);
    const pool = isWatch(request.path) ? watches : requests;
    return pool.request(
      defined({
        origin,
        method: request.method as Dispatcher.HttpMethod,
        path: prefix + request.path,
        headersTimeout: 0,
        bodyTimeout: 0,
        headers: authorization === undefined ? request.headers : { ...request.headers, authorization },
        // By default, undici closes the connection after a DELETE with a body, although API servers read the body.
        body: request.body,
        reset: request.body === undefined ? undefined : false,
        signal: request.signal,
      }),
    );
  };

  /** Returns the error of an untrusted certificate instead of throwing it, because the request was not sent. */
  const answer = async (request: TransportRequest, shown: Credentials): Promise<Dispatcher.ResponseData | Error> => {
    try {
      return await send(request, shown);
    } catch (error) {
      if (isUntrusted(error)) return error;
      if (request.method !== 'GET' || !isStaleConnection(error) || request.signal?.aborted) throw error;
      return send(request, shown);
    }
  };

  /** If no file has changed, the result is undefined. */
  const renewed = async (
    { config, authorization }: Credentials,
    signal: AbortSignal | undefined,
  ): Promise<Credentials | undefined> => {
    config.forgetAuthorization?.();
    options.lookAgain?.();
    const now = await credentials(signal);
    return now.config === config && now.authorization === authorization ? undefined : now;
  };

  const transport = async (request: TransportRequest): Promise<TransportResponse> => {
    const shown = await credentials(request.signal);
    const first = await answer(request, shown);
    if (!(first instanceof Error) && first.statusCode !== 401) return toResponse(first);
    // The server refused the credentials, so the request had no effect and can be sent again.
    const now = await renewed(shown, request.signal);
    if (now !== undefined) {
      if (!(first instanceof Error)) await first.body.dump();
      return toResponse(await send(request, now));
    }
    if (first instanceof Error) throw first;
    return toResponse(first);
  };
  return Object.assign(transport, { close: () => connections.destroy() });
}
