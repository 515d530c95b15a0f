import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { DOCUMENT, SCRIPT, STYLE } from '@mcm/dashboard';
import { type Clock, errorText, pause, type ServingPair } from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import type { Gate } from './access/gate.ts';
import { loginPage } from './access/login-page.ts';
import type { Hub } from './board/hub.ts';
import type { Details } from './detail.ts';

export interface DashboardServer {
  readonly url: string;
  /** Sets the certificate for new connections. Without TLS, `use` does nothing. */
  use(pair: ServingPair): void;
  close(): Promise<void>;
}

interface Remote {
  /** The IP address on which the server listens. */
  readonly host: string;
  readonly pair: ServingPair;
  readonly gate: Gate;
}

export interface DashboardOptions {
  /** The port of the server. If the port is 0, the operating system selects a free port. */
  readonly port: number;
  /**
   * The settings for access from other computers. If `remote` is undefined, only this computer can reach the server.
   */
  readonly remote?: Remote | undefined;
  readonly clock: Clock;
  readonly hub: Hub;
  readonly details: Details;
  readonly signal: AbortSignal;
}

/**
 * The headers of every response. With these headers, the page loads resources only from its own server, and no other
 * site can embed the page.
 */
const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    'img-src data:',
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
};

const TYPES = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  script: 'text/javascript; charset=utf-8',
  text: 'text/plain; charset=utf-8',
  json: 'application/json; charset=utf-8',
} as const;

const NO_PAGE = 'page not found; the dashboard is at /\n';

/** Matches a valid object name, or `-` as the namespace of a cluster-wide object. */
const NAME = '([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)';
const PLACE = `([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?|-)`;
/** Matches the paths of all pages. */
const PAGES = new RegExp(
  `^/(?:|clusters|machines|rollouts|drains|events|system|(?:machines|rollouts)/${PLACE}/${NAME}|yaml/[a-z]+/${PLACE}/${NAME})$`,
);
const API = new RegExp(`^/api/(machines|rollouts|yaml/([a-z]+))/${PLACE}/${NAME}$`);

/**
 * Returns true if the Host header contains the name of the dashboard. The check prevents DNS rebinding: another website
 * could let its domain resolve to this computer.
 */
function isOurs({ headers }: IncomingMessage, port: number): boolean {
  const ours = ['127.0.0.1', 'localhost', '[::1]'].map((host) => `${host}:${port}`);
  return ours.includes(headers.host?.toLowerCase() ?? '');
}

const AGAIN_MS = 60_000;

/**
 * Serves the read-only dashboard on 127.0.0.1, or for other computers.
 * @throws UserError if the port is in use
 */
