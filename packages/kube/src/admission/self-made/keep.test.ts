import { X509Certificate } from 'node:crypto';
import { request } from 'node:https';
import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { seededRandom } from '../../base/random.ts';
import { createClient } from '../../client/create-client.ts';
import { VirtualClock } from '../../clock/virtual-clock.ts';
import type { KubeClient } from '../../contract/client.ts';
import { createMemoryLogger, type MemoryLogger } from '../../log/memory-logger.ts';
import { handlerTransport } from '../../transports/handler.ts';
import { namespaces, type Secret, secrets } from '../../types/core.ts';
import { validatingWebhookConfigurations, type WebhookConfiguration } from '../../types/groups.ts';
import { type ServingPair, startAdmissionServer } from '../server.ts';
import { bundleOf, readCertificates, secretData } from './contents.ts';
import { issueAuthority, issueServing } from './issue.ts';
import { keepSelfMadeCertificates, type SelfMadeOptions } from './keep.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NAMES = ['mcm.test.svc', '127.0.0.1'];

class Replica {
  readonly pairs: ServingPair[] = [];
  readonly log: MemoryLogger = createMemoryLogger();
  readonly stop = new AbortController();
  readonly running: Promise<void>;
  constructor(client: KubeClient, clock: VirtualClock, options: Partial<SelfMadeOptions>, seed: number) {
    this.running = keepSelfMadeCertificates(
      {
        client,
        namespace: 'test',
        secret: 'webhooks',
        names: NAMES,
        configurations: 'mcm',
        clock,
        random: seededRandom(seed),
        log: this.log,
        use: (pair) => this.pairs.push(pair),
        ...options,
      },
      this.stop.signal,
    );
  }
  get served(): ServingPair | undefined {
    return this.pairs.at(-1);
  }
}

/** Other threads create keys and signatures, and the virtual clock does not wait for threads. */
async function until(clock: VirtualClock, done: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await done())) {
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(1);
  }
}

async function start({ configured = true, now = new Date('2026-01-01T12:00:00Z') } = {}) {
  const clock = new VirtualClock({ start: now });
  const plane = await startControlPlane({ clock, controllers: false });
  const writes: string[] = [];
  const client = createClient({
    transport: handlerTransport((asked) => {
      if (asked.method !== 'GET') writes.push(`${asked.method} ${new URL(asked.url).pathname.split('/').at(-1)}`);
      return plane.fetch(asked);
    }),
    userAgent: 't',
    clock,
  });
  await client.resource(namespaces).create({ metadata: { name: 'test' } });
  const replicas: Replica[] = [];
  const configure = () =>
    client.resource(validatingWebhookConfigurations).create({
      metadata: { name: 'mcm' },
      webhooks: [
        {
          name: 'a.example.org',
          clientConfig: { url: 'https://127.0.0.1:1/validate' },
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          rules: [],
        },
      ],
    });
  if (configured) await configure();
  return {
    clock,
    client,
    writes,
    configure,
    replica: (options: Partial<SelfMadeOptions> = {}) => {
      const made = new Replica(client, clock, options, replicas.length + 1);
      replicas.push(made);
      return made;
    },
    secret: (): Promise<Secret> => client.resource(secrets, 'test').get('webhooks'),
    bundle: async (): Promise<string> => {
      const { webhooks }: WebhookConfiguration = await client.resource(validatingWebhookConfigurations).get('mcm');
      return Buffer.from(webhooks?.[0]?.clientConfig.caBundle ?? '', 'base64').toString();
    },
    async [Symbol.asyncDispose]() {
      for (const { stop } of replicas) stop.abort(new Error('over'));
      await clock.advance(1000);
      await Promise.all(replicas.map(({ running }) => running));
      await plane.close();
      expect(JSON.stringify(replicas.map(({ log }) => log.lines))).not.toContain('PRIVATE KEY');
    },
  };
}

const call = (port: number, ca: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: '/validate', method: 'POST', ca, agent: false } as const;
    const sent = request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve(`${response.statusCode} ${text}`));
    });
    sent.on('error', reject);
    sent.end(JSON.stringify({ request: { uid: 'u', kind: { kind: 'X', group: 'g', version: 'v' } } }));
  });

test('two replicas that start at the same time serve one certificate that the configuration trusts', async () => {
  await using world = await start();
  const [a, b] = [world.replica(), world.replica()];
  await until(world.clock, () => a.served !== undefined && b.served !== undefined && a.served.cert === b.served.cert);
  const { authorities, serving } = readCertificates((await world.secret()).data);
  expect([authorities.length, serving?.cert, serving?.names]).toEqual([1, a.served?.cert, NAMES]);
  expect(await world.bundle()).toBe(bundleOf(authorities));
  expect(world.writes.filter((write) => write === 'POST secrets').length).toBeLessThanOrEqual(2);
  expect([a, b].flatMap(({ log }) => log.lines).filter(({ level }) => level === 'error')).toEqual([]);
  const quiet = world.writes.length;
  await world.clock.advance(HOUR);
  expect(world.writes.length).toBe(quiet);
});

