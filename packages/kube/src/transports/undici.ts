import type { Dispatcher } from 'undici';
import { type ClusterConfig, ConfigError } from '../credentials/cluster-config.ts';
import type { Transport, TransportRequest, TransportResponse } from '../transport.ts';
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

const isWatch = (path: string): boolean => /[?&]watch=(true|1)(&|$)/.test(path);

/** A kept connection that the server closed while a request was on its way into it: as net/http, reads go once more. */
const isStaleConnection = (error: unknown): boolean => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE';
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
    return new undici.ProxyAgent({ uri: options.proxyUrl, requestTls: tls(options), ...common });
  }
  return new undici.Pool(origin, { ...common, connect: { ...tls(options), keepAlive: true, timeout: 10_000 } });
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

/** A transport over HTTP/1.1 with kept connections. Throws `ConfigError` for an address that is none. */
export function undiciTransport(options: UndiciTransportOptions): UndiciTransport {
  const { origin, prefix } = parseServer(options.server);
  const requests = dispatcher(options, origin, options.connections ?? DEFAULT_CONNECTIONS);
  const watches = dispatcher(options, origin, null);
  const fixed = options.token === undefined ? undefined : `Bearer ${options.token}`;

  const send = async (request: TransportRequest): Promise<Dispatcher.ResponseData> => {
    const authorization = options.authorization === undefined ? fixed : await options.authorization();
    const pool = isWatch(request.path) ? watches : requests;
    return pool.request({
      origin,
      method: request.method as Dispatcher.HttpMethod,
      path: prefix + request.path,
      headers: authorization === undefined ? request.headers : { ...request.headers, authorization },
      // undici ends the connection after a DELETE with a body unless told not to; API servers read such bodies (DeleteOptions).
      ...(request.body === undefined ? {} : { body: request.body, reset: false }),
      ...(request.signal === undefined ? {} : { signal: request.signal }),
    });
  };

  const transport = async (request: TransportRequest): Promise<TransportResponse> => {
    let data: Dispatcher.ResponseData;
    try {
      data = await send(request);
    } catch (error) {
      if (request.method !== 'GET' || !isStaleConnection(error) || request.signal?.aborted) throw error;
      data = await send(request);
    }
    if (data.statusCode === 401) options.forgetAuthorization?.();
    return toResponse(data);
  };
  return Object.assign(transport, {
    close: async () => {
      await Promise.all([requests.destroy(), watches.destroy()]);
    },
  });
}
