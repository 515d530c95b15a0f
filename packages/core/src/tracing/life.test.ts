import type { Machine } from '@mcm/api';
import { type Span, type SpanExporter, spanIdOf, traceIdOf, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { look, pod } from '../drain/testing.ts';
import { createLifeTracer } from './life.ts';

const clock = new VirtualClock();
const created = clock.now();

const machine = (phase: string, description = ''): Machine => ({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'Machine',
  metadata: {
    name: 'm-0',
    namespace: 'shoot',
    uid: 'uid-0',
    resourceVersion: '1',
    creationTimestamp: created.toISOString(),
    labels: { node: 'node-0', name: 'workers' },
  },
  spec: { class: { kind: 'MachineClass', name: 'small' }, providerID: 'toy:///0' },
  status: { currentStatus: { phase }, lastOperation: { description } } as NonNullable<Machine['status']>,
});

function start() {
  const spans: Span[] = [];
  const exporter: SpanExporter = {
    export: (span) => spans.push(span),
    flush: async () => undefined,
    dropped: 0,
    sent: 0,
  };
  return { spans, tracer: createLifeTracer(exporter, clock) };
}

const key = 'shoot/m-0';

test('the life of a machine is one trace, with the stages and calls of all processes', async () => {
  const first = start();
  const call = first.tracer.driver.startSpan('driver create_machine', { attributes: { 'machine.uid': 'uid-0' } });
  await clock.advance(2_000);
  call.addEvent('RunInstances', { failed: false });
  call.end();
  first.tracer.stage('create', machine('Pending'), 2_000);
  const second = start();
  await clock.advance(60_000);
  second.tracer.stage('join', machine('Running'), 62_000);
  second.tracer.changed({ type: 'deleted', key, object: machine('Terminating') });

  const spans = [...first.spans, ...second.spans];
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([traceIdOf('machine', 'uid-0')]));
  const root = spans.find(({ name }) => name === 'machine m-0');
  expect(root).toMatchObject({ startMs: created.getTime(), endMs: created.getTime() + 62_000 });
  expect(root?.parentId).toBeUndefined();
  expect(spans.filter((span) => span !== root).map(({ name, parentId }) => [name, parentId])).toEqual([
    ['driver create_machine', root?.spanId],
    ['create', root?.spanId],
    ['join', root?.spanId],
  ]);
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
  expect(spans[2]).toMatchObject({ startMs: created.getTime(), endMs: created.getTime() + 62_000 });
  expect(spans[1]?.attributes).toEqual({
    'k8s.namespace.name': 'shoot',
    'machine.name': 'm-0',
    'machine.uid': 'uid-0',
    'machine.class': 'small',
    'machine.provider_id': 'toy:///0',
    'machine.deployment': 'workers',
    'k8s.node.name': 'node-0',
  });
});

test('a failed machine has one span with the reason', () => {
  const { spans, tracer } = start();
  const failed = machine('Failed', 'no heartbeat');
  tracer.changed({ type: 'updated', key, object: failed, old: machine('Unknown') });
  tracer.changed({ type: 'updated', key, object: failed, old: failed });
  expect(spans).toEqual([
    expect.objectContaining({ name: 'failed', error: 'no heartbeat', parentId: spanIdOf('machine', 'uid-0') }),
  ]);
});

test('a drained pod is a span below the root span of its machine', () => {
  const { spans, tracer } = start();
  const web = pod('web', { dueAt: created });
  tracer.drain(machine('Terminating'), look([web]));
  tracer.drain(machine('Terminating'), look([]));
  expect(spans).toEqual([
    expect.objectContaining({
      name: 'pod default/web',
      traceId: traceIdOf('machine', 'uid-0'),
      parentId: spanIdOf('machine', 'uid-0'),
      attributes: expect.objectContaining({ 'machine.name': 'm-0', 'k8s.pod.name': 'web', 'k8s.node.name': 'node-0' }),
    }),
  ]);
});

test('a stage that is reported twice is one span', () => {
  const { spans, tracer } = start();
  tracer.stage('drain', machine('Terminating'), 1_000);
  tracer.stage('drain', machine('Terminating'), 1_000);
  expect(spans[0]?.spanId).toBe(spans[1]?.spanId);
});

test('a call without a machine is a separate trace', () => {
  const { spans, tracer } = start();
  for (let n = 0; n < 2; n++) {
    const call = tracer.driver.startSpan('driver list_machines', { kind: 2, attributes: { what: 'small' } });
    call.setStatus({ code: 2, message: 'throttled' });
    call.end();
  }
  expect(spans[0]).toMatchObject({ kind: 'client', error: 'throttled', attributes: { what: 'small' } });
  expect(spans[0]?.parentId).toBeUndefined();
  expect(spans[0]?.traceId).not.toBe(spans[1]?.traceId);
});
