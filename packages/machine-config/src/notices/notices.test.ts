import { Annotations } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { interruptionOf } from '@mcm/core';
import {
  createClient,
  createMemoryLogger,
  handlerTransport,
  type Node,
  nodes,
  type Transport,
  VirtualClock,
} from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { planNotice } from './plan.ts';
import { azureSource, gceSource, type NodeNotice, type NoticeSource } from './sources.ts';
import { watchNotices } from './watch.ts';

const NOON = new Date('2026-01-01T12:00:00Z');
const metadata = (answers: Readonly<Record<string, string>>): Transport =>
  handlerTransport(async (request) => {
    const { pathname } = new URL(request.url);
    const known = request.headers.get('metadata') === 'true' || request.headers.get('metadata-flavor') === 'Google';
    const text = known ? answers[pathname] : undefined;
    return text === undefined ? new Response('', { status: 404 }) : new Response(text);
  });
const read = (source: NoticeSource, answers: Readonly<Record<string, string>>) =>
  source(metadata(answers), new AbortController().signal);

const azure = (EventType: string, change: object = {}) => ({
  '/metadata/scheduledevents': JSON.stringify({
    DocumentIncarnation: 1,
    Events: [
      {
        EventId: 'e-1',
        EventType,
        ResourceType: 'VirtualMachine',
        Resources: ['Node-1'],
        EventStatus: 'Scheduled',
        NotBefore: 'Thu, 01 Jan 2026 12:10:00 GMT',
        ...change,
      },
    ],
  }),
});
const gce = (preempted: string, maintenance: string) => ({
  '/computeMetadata/v1/instance/preempted': `${preempted}\n`,
  '/computeMetadata/v1/instance/maintenance-event': maintenance,
});

describe('Scheduled Events of Azure', () => {
  test.each([
    ['Preempt', 'Terminate'],
    ['Terminate', 'Terminate'],
    ['Redeploy', 'Maintenance'],
    ['Reboot', 'Maintenance'],
  ])('%s is %s', async (type, kind) => {
    expect(await read(azureSource('node-1'), azure(type))).toMatchObject([
      { id: 'azure-e-1', kind, deadline: '2026-01-01T12:10:00.000Z' },
    ]);
  });

  test.each<[what: string, type: string, change: object]>([
    ['a pause', 'Freeze', {}],
    ['an event of another VM', 'Preempt', { Resources: ['node-10'] }],
    ['an event of an unknown type', 'Explode', {}],
  ])('%s needs no reaction', async (_, type, change) => {
    expect(await read(azureSource('node-1'), azure(type, change))).toEqual([]);
  });

  test('a started event has no time', async () => {
    const [notice] = await read(azureSource('node-1'), azure('Preempt', { NotBefore: '' }));
    expect([notice?.deadline, notice?.withinMs]).toEqual([undefined, 30_000]);
  });

  test('an answer of another server is an error', async () => {
    await expect(read(azureSource('node-1'), { '/metadata/scheduledevents': '<html>' })).rejects.toThrow();
    await expect(read(azureSource('node-1'), {})).rejects.toThrow('the metadata service responded with status 404');
  });
});

test.each<[preempted: string, maintenance: string, kinds: readonly string[]]>([
  ['FALSE', 'NONE', []],
  ['TRUE', 'NONE', ['Terminate']],
  ['FALSE', 'TERMINATE_ON_HOST_MAINTENANCE', ['Maintenance']],
  ['FALSE', 'MIGRATE_ON_HOST_MAINTENANCE', []],
])('Compute Engine: preempted %s and maintenance %s', async (preempted, maintenance, kinds) => {
  expect((await read(gceSource, gce(preempted, maintenance))).map(({ kind }) => kind)).toEqual(kinds);
});

