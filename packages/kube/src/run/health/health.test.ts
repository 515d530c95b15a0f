import { expect, test } from 'vitest';
import { realClock } from '../../clock/clock.ts';
import type { LogLevel } from '../../log/memory-logger.ts';
import { DebugPages } from './debug-pages.ts';
import { answerHealth, audienceOf, type HealthSources } from './health.ts';

const sources: HealthSources = {
  alive: () => true,
  readiness: () => [
    { name: 'control-api-server', ok: true, detail: 'ok' },
    { name: 'leader-election', ok: true, detail: 'standby, other leads' },
  ],
  scrape: async () => ({ contentType: 'text/plain; version=0.0.4', text: 'm 1\n' }),
  settings: () => ({ port: 1 }),
  logLevel: { get: () => 'info', set: () => undefined },
  profiling: false,
  pages: new DebugPages(),
  clock: realClock,
};

const ask = (target: string, from: HealthSources, method = 'GET', body = '') =>
  answerHealth({ method, target, body: async () => body, signal: new AbortController().signal }, from);
const unready: HealthSources = {
  ...sources,
  alive: () => false,
  readiness: () => [{ name: 'control-api-server', ok: false, detail: 'connection refused' }],
};

test.each([
  [200, 'OK', sources],
  [500, 'Unhealthy', unready],
])('the health endpoint answers %i %s [S-X4]', async (status, text, from) => {
  expect(await ask('/healthz', from)).toMatchObject({ status, body: text });
});

test.each([
  ['/livez', sources, 200, 'OK'],
  ['/readyz', sources, 200, 'ok'],
  [
    '/readyz?verbose',
    sources,
    200,
    '[+]control-api-server ok\n[+]leader-election standby, other leads\nreadyz check passed\n',
  ],
  ['/readyz', unready, 500, '[-]control-api-server failed: connection refused\nreadyz check failed\n'],
  ['/metrics', sources, 200, 'm 1\n'],
  ['/configz', sources, 200, '{"port":1}'],
] as const)('%s', async (target, from, status, body) => {
  expect(await ask(target, from)).toMatchObject({ status, body });
});

test('a page of the program is served, listed, and for the audience of debugging', async () => {
  const pages = new DebugPages();
  const path = '/debug/journal';
  pages.serve({
    path,
    help: 'the last decisions',
    answer: async (query) => {
      if (query.get('limit') === 'x') throw new RangeError('limit must be a number');
      return { contentType: 'text/plain', body: `of ${query.get('name')}` };
    },
  });
  const from = { ...sources, pages };
  expect(await ask(`${path}?name=m-1`, from)).toEqual({ status: 200, contentType: 'text/plain', body: 'of m-1' });
  expect(await ask(`${path}?limit=x`, from)).toMatchObject({ status: 400, body: 'limit must be a number\n' });
  expect((await ask('/debug/', from))?.body).toContain('/debug/journal              the last decisions\n');
  expect(await ask(path, sources)).toBeUndefined();
  expect(audienceOf(path)).toBe('debug');
});

test('unknown paths are not found', async () => {
  expect(await ask('/', sources)).toBeUndefined();
});

test('the log level is returned and can be changed', async () => {
  let level: LogLevel | 'silent' = 'info';
  const logLevel: HealthSources['logLevel'] = {
    get: () => level,
    set: (wanted) => {
      level = wanted;
    },
  };
  const from = { ...sources, logLevel };
  expect(await ask('/debug/log-level', from)).toMatchObject({ status: 200, body: 'info\n' });
  expect(await ask('/debug/log-level', from, 'PUT', 'debug\n')).toMatchObject({ status: 200, body: 'debug\n' });
  expect(level).toBe('debug');
  expect(await ask('/debug/log-level', from, 'PUT', 'loud')).toMatchObject({
    status: 400,
    body: 'PUT one of debug, info, warn, error, silent\n',
  });
  expect(level).toBe('debug');
});

test.each([
  ['/debug/pprof/profile', false, 403, 'recording profiles requires --profiling\n'],
  ['/debug/pprof/profile?seconds=0', true, 400, 'seconds must be an integer from 1 to 300\n'],
  ['/debug/pprof/profile?seconds=301', true, 400, 'seconds must be an integer from 1 to 300\n'],
  ['/debug/pprof/heap?seconds=x', true, 400, 'seconds must be an integer from 1 to 300\n'],
] as const)('%s with profiling %s', async (target, profiling, status, body) => {
  expect(await ask(target, { ...sources, profiling })).toMatchObject({ status, body });
});

test.each(['profile', 'heap'])('a %s ends when its client disconnects, and the next may start', async (kind) => {
  const gone = new AbortController();
  const from = { ...sources, profiling: true };
  const request = (target: string, signal: AbortSignal) =>
    answerHealth({ method: 'GET', target, body: async () => '', signal }, from);
  const first = request(`/debug/pprof/${kind}?seconds=300`, gone.signal);
  expect(await request('/debug/pprof/profile?seconds=1', gone.signal)).toMatchObject({ status: 409 });
  gone.abort();
  const answer = await first;
  expect(answer).toMatchObject({ status: 200, contentType: 'application/json' });
  expect(JSON.parse(answer?.body ?? '')).toHaveProperty(kind === 'heap' ? 'head' : 'nodes');
  expect(await request('/debug/pprof/heap?seconds=1', AbortSignal.abort())).toMatchObject({ status: 200 });
});

test('unsupported methods change nothing', async () => {
  expect(await ask('/metrics', sources, 'POST')).toMatchObject({ status: 405 });
});

test.each([
  ['/healthz', 'anyone'],
  ['/readyz', 'anyone'],
  ['/metrics', 'metrics'],
  ['/configz', 'debug'],
  ['/debug/pprof/heap', 'debug'],
  ['/debug/', 'debug'],
] as const)('%s is for %s', (path, audience) => {
  expect(audienceOf(path)).toBe(audience);
});
