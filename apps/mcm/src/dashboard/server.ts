import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Clock, errorText } from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import { streamPage } from './live.ts';
import { documentOf, type Page } from './page/page.ts';
import { SCRIPT } from './page/script.ts';
import { STYLE } from './page/style.ts';

export interface DashboardServer {
  /** `http://127.0.0.1:PORT/`, with the actual port. */
  readonly url: string;
  close(): Promise<void>;
}

export interface DashboardOptions {
  /** 0 for any. */
  readonly port: number;
  readonly clock: Clock;
  /** The page of a URL; undefined when it does not exist. */
  readonly pageOf: (target: URL) => Page | undefined;
  readonly onChange: (handler: () => void) => () => void;
  readonly signal: AbortSignal;
}

/**
 * The page loads resources only from this server, and no other site can embed it.
 * The script creates markup only with its own Trusted Types policy.
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
    'trusted-types mcm',
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
} as const;

const NO_PAGE = 'page not found; the dashboard is at /\n';

/** The path prefix for the stream of changes of a page. */
const LIVE = '/live';

/**
 * Checks the Host header. Without this check, a web page could read the dashboard with DNS rebinding:
 * its own domain could resolve to this machine.
 */
function isOurs({ headers }: IncomingMessage, port: number): boolean {
  const ours = ['127.0.0.1', 'localhost', '[::1]'].map((host) => `${host}:${port}`);
  return ours.includes(headers.host?.toLowerCase() ?? '');
}

/** Serves the read-only dashboard on 127.0.0.1. Throws `UserError` when the port is not available. */
export async function startDashboard(options: DashboardOptions): Promise<DashboardServer> {
  let port = options.port;
  const server = createServer((request, response) => {
    answer(request, response, options, port).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else send(response, 500, 'text', `${errorText(error)}\n`);
    });
  });
  port = await listen(server, options.port);
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { pageOf, clock, onChange, signal }: DashboardOptions,
  port: number,
): Promise<void> {
  if (!isOurs(request, port)) {
    return send(response, 421, 'text', `the dashboard is served as 127.0.0.1:${port} and localhost:${port} only\n`);
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    return send(response, 405, 'text', 'the dashboard is read-only\n');
  }
  const target = targetOf(request.url);
  if (target === undefined) return send(response, 404, 'text', NO_PAGE);
  if (target.pathname === '/style.css') return send(response, 200, 'css', STYLE);
  if (target.pathname === '/script.js') return send(response, 200, 'script', SCRIPT);
  const live = target.pathname.startsWith(`${LIVE}/`);
  const page = pageOf(live ? new URL(target.href.replace(`${target.origin}${LIVE}`, target.origin)) : target);
  if (page === undefined) return send(response, 404, 'text', NO_PAGE);

  const gone = new AbortController();
  response.once('close', () => gone.abort(new Error('the client closed the connection')));
  const until = AbortSignal.any([gone.signal, signal]);
  if (!live) {
    await page.read?.(until);
    return send(response, 200, 'html', documentOf(page, clock.now(), `${LIVE}${target.pathname}${target.search}`));
  }
  response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream' });
  if (request.method === 'GET') await streamPage(page, response, { clock, onChange, signal: until });
  response.end();
}

/** The URL of a request; undefined for a target that is not a path, such as `//host` and `*`. */
function targetOf(target = '/'): URL | undefined {
  return target.startsWith('/') && !target.startsWith('//') && URL.canParse(target, 'http://dashboard')
    ? new URL(target, 'http://dashboard')
    : undefined;
}

function send(response: ServerResponse, status: number, type: keyof typeof TYPES, body: string): void {
  const headers = { ...HEADERS, 'content-type': TYPES[type], 'content-length': Buffer.byteLength(body) };
  response.writeHead(status, headers).end(response.req.method === 'HEAD' ? undefined : body);
}

const listen = (server: Server, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new UserError(`--port ${port}: cannot listen: ${error.message}`)));
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      resolve(address === null || typeof address === 'string' ? port : address.port);
    });
  });
