import type { Dispatcher } from 'undici';
import type { Transport, TransportRequest, TransportResponse } from '../contract/transport.ts';
import { type ClusterConfig, ConfigError } from '../credentials/cluster-config.ts';
import { undiciParts } from './undici-parts.ts';

/** How a transport over the network is made. */
export interface UndiciTransportOptions extends ClusterConfig {
  /** A bearer token that does not change; `authorization` goes first. */
  readonly token?: string;
  /** Connections for requests; more wait their turn. Default 32. Watches have connections of their own, without limit. */
  readonly connections?: number;
}

/** A transport over the network; closing it ends its connections. */
export type UndiciTransport = Transport & {
  /** Ends all connections; requests under way fail. */
  close(): Promise<void>;
};

const DEFAULT_CONNECTIONS = 32;
/** Below what servers keep idle connections open for (kube-apiserver: 90 s and more); one that says less is believed. */
const KEEP_ALIVE_MS = 60_000;
/**
 * A connection on which nothing comes for so long is asked for a sign of life, by the kernel: ten times, a second apart. A server
 * that has gone without a word is found after 40 s, as by client-go's pings (30 s, then 15 s); a watch says nothing for up to a minute.
 */
const PROBE_AFTER_MS = 30_000;

const isWatch = (path: string): boolean => /[?&]watch=(true|1)(&|$)/.test(path);

/** A kept connection that the server closed while a request was on its way into it: as net/http, reads go again. */
const isStaleConnection = (error: unknown): boolean => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE';
};

/** The server's certificate was not taken: nothing was sent. */
const isUntrusted = (error: unknown): error is Error => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_CERT_)/.test(code);
};

function tls(options: UndiciTransportOptions) {
  const { ca, tlsServerName, insecureSkipTlsVerify, clientCertificate } = options;
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
    ...(insecureSkipTlsVerify === true ? { rejectUnauthorized: false } : {}),
    ...(clientCertificate === undefined ? {} : { cert: clientCertificate.certificate, key: clientCertificate.key }),
  };
}

function dispatcher(options: UndiciTransportOptions, origin: string, connections: number | null): Dispatcher {
  const undici = undiciParts();
  // Time limits are the client's, on its own clock.
  const common = { headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: KEEP_ALIVE_MS, allowH2: false, connections };
  if (options.proxyUrl !== undefined) {
    const probes = { keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS };
    // Given options of TLS, undici speaks TLS to a SOCKS proxy, which has none.
    const proxyTls = options.proxyUrl.startsWith('socks5:') ? {} : { proxyTls: probes };
    return new undici.ProxyAgent({ uri: options.proxyUrl, requestTls: tls(options), ...proxyTls, ...common });
  }
  const connect = { ...tls(options), keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS, timeout: 10_000 };
  return new undici.Pool(origin, { ...common, connect });
}

function parseServer(server: string): { readonly origin: string; readonly prefix: string } {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new ConfigError(`the API server's address must be an http(s) URL, not ${JSON.stringify(server)}`);
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

/** Connections that show and trust the same. */
interface Connections {
  readonly requests: Dispatcher;
  readonly watches: Dispatcher;
}

/** Connections by what they show and trust now; those of before end with their last request. */
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
    // One that was used before is outdated, and a request with it only late.
    if (this.#current !== undefined && this.#seen.has(config)) return this.#current;
    this.#seen.add(config);
    const { ca, clientCertificate } = config;
    const shown = JSON.stringify([ca, clientCertificate]);
    if (this.#current !== undefined && shown === this.#shown) return this.#current;
    for (const each of this.#all()) this.#retire(each);
    const { ca: _, clientCertificate: __, ...rest } = this.#options;
    const options = { ...rest, ...(ca !== undefined && { ca }), ...(clientCertificate && { clientCertificate }) };
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

/** What a request is sent with. */
interface Credentials {
  readonly config: ClusterConfig;
  readonly authorization: string | undefined;
}

/** A transport over HTTP/1.1 with kept connections. Throws `ConfigError` for an address that is none. */
export function undiciTransport(options: UndiciTransportOptions): UndiciTransport {
  const { origin, prefix } = parseServer(options.server);
  const connections = new LatestConnections(origin, options);
  const fixed = options.token === undefined ? undefined : `Bearer ${options.token}`;

  const credentials = async (): Promise<Credentials> => {
    const config = (await options.latest?.()) ?? options;
    return { config, authorization: config.authorization === undefined ? fixed : await config.authorization() };
  };

  const send = (
    request: TransportRequest,
    { config, authorization }: Credentials,
  ): Promise<Dispatcher.ResponseData> => {
    const { requests, watches } = connections.of(config);
    const pool = isWatch(request.path) ? watches : requests;
    return pool.request({
      origin,
      method: request.method as Dispatcher.HttpMethod,
      path: prefix + request.path,
      // Said here as well: what undici makes for a SOCKS proxy does not take over the dispatcher's.
      ...{ headersTimeout: 0, bodyTimeout: 0 },
      headers: authorization === undefined ? request.headers : { ...request.headers, authorization },
      // undici ends the connection after a DELETE with a body unless told not to; API servers read such bodies (DeleteOptions).
      ...(request.body === undefined ? {} : { body: request.body, reset: false }),
      ...(request.signal === undefined ? {} : { signal: request.signal }),
    });
  };

  /** The answer, or the failure of a request that was never sent because the server was not trusted. */
  const answer = async (request: TransportRequest, shown: Credentials): Promise<Dispatcher.ResponseData | Error> => {
    try {
      return await send(request, shown);
    } catch (error) {
      if (isUntrusted(error)) return error;
      if (request.method !== 'GET' || !isStaleConnection(error) || request.signal?.aborted) throw error;
      return send(request, shown);
    }
  };

  /** Other credentials than these, where files have others by now. */
  const renewed = async ({ config, authorization }: Credentials): Promise<Credentials | undefined> => {
    config.forgetAuthorization?.();
    options.lookAgain?.();
    const now = await credentials();
    return now.config === config && now.authorization === authorization ? undefined : now;
  };

  const transport = async (request: TransportRequest): Promise<TransportResponse> => {
    const shown = await credentials();
    const first = await answer(request, shown);
    if (!(first instanceof Error) && first.statusCode !== 401) return toResponse(first);
    // Nothing was done: with the credentials of now it is asked again.
    const now = await renewed(shown);
    if (now !== undefined) {
      if (!(first instanceof Error)) await first.body.dump();
      return toResponse(await send(request, now));
    }
    if (first instanceof Error) throw first;
    return toResponse(first);
  };
  return Object.assign(transport, { close: () => connections.destroy() });
}
