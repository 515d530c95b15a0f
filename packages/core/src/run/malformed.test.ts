import { crds, type Machine, machineClasses, machines } from '@mcm/api';
import {
  createClient,
  createMemoryLogger,
  csiNodes,
  handlerTransport,
  type KubeObject,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  podDisruptionBudgets,
  pods,
  type ResourceDefinition,
  secrets,
  seededRandom,
  VirtualClock,
  volumeAttachments,
} from '@mcm/kube';
import { malformations, sampleOf } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { createCaches, informersOf } from '../cluster/caches.ts';
import { NAMESPACE } from './testing/rig.ts';
import { startRig } from './testing/start.ts';

const OPEN_SCHEMA = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } as const;
const OPEN: typeof crds = crds.map(({ spec, ...crd }) => {
  const [version] = spec.versions;
  return { ...crd, spec: { ...spec, versions: [{ ...version, schema: OPEN_SCHEMA }] } };
});

const BATCH = 40;

const openUntil = (signal: AbortSignal): ReadableStream =>
  new ReadableStream({
    start: (controller) => signal.addEventListener('abort', () => controller.error(signal.reason), { once: true }),
  });

async function inBatches<T>(all: readonly T[], work: (one: T, index: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < all.length; from += BATCH) {
    await Promise.all(all.slice(from, from + BATCH).map((one, index) => work(one, from + index)));
  }
}

test.each([
  ['Machines', machines],
  ['MachineClasses', machineClasses],
] as const)(
  '%s with any field missing, null or of another type keep no other machine from its VM',
  async (_, definition) => {
    // The create request for a machine cannot contain a status or nested invalid fields, so the last test covers them.
    const shallow = [...malformations(definition.shape)].filter(
      ({ field }) => field.split('.').length <= 2 && !field.startsWith('status'),
    );
    const all = [...Map.groupBy(shallow, ({ field }) => field).values()].flatMap((ofField) =>
      [ofField[0] ?? [], ofField.at(-1) ?? []].flat(),
    );
    const rig = await startRig({ crds: OPEN, eventTtlMs: 0 });
    const resource = rig.admin.resource<KubeObject>(definition as ResourceDefinition<KubeObject>, NAMESPACE);
    await inBatches(all, ({ content }, index) =>
      resource.create({ metadata: { name: `bad-${index}`, namespace: NAMESPACE }, ...content }),
    );
    await rig.createMachine('good');
    await rig.clock.advance(60_000);
    expect(await rig.phase('good')).toBe('Running');
    expect(rig.cloud.vms.filter(({ machineName }) => machineName === 'good')).toHaveLength(1);
    const held = all.flatMap(({ reported }, index) => (reported ? [`bad-${index}`] : []));
    expect(rig.cloud.vms.filter(({ machineName }) => held.includes(machineName))).toEqual([]);
    const broken = rig.log.lines.filter(({ message }) => /handler failed|index cannot|not be projected/.test(message));
    expect(broken).toEqual([]);
    const reported = rig.log.lines.filter(({ message }) => message.includes('is malformed'));
    expect(reported.map(({ fields }) => fields.object).toSorted()).toEqual(
      held.map((name) => `${NAMESPACE}/${name}`).toSorted(),
    );
    if (definition.kind !== 'Machine') return;
    const [name = ''] = held;
    const { apiVersion, kind, metadata } = await resource.get(name);
    await resource.update({
      apiVersion,
      kind,
      metadata,
      spec: { class: { kind: 'MachineClass', name: 'small' } },
    } as Machine);
    await rig.clock.advance(60_000);
    expect(await rig.phase(name)).toBe('Running');
  },
);

test('kinds of the target cluster, and Secrets, are accepted by every cache, index and census with any value in a field', async () => {
  const kinds: readonly ResourceDefinition<KubeObject>[] = [
    ...[nodes, pods, persistentVolumeClaims, persistentVolumes, volumeAttachments, podDisruptionBudgets, csiNodes],
    ...[secrets, machines, machineClasses],
  ];
  const itemsOf = (definition: ResourceDefinition<KubeObject>): readonly object[] => {
    const contents = [...malformations(definition.shape ?? {})].map(({ content }) => content);
    return [...contents, sampleOf(definition.shape ?? {}) as object].map((content, index) => ({
      apiVersion: 'x',
      kind: definition.kind,
      ...content,
      metadata: {
        name: `o-${index}`,
        uid: `${index}`,
        resourceVersion: '1',
        creationTimestamp: '2026-01-01T00:00:00Z',
      },
    }));
  };
  const clock = new VirtualClock();
  const log = createMemoryLogger();
  const client = createClient({
    userAgent: 'test',
    clock,
    transport: handlerTransport(async (request) => {
      const { pathname, searchParams } = new URL(request.url);
      if (searchParams.has('watch')) return new Response(openUntil(request.signal));
      const definition = kinds.find(({ plural }) => pathname.endsWith(`/${plural}`));
      return Response.json({ metadata: { resourceVersion: '9' }, items: definition ? itemsOf(definition) : [] });
    }),
  });
  const runtime = { clock, random: seededRandom(1), log, freeze: true };
  const caches = createCaches({ control: client, target: client, namespace: NAMESPACE, runtime });
  const stop = new AbortController();
  const informers = informersOf(caches);
  const running = informers.map((informer) => informer.run(stop.signal));
  await Promise.all(informers.map((informer) => informer.whenSynced()));
  for (const informer of informers) {
    const definition = kinds.find(({ plural }) => plural === informer.resource);
    expect([informer.resource, informer.store.size]).toEqual([informer.resource, itemsOf(definition ?? nodes).length]);
  }
  expect(log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  stop.abort(new Error('test over'));
  await Promise.all(running);
});