test('a third replica uses the existing certificates, and a new configuration gets the bundle', async () => {
  await using world = await start({ configured: false });
  const first = world.replica();
  await until(world.clock, () => first.served !== undefined);
  expect(first.log.lines.filter(({ message }) => message.startsWith('Webhook configuration missing'))).toHaveLength(2);
  const later = world.replica();
  await until(world.clock, () => later.served !== undefined);
  expect(later.served).toEqual(first.served);
  await world.configure();
  await until(world.clock, async () => (await world.bundle()) !== '');
  expect(await world.bundle()).toBe(bundleOf(readCertificates((await world.secret()).data).authorities));
});

async function left(
  world: Awaited<ReturnType<typeof start>>,
  life: { readonly authorityUntil: number; readonly servingUntil: number },
): Promise<{ readonly authority: string; readonly serving: string }> {
  const at = (ms: number) => new Date(world.clock.now().getTime() + ms);
  const from = at(-200 * DAY);
  const validity = { from, until: at(life.authorityUntil) };
  const authority = await issueAuthority(validity);
  const serving = await issueServing(authority, NAMES, { from, until: at(life.servingUntil) });
  const data = secretData([{ ...authority, ...validity }], serving);
  await world.client
    .resource(secrets, 'test')
    .create({ metadata: { name: 'webhooks' }, type: 'kubernetes.io/tls', data });
  return { authority: authority.cert, serving: serving.cert };
}

const signedBy = (cert: string | undefined, authority: string | undefined): boolean =>
  new X509Certificate(cert ?? '').verify(new X509Certificate(authority ?? '').publicKey);

test('a serving certificate is replaced a month before it expires', async () => {
  await using world = await start();
  const old = await left(world, { authorityUntil: 300 * DAY, servingUntil: 30 * DAY + 2 * HOUR });
  const replica = world.replica();
  await until(world.clock, () => replica.served !== undefined);
  expect([replica.served?.cert, await world.bundle()]).toEqual([old.serving, old.authority]);
  await world.clock.advance(2 * HOUR);
  await until(world.clock, () => replica.served?.cert !== old.serving);
  expect(signedBy(replica.served?.cert, old.authority)).toBe(true);
  expect(new X509Certificate(replica.served?.cert ?? '').validToDate.getTime()).toBeGreaterThan(
    world.clock.now().getTime() + 89 * DAY,
  );
  expect(await world.bundle()).toBe(old.authority);
});

test('a new authority signs nothing before all clients trust it', async () => {
  await using world = await start();
  const old = await left(world, { authorityUntil: 120 * DAY + HOUR, servingUntil: 30 * DAY + 26 * HOUR });
  const replica = world.replica();
  await until(world.clock, () => replica.served !== undefined);
  await world.clock.advance(HOUR);
  await until(world.clock, async () => (await world.bundle()) !== old.authority);
  const { authorities } = readCertificates((await world.secret()).data);
  expect([authorities.length, authorities[1]?.cert, replica.served?.cert]).toEqual([2, old.authority, old.serving]);
  expect(await world.bundle()).toBe(bundleOf(authorities));
  await world.clock.advance(25 * HOUR);
  await until(world.clock, () => replica.served?.cert !== old.serving);
  expect(signedBy(replica.served?.cert, authorities[0]?.cert)).toBe(true);
  expect(await world.bundle()).toBe(bundleOf(authorities));
});

test('the server refuses TLS connections without a certificate, and uses a new one for the next connection', async () => {
  // The test uses the system time, because TLS compares it with the validity of certificates.
  await using world = await start({ now: new Date() });
  const server = await startAdmissionServer({ host: '127.0.0.1', port: 0 }, undefined, {
    '/validate': () => ({ causes: [] }),
  });
  const answer = (ca: string) => call(server.port, ca).catch((error: Error) => `refused: ${error.message}`);
  try {
    const [a, b] = [world.replica(), world.replica({ secret: 'others', configurations: '' })];
    expect(await answer('')).toMatch(/^refused/);
    await until(world.clock, () => a.served !== undefined && b.served !== undefined);
    const { data }: Secret = await world.client.resource(secrets, 'test').get('others');
    const [ours, theirs] = [await world.bundle(), bundleOf(readCertificates(data).authorities)];
    if (a.served) server.use(a.served);
    expect(await answer(ours)).toMatch(/^200 .*"allowed":true/);
    expect(await answer(theirs)).toMatch(/^refused/);
    if (b.served) server.use(b.served);
    expect(await answer(ours)).toMatch(/^refused/);
    expect(await answer(theirs)).toMatch(/^200/);
  } finally {
    await server.close();
  }
});

test('damaged parts of the Secret are created again and served', async () => {
  await using world = await start();
  const replica = world.replica();
  await until(world.clock, () => replica.served !== undefined);
  const first = replica.served?.cert;
  await world.client
    .resource(secrets, 'test')
    .patch('webhooks', { type: 'merge', body: { data: { 'tls.key': Buffer.from('rubbish').toString('base64') } } });
  await until(world.clock, () => replica.served !== undefined && replica.served.cert !== first);
  await until(world.clock, async () => (await world.bundle()) !== '');
  const { serving } = readCertificates((await world.secret()).data);
  expect(serving?.cert).toBe(replica.served?.cert);
});
