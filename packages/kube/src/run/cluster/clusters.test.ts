import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { issueAuthority, issueServing } from '../../admission/self-made/issue.ts';
import { seededRandom } from '../../base/random.ts';
import { type Clock, realClock } from '../../clock/clock.ts';
import { VirtualClock } from '../../clock/virtual-clock.ts';
import { createMemoryLogger } from '../../log/memory-logger.ts';
import { createMetrics } from '../../metrics/create-metrics.ts';
import { undiciTransport } from '../../transports/undici.ts';
import { configMaps } from '../../types/core.ts';
import { leases } from '../../types/groups.ts';
import { AnswerWatcher, CertificatesInUse, Warnings } from '../warnings/index.ts';
import { connectClusters } from './clusters.ts';

const LEASE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'l', namespace: 'n' } };

/** Creates an API server that does not respond after the call of `refuse`. */
async function slowServer() {
  let refusing = false;
  const held = Promise.withResolvers<void>();
  let waiting = 0;
  const server = createServer((request, response) => {
    if (request.url?.includes('/leases/')) {
      response.statusCode = refusing ? 401 : 200;
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
  return {
    url: `http://127.0.0.1:${port}`,
    held: held.promise,
    waiting: () => waiting,
    refuse: (yes: boolean) => (refusing = yes),
  };
}

function kubeconfigFor(server: string, user: object = { token: 't' }): string {
  const dir = mkdtempSync(join(tmpdir(), 'mcm-clusters-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, 'kubeconfig');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'c', user }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

async function connected(file: string, clock: Clock = realClock) {
  const [metrics, log, certificates] = [
    createMetrics({ prefix: 'mcm_' }),
    createMemoryLogger(),
    new CertificatesInUse(),
  ];
  const warnings = new Warnings(log, metrics.meters);
  const clusters = await connectClusters({
    dial: undiciTransport,
    binary: 'b',
    version: '1',
    controlKubeconfig: file,
    targetKubeconfig: file,
    qps: 0,
    burst: 0,
    env: {},
    clock,
    random: seededRandom(1),
    metrics,
    log,
    warnings,
    certificates,
    answers: new AnswerWatcher({ clock, warnings, meters: metrics.meters }),
  });
  onTestFinished(() => clusters.close());
  return { clusters, log, metrics, certificates };
}

test('a lease is renewed while all other connections wait for answers and more requests are queued', async () => {
  const server = await slowServer();
  const { clusters } = await connected(kubeconfigFor(server.url));
  const stop = new AbortController();
  const others = clusters.control.client('machine').resource(configMaps, 'n');
  const asked = Array.from({ length: 100 }, () => others.get('x', { signal: stop.signal }).catch(() => undefined));
  await server.held;
  const lease = await clusters.control.urgentClient('leader-election').resource(leases, 'n').get('l');
  expect(lease.metadata.name).toBe('l');
  expect(server.waiting()).toBe(32);
  stop.abort();
  await Promise.all(asked);
});

test('a replaced client certificate is used and its expiry is monitored; an invalid pair is a warning until it is valid', async () => {
  const server = await slowServer();
  const file = kubeconfigFor(server.url, { 'client-certificate': 'c.pem', 'client-key': 'k.pem' });
  const at = (name: string): string => join(dirname(file), name);
  const from = new Date();
  const pairOf = async (years: number) => {
    const validity = { from, until: new Date(from.getTime() + years * 31_536_000_000) };
    return issueServing(await issueAuthority(validity), ['c'], validity);
  };
  const [one, two] = [await pairOf(1), await pairOf(2)];
  writeFileSync(at('c.pem'), one.cert);
  writeFileSync(at('k.pem'), two.key);
  await expect(connected(file)).rejects.toThrow(
    `--target-kubeconfig=${file}: ${at('c.pem')} and ${at('k.pem')} do not match; use a certificate with its own key`,
  );
  writeFileSync(at('k.pem'), one.key);
  const clock = new VirtualClock({ start: from });
  const { clusters, log, metrics, certificates } = await connected(file, clock);
  const lease = clusters.control.urgentClient('leader-election').resource(leases, 'n');
  const look = async (): Promise<string> => {
    await clock.advance(60_000);
    await lease.get('l');
    return (await metrics.scrape()).text;
  };
  writeFileSync(at('c.pem'), two.cert);
  expect(await look()).toContain('runtime_warning{kind="credentials",subject="control"} 1');
  const said = log.lines.filter(({ fields }) => fields?.warning === 'credentials');
  expect(said.map(({ message }) => message)).toEqual([
    `cannot use the new credentials of the control cluster: ${at('c.pem')} and ${at('k.pem')} do not match; use a certificate with its own key; continuing with the previous configuration`,
  ]);
  expect(certificates.list()).toMatchObject([{ certificate: one.cert, key: one.key, from: at('c.pem') }]);
  const { changed } = certificates;
  writeFileSync(at('k.pem'), two.key);
  expect(await look()).not.toContain('runtime_warning{kind="credentials"');
  expect(log.lines.map(({ message }) => message)).toContain('Using the renewed credentials of a cluster');
  expect(certificates.list()).toMatchObject([{ certificate: two.cert, key: two.key }]);
  expect(changed.aborted).toBe(true);
  server.refuse(true);
  await expect(lease.get('l')).rejects.toMatchObject({ code: 401 });
  expect(log.lines.at(-1)).toMatchObject({
    message: `the control API server refuses the credentials of ${at('c.pem')} (401); use a valid client certificate or token`,
    fields: { warning: 'credentials', subject: 'control API server' },
  });
  server.refuse(false);
  expect(await look()).not.toContain('runtime_warning{kind="credentials"');
});
