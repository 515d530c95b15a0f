import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { realClock } from '../clock.ts';
import { silentLogger } from '../log/memory-logger.ts';
import { createMetrics } from '../metrics/create-metrics.ts';
import { seededRandom } from '../random.ts';
import { configMaps } from '../types/core.ts';
import { leases } from '../types/groups.ts';
import { connectClusters } from './clusters.ts';
import { AnswerWatcher, Warnings } from './warnings/index.ts';

const LEASE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'l', namespace: 'n' } };

/** An API server that answers for leases only; everything else waits for ever. */
async function slowServer() {
  const held = Promise.withResolvers<void>();
  let waiting = 0;
  const server = createServer((request, response) => {
    if (request.url?.includes('/leases/')) {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(LEASE));
      return;
    }
    waiting++;
    if (waiting === 32) held.resolve();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, held: held.promise, waiting: () => waiting };
}

function kubeconfigFor(server: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'mcm-clusters-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, 'kubeconfig');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'c', user: { token: 't' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

test('a lease is renewed while every connection for other requests waits for its answer, and more are queued', async () => {
  const server = await slowServer();
  const file = kubeconfigFor(server.url);
  const metrics = createMetrics({ prefix: 'mcm_' });
  const warnings = new Warnings(silentLogger, metrics.meters);
  const clusters = await connectClusters({
    ...{ binary: 'b', version: '1', controlKubeconfig: file, targetKubeconfig: file, qps: 0, burst: 0, env: {} },
    clock: realClock,
    random: seededRandom(1),
    metrics,
    answers: new AnswerWatcher({ clock: realClock, warnings, meters: metrics.meters }),
  });
  const stop = new AbortController();
  const others = clusters.control.client('machine').resource(configMaps, 'n');
  const asked = Array.from({ length: 100 }, () => others.get('x', { signal: stop.signal }).catch(() => undefined));
  await server.held;
  const lease = await clusters.control.urgentClient('leader-election').resource(leases, 'n').get('l');
  expect(lease.metadata.name).toBe('l');
  expect(server.waiting()).toBe(32);
  stop.abort();
  await Promise.all(asked);
  await clusters.close();
});