describe('the annotation of the Node', () => {
  const notice = (change: Partial<NodeNotice> = {}): NodeNotice => ({
    id: 'azure-e-1',
    kind: 'Terminate',
    withinMs: 30_000,
    detail: 'Preempt',
    ...change,
  });
  const node = (value?: string): Node => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: 'n',
      uid: 'u',
      resourceVersion: '1',
      creationTimestamp: '',
      ...(value === undefined ? {} : { annotations: { [Annotations.Interruption]: value } }),
    },
    spec: {},
  });
  const later = new Date(NOON.getTime() + 10_000);
  const written = planNotice(node(), [notice()], NOON) ?? '';

  test('the annotation of a Node is written once, and keeps its times', () => {
    expect(JSON.parse(written)).toEqual({
      kind: 'Terminate',
      id: 'azure-e-1',
      noticedAt: '2026-01-01T12:00:00.000Z',
      deadline: '2026-01-01T12:00:30.000Z',
      detail: 'Preempt',
    });
    expect(planNotice(node(written), [notice()], later)).toBeUndefined();
  });

  test.each<[what: string, edit: object, deadline: string]>([
    ['a removed deadline', { deadline: undefined }, '2026-01-01T12:00:40.000Z'],
    ['an invalid deadline', { deadline: 'soon' }, '2026-01-01T12:00:40.000Z'],
    ['a later deadline', { deadline: '2027-01-01T12:00:30.000Z' }, '2026-01-01T12:00:40.000Z'],
    ['an invalid time of the notice', { noticedAt: 'now' }, '2026-01-01T12:00:30.000Z'],
    ['another kind', { kind: 'Rebalance' }, '2026-01-01T12:00:30.000Z'],
    ['another text', { detail: 'none' }, '2026-01-01T12:00:30.000Z'],
  ])('the annotation of a Node is restored after an edit: %s', (_, edit, deadline) => {
    const edited = JSON.stringify({ ...JSON.parse(written), ...edit });
    const restored = planNotice(node(edited), [notice()], later);
    expect(JSON.parse(restored ?? '{}')).toMatchObject({
      kind: 'Terminate',
      id: 'azure-e-1',
      deadline,
      detail: 'Preempt',
    });
    expect(interruptionOf(node(restored ?? ''))).toMatchObject({ id: 'azure-e-1' });
    expect(planNotice(node(restored ?? ''), [notice()], later)).toBeUndefined();
  });

  test('the annotation of a Node keeps the deadline that the cloud reports', () => {
    const fixed = notice({ deadline: '2026-01-01T12:10:00.000Z' });
    const value = planNotice(node(), [fixed], NOON) ?? '';
    expect(planNotice(node(value.replace('12:10', '12:50')), [fixed], later)).toBe(value);
    expect(planNotice(node(value), [notice()], new Date('2026-01-01T12:10:01Z'))).toBeUndefined();
  });

  test('the annotation of a Node contains the earliest notice', () => {
    const early = notice({ id: 'azure-e-2', deadline: '2026-01-01T12:00:20Z' });
    expect(planNotice(node(written), [notice(), early], later)).toContain('azure-e-2');
  });

  test('the annotation of a Node is removed after the event, unless another agent wrote it', () => {
    expect(planNotice(node(written), [], later)).toBeNull();
    expect(planNotice(node('{"id":"mine"}'), [], later)).toBeUndefined();
    expect(planNotice(node('text'), [], later)).toBeUndefined();
    expect(planNotice(node(), [], later)).toBeUndefined();
  });
});

test('a notice is on the Node within seconds, also after an outage of the metadata service', async () => {
  const clock = new VirtualClock({ start: NOON });
  const plane = await startControlPlane({ clock, controllers: false });
  const client = createClient({ transport: plane.transport, userAgent: 'daemon', clock });
  let own = await client.resource(nodes).create({ metadata: { name: 'n' }, spec: {} });
  let answers: Readonly<Record<string, string>> = {};
  const stop = new AbortController();
  const log = createMemoryLogger();
  const options = { source: gceSource, client, clock, log, node: () => own };
  const transport: Transport = (request) => metadata(answers)(request);
  const running = watchNotices({ ...options, metadata: transport, wrote: (node) => (own = node) }, stop.signal);
  await clock.advance(60_000);
  expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
  answers = gce('TRUE', 'NONE');
  await clock.advance(3_000);
  expect(own.metadata.annotations?.[Annotations.Interruption]).toContain('"kind":"Terminate"');
  const { resourceVersion } = own.metadata;
  await clock.advance(60_000);
  expect(own.metadata.resourceVersion).toBe(resourceVersion);
  answers = gce('FALSE', 'NONE');
  await clock.advance(3_000);
  expect(own.metadata.annotations?.[Annotations.Interruption]).toBeUndefined();
  stop.abort();
  await running;
  await plane.close();
});
