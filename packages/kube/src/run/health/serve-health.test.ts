import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { issueAuthority, issueServing } from '../../admission/self-made/issue.ts';
import { realClock } from '../../clock/clock.ts';
import { VirtualClock } from '../../clock/virtual-clock.ts';
import { commonFlags } from '../../flags/common-flags.ts';
import { parseFlags } from '../../flags/parse-flags.ts';
import { createMemoryLogger } from '../../log/memory-logger.ts';
import { DebugPages } from './debug-pages.ts';
import type { HealthSources } from './health.ts';
import { startHealthServer } from './health-server.ts';
import { serveHealth } from './serve-health.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const sources: HealthSources = {
  alive: () => true,
  readiness: () => [],
  scrape: async () => ({ contentType: 'text/plain', text: 'm 1\n' }),
  settings: () => ({}),
  logLevel: { get: () => 'info', set: () => undefined },
  profiling: false,
  pages: new DebugPages(),
  clock: realClock,
};

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function serve(...argv: string[]) {
  const flags = commonFlags({ port: 0, concurrency: 1, controllers: [] });
  const program = { name: 'demo', version: '1', description: 'A demo.' };
  const parsed = await parseFlags(program, flags, ['--bind-address=127.0.0.1', ...argv]);
  if (parsed.kind !== 'run') throw new Error(parsed.text);
  const [log, clock] = [createMemoryLogger(), new VirtualClock({ start: new Date() })];
  const served = { use: () => undefined, unusable: () => undefined };
  const server = await serveHealth(parsed.values, sources, { client: () => undefined, clock, log, served });
  closers.push(() => server.close());
  return { server, clock };
}

const get = (port: number, path: string, ca?: string): Promise<{ status: number; body: string }> =>
  new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, agent: false, ...(ca ? { ca } : { rejectUnauthorized: false }) };
    httpsRequest(options, async (response) => {
      let body = '';
      for await (const chunk of response) body += String(chunk);
      resolve({ status: response.statusCode ?? 0, body });
    })
      .on('error', reject)
      .end();
  });

test('a guard refuses metrics and debugging, but health is open to every client', async () => {
  const asked: unknown[] = [];
  const server = await startHealthServer({ host: '127.0.0.1', port: 0, flag: '--port' }, sources, {
    metrics: async (request) => {
      asked.push(request);
      return { status: 401, body: 'no\n' };
    },
    debug: async () => ({ status: 403, body: 'not you\n' }),
  });
  closers.push(() => server.close());
  const refused = await fetch(`${server.url}/metrics?x=1`, { headers: { authorization: 'Bearer t' } });
  expect([refused.status, await refused.text(), refused.headers.get('www-authenticate')]).toEqual([
    401,
    'no\n',
    'Bearer',
  ]);
  expect(asked).toEqual([{ remoteAddress: '127.0.0.1', authorization: 'Bearer t', path: '/metrics', verb: 'get' }]);
  expect((await fetch(`${server.url}/debug/log-level`, { method: 'PUT', body: 'debug' })).status).toBe(403);
  expect((await fetch(`${server.url}/configz`)).status).toBe(403);
  expect(await (await fetch(`${server.url}/healthz`)).text()).toBe('OK');
});

test('a page of another domain cannot read metrics or set the log level over loopback, but health is open', async () => {
  const server = await startHealthServer({ host: '127.0.0.1', port: 0, flag: '--port' }, sources, {});
  closers.push(() => server.close());
  const statusOf = (path: string, method: string, headers: Record<string, string>): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const request = httpRequest(`${server.url}${path}`, { method, headers, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      request.on('error', reject).end(method === 'PUT' ? 'info' : '');
    });
  for (const [path, method] of [
    ['/metrics', 'GET'],
    ['/configz', 'GET'],
    ['/debug/log-level', 'PUT'],
  ] as const) {
    expect(await statusOf(path, method, {})).toBe(200);
    expect(await statusOf(path, method, { host: 'evil.example' })).toBe(421);
    expect(await statusOf(path, method, { origin: 'http://evil.example' })).toBe(403);
  }
  expect(await statusOf('/healthz', 'GET', { host: 'probe.example' })).toBe(200);
});

test('a self-signed certificate encrypts --secure-port', async () => {
  const port = await freePort();
  const { server } = await serve(`--secure-port=${port}`);
  expect(await get(port, '/metrics')).toEqual({ status: 200, body: 'm 1\n' });
  expect((await fetch(`${server.url}/metrics`)).status).toBe(200);
});

test('certificates in files are served, and read again when they change', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'health tls '));
  closers.push(() => rm(directory, { recursive: true }));
  const validity = { from: new Date(Date.now() - 1000), until: new Date(Date.now() + 3_600_000) };
  const renew = async (): Promise<string> => {
    const authority = await issueAuthority(validity);
    const pair = await issueServing(authority, ['127.0.0.1'], validity);
    await writeFile(join(directory, 'tls.crt'), pair.cert);
    await writeFile(join(directory, 'tls.key'), pair.key);
    return authority.cert;
  };
  const port = await freePort();
  await expect(serve(`--secure-port=${port}`, `--tls-cert-dir=${directory}`)).rejects.toThrow(
    `--tls-cert-dir ${directory}: must contain tls.crt and the matching tls.key in PEM`,
  );
  const first = await renew();
  const { clock } = await serve(`--secure-port=${port}`, `--tls-cert-dir=${directory}`);
  expect((await get(port, '/healthz', first)).status).toBe(200);
  const second = await renew();
  await clock.advance(10_000);
  expect((await get(port, '/healthz', second)).status).toBe(200);
  expect(await readFile(join(directory, 'tls.key'), 'utf8')).toContain('PRIVATE KEY');
});

test('the error for a secure port in use names it, and the plain port is closed', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  closers.push(() => new Promise((resolve) => other.close(resolve)));
  const address = other.address();
  const taken = typeof address === 'object' && address !== null ? address.port : 0;
  const port = await freePort();
  const wanted = `--secure-port: ${taken} on 127.0.0.1 is in use; use another port`;
  await expect(serve(`--port=${port}`, `--secure-port=${taken}`)).rejects.toThrow(wanted);
  await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow();
});
