import type { IncomingMessage, ServerResponse as NodeResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { BODY_LIMIT, type ServerRequest, type ServerResponse, type Sink } from '../apimachinery/http/exchange.ts';
import { headerText } from '../apimachinery/http/header-text.ts';
import { queryOf } from '../apimachinery/http/query.ts';
import { warningHeader } from '../apimachinery/http/warnings.ts';
import { tooLarge } from './fetch.ts';
import type { Handler } from './handler.ts';

export interface ListenOptions {
  readonly port: number;
  readonly key: string;
  readonly certificate: string;
  readonly caCertificate: string;
  readonly patience?: Patience;
}

/** Time limits for clients in milliseconds. */
interface Patience {
  readonly handshakeMs: number;
  readonly headersMs: number;
  readonly requestMs: number;
  readonly everyMs: number;
}

const PATIENCE: Patience = { handshakeMs: 10_000, headersMs: 10_000, requestMs: 60_000, everyMs: 5_000 };

export interface Listener {
  readonly port: number;
  close(): Promise<void>;
}

function readBody(message: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    if (Number(message.headers['content-length'] ?? 0) > BODY_LIMIT) {
      message.resume();
      reject(tooLarge());
      return;
    }
    const chunks: Buffer[] = [];
    let size = 0;
    message.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= BODY_LIMIT) chunks.push(chunk);
      else reject(tooLarge());
    });
    message.on('end', () =>
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)),
    );
    message.on('error', reject);
  });
}

function certificateOf(socket: Socket): ServerRequest['certificate'] {
  const tls = socket as TLSSocket;
  if (!tls.authorized) return undefined;
  const subject = tls.getPeerCertificate().subject as { CN?: string | string[]; O?: string | string[] } | undefined;
  if (subject === undefined) return undefined;
  const list = (value: string | string[] | undefined): string[] =>
    value === undefined ? [] : Array.isArray(value) ? value : [value];
  return { commonName: list(subject.CN)[0] ?? '', organizations: list(subject.O) };
}

const certificates = new WeakMap<Socket, { value: ServerRequest['certificate'] }>();

function fromNode(message: IncomingMessage, response: NodeResponse): ServerRequest {
  const target = message.url ?? '/';
  const mark = target.indexOf('?');
  let query: URLSearchParams | undefined;
  let body: Promise<Uint8Array> | undefined;
  let gone: AbortController | undefined;
  return {
    method: message.method ?? 'GET',
    path: mark < 0 ? target : target.slice(0, mark),
    get query() {
      query ??= queryOf(target);
      return query;
    },
    header: (name) => {
      const value = message.headers[name];
      const text = Array.isArray(value) ? value.join(', ') : value;
      return text === undefined ? undefined : headerText(text);
    },
    headerValues: (name) => (message.headersDistinct[name] ?? []).map(headerText),
    headerNames: (prefix) => Object.keys(message.headers).filter((name) => name.startsWith(prefix)),
    body: () => {
      body ??= readBody(message);
      return body;
    },
    // The getter creates the signal at its first use, because creating the signal takes as long as parsing the headers.
    get signal() {
      if (gone === undefined) {
        const controller = new AbortController();
        gone = controller;
        if (response.closed) controller.abort();
        else response.on('close', () => controller.abort());
      }
      return gone.signal;
    },
    trusted: false,
    get certificate() {
      let known = certificates.get(message.socket);
      if (known === undefined) {
        known = { value: certificateOf(message.socket) };
        certificates.set(message.socket, known);
      }
      return known.value;
    },
  };
}

const isForeign = (text: string): boolean => /[^\x20-\x7e]/.test(text);

function send(answer: ServerResponse, response: NodeResponse): void {
  // As with Go's server, an HTTP/1.1 connection stays open, although the response has no header `Connection`.
  response.removeHeader('connection');
  const headers: Record<string, string | string[] | number> = { ...answer.headers };
  if (answer.warnings !== undefined && answer.warnings.length > 0) {
    headers.warning = answer.warnings.map(warningHeader);
  }
  const { body } = answer;
  if (typeof body === 'function') {
    response.writeHead(answer.status, headers);
    response.flushHeaders();
    body(sinkOf(response));
    return;
  }
  headers['content-length'] = Buffer.byteLength(body);
  response.writeHead(answer.status, headers);
  if (response.req.method === 'HEAD') response.end();
  // Node.js sends a body that is a string together with the head, and encodes the head as UTF-8. If the body consists
  // of bytes, Node.js encodes the head as Latin-1.
  else response.end(answer.warnings?.some(isForeign) === true ? Buffer.from(body) : body);
}

/** All writes in one turn of the event loop are one chunk, which saves system calls. */
function sinkOf(response: NodeResponse): Sink {
  let corked = false;
  const uncork = (): void => {
    corked = false;
    response.uncork();
  };
  return {
    write: (chunk) => {
      if (!corked) {
        corked = true;
        response.cork();
        setImmediate(uncork);
      }
      return response.write(chunk);
    },
    onDrain: (listener) => response.on('drain', listener),
    onClose: (listener) => {
      response.on('close', listener);
    },
    // Some clients (@kubernetes/client-node) lose an event that arrives together with the end of the response, so the
    // server sends the end later.
    end: () => {
      setImmediate(() => response.end());
    },
  };
}

/** @throws Error if the server cannot use the port */
export async function listen(handler: Pick<Handler, 'handle'>, options: ListenOptions): Promise<Listener> {
  const { handshakeMs, headersMs, requestMs, everyMs } = options.patience ?? PATIENCE;
  const server: Server = createServer({
    key: options.key,
    cert: options.certificate,
    ca: options.caCertificate,
    requestCert: true,
    rejectUnauthorized: false,
    keepAliveTimeout: 120_000,
    handshakeTimeout: handshakeMs,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: everyMs,
  });
  server.on('request', (message: IncomingMessage, response: NodeResponse) => {
    message.socket.setNoDelay(true);
    // A client may disconnect before the server has sent the response.
    response.on('error', () => response.destroy());
    void handler.handle(fromNode(message, response)).then((answer) => {
      if (!response.destroyed) send(answer, response);
    });
  });
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', (_error: Error, socket: Socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
