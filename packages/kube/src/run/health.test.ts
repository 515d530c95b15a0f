import { expect, test } from 'vitest';
import { answerHealth, type HealthSources } from './health.ts';

const sources: HealthSources = {
  alive: () => true,
  readiness: () => [
    { name: 'control-api-server', ok: true, detail: 'ok' },
    { name: 'leader-election', ok: true, detail: 'standby, other leads' },
  ],
  scrape: async () => ({ contentType: 'text/plain; version=0.0.4', text: 'm 1\n' }),
  settings: () => ({ port: 1 }),
};
const unready: HealthSources = {
  ...sources,
  alive: () => false,
  readiness: () => [{ name: 'control-api-server', ok: false, detail: 'connection refused' }],
};

test.each([
  [200, 'OK', sources],
  [500, 'Unhealthy', unready],
])('S-X4 the health endpoint: %i %s', async (status, text, from) => {
  expect(await answerHealth('/healthz', from)).toMatchObject({ status, body: text });
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
  expect(await answerHealth(target, from)).toMatchObject({ status, body });
});

test('other paths are not answered', async () => {
  expect(await answerHealth('/', sources)).toBeUndefined();
});
