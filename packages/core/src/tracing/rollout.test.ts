import type { Machine, MachineDeployment, MachineSet } from '@mcm/api';
import { type Change, type Span, type SpanExporter, traceIdOf, VirtualClock } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { traceRollouts } from './rollout.ts';

const clock = new VirtualClock();
const at = (seconds: number): string => new Date(clock.now().getTime() + seconds * 1000).toISOString();

const owned = (kind: string, name: string) => [{ apiVersion: 'v', kind, name, uid: `${name}-uid`, controller: true }];

const deployment = (reason: string, spec: object = {}): MachineDeployment =>
  ({
    metadata: {
      name: 'pool',
      namespace: 'n',
      uid: 'pool-uid',
      annotations: { 'deployment.kubernetes.io/revision': '2' },
    },
    spec: { replicas: 2, strategy: { type: 'RollingUpdate' }, ...spec },
    status: { conditions: [{ type: 'Progressing', status: 'True', reason, message: 'no progress for 10m' }] },
  }) as never;

const machine = (name: string, phase: string, metadata: object = {}): Machine =>
  ({
    metadata: {
      name,
      namespace: 'n',
      uid: `${name}-uid`,
      creationTimestamp: at(-30),
      ownerReferences: owned('MachineSet', 'pool-b'),
      ...metadata,
    },
    spec: { class: { kind: 'MachineClass', name: 'green' } },
    status: { currentStatus: { phase }, lastOperation: { description: 'no quota' } },
  }) as never;

const set = partial<MachineSet>({
  metadata: {
    name: 'pool-b',
    namespace: 'n',
    uid: 'pool-b-uid',
    creationTimestamp: at(-60),
    ownerReferences: owned('MachineDeployment', 'pool'),
    annotations: { 'deployment.kubernetes.io/revision': '2' },
  },
});

function start(now: MachineDeployment) {
  const spans: Span[] = [];
  const exporter: SpanExporter = {
    export: (span) => spans.push(span),
    flush: async () => undefined,
    dropped: 0,
    sent: 0,
  };
  let current = now;
  const reported: {
    deployment: (change: Change<MachineDeployment>) => void;
    machine: (change: Change<Machine>) => void;
  } = {
    deployment: () => undefined,
    machine: () => undefined,
  };
  const storeOf = <T>(list: () => T[], get: (key: string) => T | undefined) => ({ list, get }) as never;
  traceRollouts(exporter, clock, {
    deployments: {
      store: storeOf(
        () => [current],
        (key) => (key === 'n/pool' ? current : undefined),
      ),
      onChange: (callback) => {
        reported.deployment = callback;
        return () => undefined;
      },
    },
    sets: {
      store: storeOf(
        () => [set],
        (key) => (key === 'n/pool-b' ? set : undefined),
      ),
    },
    machines: {
      onChange: (callback) => {
        reported.machine = callback;
        return () => undefined;
      },
    },
  });
  const change = (object: MachineDeployment): void => {
    const old = current;
    current = object;
    reported.deployment({ type: 'updated', key: 'n/pool', object, old });
  };
  const became = (object: Machine, old: Machine): void =>
    reported.machine({ type: 'updated', key: `n/${object.metadata.name}`, object, old });
  const gone = (object: Machine): void =>
    reported.machine({ type: 'deleted', key: `n/${object.metadata.name}`, object } as Change<Machine>);
  return { spans, change, became, gone };
}

const ROLLING = 'MachineSetUpdated';
const ARRIVED = 'NewMachineSetAvailable';

test('a rollout is one trace, with created, deleted and failed machines, pauses and missed deadlines below its root', async () => {
  const t = start(deployment(ARRIVED));
  const startMs = clock.now().getTime();
  t.change(deployment(ROLLING));
  t.became(machine('m-1', 'Running'), machine('m-1', 'Pending'));
  await clock.advance(10_000);
  t.gone(machine('m-0', 'Terminating', { deletionTimestamp: new Date(startMs + 4_000).toISOString() }));
  t.became(machine('m-2', 'Failed'), machine('m-2', 'Pending'));
  t.change(deployment(ROLLING, { paused: true }));
  await clock.advance(5_000);
  t.change(deployment(ROLLING));
  t.change(deployment('ProgressDeadlineExceeded'));
  t.change(deployment(ARRIVED));

  const root = t.spans.at(-1);
  expect(root).toMatchObject({
    name: 'rollout pool',
    traceId: traceIdOf('rollout', 'pool-uid', '2'),
    startMs,
    endMs: startMs + 15_000,
    attributes: { 'machine.deployment': 'pool', 'rollout.revision': '2', 'rollout.replicas': 2 },
  });
  expect(root?.parentId).toBeUndefined();
  expect(
    t.spans.slice(0, -1).map(({ name, startMs: from, endMs, error }) => [name, (endMs - from) / 1000, error]),
  ).toEqual([
    ['machine m-1 is created', 30, undefined],
    ['machine m-0 is deleted', 6, undefined],
    ['machine m-2 fails', 0, 'no quota'],
    ['paused', 5, undefined],
    ['stuck', 0, 'no progress for 10m'],
  ]);
  expect(new Set(t.spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(t.spans.slice(0, -1).every(({ parentId }) => parentId === root?.spanId)).toBe(true);
  expect(t.spans[0]?.attributes).toMatchObject({ 'machine.name': 'm-1', 'machine.class': 'green' });
});

test('a leader that starts midway continues the same trace, from the creation of the set', () => {
  const t = start(deployment(ROLLING));
  t.change(deployment(ARRIVED));
  expect(t.spans).toEqual([
    expect.objectContaining({
      traceId: traceIdOf('rollout', 'pool-uid', '2'),
      startMs: Date.parse(set.metadata.creationTimestamp),
    }),
  ]);
});

test('events outside of a rollout are not part of one', () => {
  const t = start(deployment(ARRIVED));
  t.became(machine('m-1', 'Running'), machine('m-1', 'Pending'));
  t.gone(machine('m-1', 'Terminating'));
  t.change(deployment(ARRIVED, { replicas: 3 }));
  t.change(deployment(ARRIVED, { paused: true }));
  t.change(deployment(ARRIVED));
  expect(t.spans).toEqual([]);
});
