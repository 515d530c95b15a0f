import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { seededRandom } from '../../base/random.ts';
import { createClient } from '../../client/create-client.ts';
import { isWatch } from '../../client/paths.ts';
import { VirtualClock } from '../../clock/virtual-clock.ts';
import type { Transport, TransportRequest } from '../../contract/transport.ts';
import { createMemoryLogger } from '../../log/memory-logger.ts';
import { namespaces, secrets } from '../../types/core.ts';
import { KeptSecret } from '../kept-secret.ts';
import { namespaceDiscovery } from './namespaces.ts';

const FINALIZER = 'example.com/fleet';
const SECRET = 'fleet-kubeconfig';

const silent = ({ signal }: TransportRequest): Response =>
  new Response(
    new ReadableStream({
      start: (stream) => signal?.addEventListener('abort', () => stream.error(signal.reason), { once: true }),
    }),
  );

async function setUp() {
  const clock = new VirtualClock();
  const random = seededRandom(1);
  const plane = await startControlPlane({ clock, random: () => random.next(), controllers: false });
  const admin = createClient({ transport: plane.transport, userAgent: 'test', clock });
  const delayed: Transport = (request) =>
    isWatch(request.path) && request.path.startsWith('/api/v1/namespaces')
      ? Promise.resolve(silent(request))
      : plane.transport(request);
  const log = createMemoryLogger();
  const discovery = namespaceDiscovery({
    seed: createClient({ transport: delayed, userAgent: 'test', clock }),
    selector: 'fleet=yes',
    secret: SECRET,
    kept: new KeptSecret(FINALIZER, log),
    runtime: { clock, random, log },
  });
  await admin.resource(namespaces).create({ metadata: { name: 'c1', labels: { fleet: 'yes' } } });
  const all = admin.resource(secrets, 'c1');
  await all.create({ metadata: { name: SECRET, finalizers: [FINALIZER] }, stringData: { kubeconfig: 'k' } });
  const seen: string[] = [];
  const end = new AbortController();
  const running = discovery.run(
    {
      engage: ({ name }) => seen.push(`engage ${name}`),
      refuse: (name) => seen.push(`refuse ${name}`),
      disengage: (name) => seen.push(`disengage ${name}`),
      deleting: (name) => seen.push(`deleting ${name}`),
      handOver: (name) => seen.push(`hand over ${name}`),
    },
    end.signal,
  );
  const close = async (): Promise<void> => {
    end.abort();
    await clock.advance(1_000);
    await running;
    await plane.close();
  };
  await clock.advance(1_000);
  return { clock, admin, all, seen, close };
}

test.each([
  ['a deleted namespace', true, 'engage c1'],
  ['a namespace that stays', false, 'refuse c1'],
])('a Secret that is deleted in %s', async (_what, namespaceToo, last) => {
  const { clock, admin, all, seen, close } = await setUp();
  if (namespaceToo) await admin.resource(namespaces).delete('c1');
  await all.delete(SECRET);
  await clock.advance(5_000);
  expect(seen.at(-1)).toBe(last);
  const left = (await all.list()).items.map(({ metadata }) => metadata.finalizers);
  expect(left).toEqual(namespaceToo ? [[FINALIZER]] : []);
  await close();
});

test('the Secret of a cluster of another fleet keeps its finalizer', async () => {
  const { clock, admin, close } = await setUp();
  await admin.resource(namespaces).create({ metadata: { name: 'c2', labels: { fleet: 'other' } } });
  const all = admin.resource(secrets, 'c2');
  await all.create({ metadata: { name: SECRET, finalizers: [FINALIZER] } });
  await all.patch(SECRET, { type: 'merge', body: { stringData: { kubeconfig: 'k' } } });
  await clock.advance(5_000);
  expect((await all.get(SECRET)).metadata.finalizers).toEqual([FINALIZER]);
  await close();
});
