import { machineClasses, machineDeployments, machineSets, machines } from '@mcm/api';
import {
  createClient,
  createMemoryLogger,
  handlerTransport,
  isHeld,
  type KubeObject,
  keyOf,
  nodes,
  type ResourceDefinition,
  seededRandom,
  VirtualClock,
} from '@mcm/kube';
import { malformations } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { SelectorOverlaps } from './overlaps.ts';
import { managerContext } from './testing/manager-context.ts';

const NAMESPACE = 'default';
const KINDS: readonly ResourceDefinition<KubeObject>[] = [
  machineDeployments,
  machineSets,
  machines,
  machineClasses,
  nodes,
];

const openUntil = (signal: AbortSignal): ReadableStream =>
  new ReadableStream({
    start: (controller) => signal.addEventListener('abort', () => controller.error(signal.reason), { once: true }),
  });

const itemsOf = ({ kind, shape = {} }: ResourceDefinition<KubeObject>): readonly object[] =>
  [...malformations(shape)].map(({ content }, index) => ({
    apiVersion: 'x',
    kind,
    ...content,
    metadata: {
      name: `o-${index}`,
      namespace: NAMESPACE,
      uid: `${kind}-${index}`,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      generation: 1,
    },
  }));

test('the caches, indexes and censuses of a manager accept any value in any single field of every kind', async () => {
  const clock = new VirtualClock();
  const log = createMemoryLogger();
  const transport = handlerTransport(async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    if (searchParams.has('watch')) return new Response(openUntil(request.signal));
    const definition = KINDS.find(({ plural }) => pathname.endsWith(`/${plural}`));
    return Response.json({ metadata: { resourceVersion: '9' }, items: definition ? itemsOf(definition) : [] });
  });
  const client = createClient({ userAgent: 'test', clock, transport });
  const shared = { clock, random: seededRandom(1), log };
  const context = managerContext({ client, namespace: NAMESPACE, safeguards: {}, ...shared });
  const overlaps = new SelectorOverlaps(context.deployments, () => undefined);
  const { deployments, sets, machines: cached } = context;
  const informers = [deployments, sets, cached, ...(context.nodes ? [context.nodes.informer] : [])];
  const stop = new AbortController();
  const running = informers.map((informer) => informer.run(stop.signal));
  await Promise.all(informers.map((informer) => informer.whenSynced()));
  for (const informer of informers) {
    const definition = KINDS.find(({ plural }) => plural === informer.resource);
    const all = definition ? [...malformations(definition.shape ?? {})] : [];
    expect(all.length).toBeGreaterThan(100);
    expect([informer.resource, informer.store.size]).toEqual([informer.resource, all.length]);
    expect([informer.resource, informer.malformed]).toEqual([
      informer.resource,
      all.filter(({ reported }) => reported).length,
    ]);
  }
  const held = deployments.store.list().filter(isHeld);
  expect(held.length).toBeGreaterThan(50);
  expect(held.filter((one) => overlaps.of(keyOf(one)).length > 0)).toEqual([]);
  expect(log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  stop.abort(new Error('the test is over'));
  await Promise.allSettled(running);
});