export async function startDashboard(options: DashboardOptions): Promise<DashboardServer> {
  const { remote } = options;
  let port = options.port;
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    answer(request, response, options, port).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else send(response, 500, 'text', `${errorText(error)}\n`);
    });
  };
  const tls = remote && createTlsServer({ ...remote.pair, minVersion: 'TLSv1.2' }, handle);
  const server = tls ?? createServer(handle);
  const host = remote?.host ?? '127.0.0.1';
  port = await listen(server, options.port, host);
  return {
    url: `${remote ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}/`,
    use: ({ cert, key }) => tls?.setSecureContext({ cert, key, minVersion: 'TLSv1.2' }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function guarded(
  gate: Gate,
  request: IncomingMessage,
  response: ServerResponse,
  path: string | undefined,
): Promise<boolean> {
  if (path === '/healthz') {
    send(response, 200, 'text', 'ok\n');
  } else if (path === '/style.css' && request.method === 'GET') {
    send(response, 200, 'css', STYLE);
  } else if (path === '/login' && request.method === 'POST') {
    const result = await gate.logIn(request);
    if (!('cookie' in result)) send(response, result.status, 'html', loginPage(result.body));
    else response.writeHead(303, { ...HEADERS, location: '/', 'set-cookie': result.cookie }).end();
  } else if (path === '/logout' && request.method === 'POST') {
    const result = gate.logOut(request);
    if (!('cookie' in result)) send(response, result.status, 'text', result.body);
    else response.writeHead(303, { ...HEADERS, location: '/login', 'set-cookie': result.cookie }).end();
  } else if (path === '/login') {
    send(response, 200, 'html', loginPage());
  } else {
    const refusal = await gate.check(request);
    if (refusal === undefined) return false;
    const isPage = path !== undefined && PAGES.test(path);
    if (isPage && refusal.status === 401) response.writeHead(303, { ...HEADERS, location: '/login' }).end();
    // A browser gets the login page with the reason, where the user can log in as another user.
    else if (isPage && request.headers.authorization === undefined)
      send(response, refusal.status, 'html', loginPage(refusal.body));
    else send(response, refusal.status, 'text', refusal.body);
  }
  return true;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: DashboardOptions,
  port: number,
): Promise<void> {
  const path = pathOf(request.url);
  const { remote } = options;
  if (remote !== undefined) {
    if (await guarded(remote.gate, request, response, path)) return;
  } else if (!isOurs(request, port)) {
    return send(response, 421, 'text', `the dashboard is available only at 127.0.0.1:${port} and localhost:${port}\n`);
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    return send(response, 405, 'text', 'the dashboard is read-only\n');
  }
  if (path === '/style.css') return send(response, 200, 'css', STYLE);
  if (path === '/script.js') return send(response, 200, 'script', SCRIPT);
  if (path !== undefined && PAGES.test(path)) return send(response, 200, 'html', DOCUMENT);
  if (path === '/live') return stream(request, response, options);
  const [, what, kind, ns = '', name = ''] = API.exec(path ?? '') ?? [];
  if (what === undefined) return send(response, 404, 'text', NO_PAGE);

  const gone = new AbortController();
  response.once('close', () => gone.abort(new Error('the client closed the connection')));
  const until = AbortSignal.any([gone.signal, options.signal]);
  const { details } = options;
  if (what === 'machines') return sendJson(response, await details.machine(ns, name, until));
  if (what === 'rollouts') return sendJson(response, details.deployment(ns, name));
  const yaml = await details.yaml(kind ?? '', ns, name, until);
  if (yaml === undefined) return send(response, 404, 'text', `${kind} ${ns}/${name} does not exist\n`);
  return send(response, 200, 'text', yaml);
}

function stream(request: IncomingMessage, response: ServerResponse, options: DashboardOptions): void {
  const { hub, remote } = options;
  response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream' });
  if (request.method !== 'GET') {
    response.end();
    return;
  }
  hub.join(response);
  if (remote !== undefined) void endWhenRefused(request, response, remote.gate, options);
}

/** Ends the event stream if the user no longer has the permission, or if the session has ended. */
async function endWhenRefused(
  request: IncomingMessage,
  response: ServerResponse,
  gate: Gate,
  { clock, signal }: DashboardOptions,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort(new Error('the client closed the connection')));
  const until = AbortSignal.any([gone.signal, signal]);
  while (!until.aborted) {
    await pause(clock, AGAIN_MS, until);
    const refusal = until.aborted ? undefined : await gate.check(request);
    // If the API server cannot check the user now, the stream continues.
    if (refusal !== undefined && refusal.status !== 503) response.end();
  }
}

/** Returns the path of a request. */
function pathOf(target = '/'): string | undefined {
  return target.startsWith('/') && !target.startsWith('//') && URL.canParse(target, 'http://dashboard')
    ? new URL(target, 'http://dashboard').pathname
    : undefined;
}

const sendJson = (response: ServerResponse, body: object): void => send(response, 200, 'json', JSON.stringify(body));

function send(response: ServerResponse, status: number, type: keyof typeof TYPES, body: string): void {
  const headers = { ...HEADERS, 'content-type': TYPES[type], 'content-length': Buffer.byteLength(body) };
  response.writeHead(status, headers).end(response.req.method === 'HEAD' ? undefined : body);
}

const listen = (server: Server, port: number, host: string): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new UserError(`--port ${port}: cannot listen: ${error.message}`)));
    server.listen(port, host, () => {
      const address = server.address();
      resolve(address === null || typeof address === 'string' ? port : address.port);
    });
  });
