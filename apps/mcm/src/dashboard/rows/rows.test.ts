import { Annotations, API_VERSION, type Machine, type MachineDeployment } from '@mcm/api';
import { MACHINE_DEFAULTS } from '@mcm/core';
import type { MachineConfigPool } from '@mcm/machine-config';
import { describe, expect, test } from 'vitest';
import type { ControllerHealth } from '../../controllers/health.ts';
import { deploymentRow } from './deployment-row.ts';
import { type AssessedRow, machineRow } from './machine-row.ts';
import { poolRow } from './other-rows.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const MINUTE = 60_000;
const at = (minutes: number): string => new Date(START + minutes * MINUTE).toISOString();

const machine = (phase: string, more: { deleted?: boolean; state?: string; node?: string } = {}): Machine =>
  ({
    apiVersion: API_VERSION,
    kind: 'Machine',
    metadata: {
      name: 'm',
      namespace: 'default',
      uid: 'u',
      resourceVersion: '1',
      creationTimestamp: at(0),
      ...(more.deleted && { deletionTimestamp: at(0) }),
      ...(more.node && { labels: { node: more.node } }),
    },
    spec: { class: { kind: 'MachineClass', name: 'small' }, providerID: 'local:///m' },
    status: {
      currentStatus: { phase, lastUpdateTime: at(0) },
      lastOperation: { description: 'doing', state: more.state ?? 'Processing', type: 'Create', lastUpdateTime: at(0) },
    },
  }) as never;

const around = {
  deployment: 'web',
  machineClass: { metadata: {} } as never,
  classesAreKnown: true,
  node: undefined,
  blockers: [],
};
const health = (name: ControllerHealth['name'], unprocessed: readonly string[] = []): readonly ControllerHealth[] => [
  { name, state: unprocessed.length > 0 ? 'behind' : 'stopped', reason: 'r', effects: ['e'], unprocessed },
];
const assess = (
  of: Machine,
  minutes: number,
  before?: AssessedRow,
  more: { controllers?: readonly ControllerHealth[]; blockers?: readonly string[] } = {},
) =>
  machineRow(of, { ...around, defaults: MACHINE_DEFAULTS, controllers: [], ...more }, START + minutes * MINUTE, before);

describe('the level of a machine over time', () => {
  test('a machine that starts is blue, amber after half of its creation timeout of 20 min, and red after it', () => {
    let known: AssessedRow | undefined;
    const levels = [0, 9.9, 10, 19.9, 20].map((minutes) => {
      known = assess(machine('Pending'), minutes, known);
      return [known.row.level, known.risesAt && (known.risesAt - START) / MINUTE];
    });
    expect(levels).toEqual([
      ['starting', 10],
      ['starting', 10],
      ['blocked', 20],
      ['blocked', 20],
      ['failed', undefined],
    ]);
  });

  test('a refused create is amber, and red ten minutes after its start, although each retry changes the status', () => {
    let known = assess(machine('CrashLoopBackOff', { state: 'Failed' }), 0);
    expect(known.row).toMatchObject({ level: 'blocked', since: START });
    for (const minutes of [3, 6, 9.9]) {
      const retried = machine('CrashLoopBackOff', { state: 'Failed' });
      known = assess(
        {
          ...retried,
          status: { ...retried.status, currentStatus: { phase: 'CrashLoopBackOff', lastUpdateTime: at(minutes) } },
        } as never,
        minutes,
        known,
      );
      expect([known.row.level, known.row.since, known.risesAt]).toEqual(['blocked', START, START + 10 * MINUTE]);
    }
    expect(assess(machine('CrashLoopBackOff', { state: 'Failed' }), 10, known).row.level).toBe('failed');
  });

  test('a drain is gray, amber while a budget blocks it, and red after ten minutes', () => {
    const draining = machine('Terminating', { deleted: true, node: 'n' });
    const free = assess(draining, 1);
    expect(free.row).toMatchObject({ level: 'leaving', stage: 'drain' });
    const blocked = assess(draining, 2, free, { blockers: ['budget web'] });
    expect(blocked.row).toMatchObject({ level: 'blocked', why: 'the drain of the machine is blocked: budget web' });
    expect(assess(draining, 11.9, blocked, { blockers: ['budget web'] }).row.level).toBe('blocked');
    expect(assess(draining, 12, blocked, { blockers: ['budget web'] }).row.level).toBe('failed');
    expect(assess(draining, 13, blocked).row.level).toBe('leaving');
  });

  test.each([
    ['Running', 'ready'],
    ['Failed', 'failed'],
    ['Unknown', 'blocked'],
  ])('a machine in phase %s is %s', (phase, level) => {
    expect(assess(machine(phase), 0).row.level).toBe(level);
  });
});

describe('rows of objects whose controller is not working', () => {
  const stopped = health('machine-controller');

  test.each([
    ['starts', machine('Pending')],
    ['is drained', machine('Terminating', { deleted: true, node: 'n' })],
  ])('a machine that %s is blocked, and no result of a deadline is shown', (_, of) => {
    expect(assess(of, 1, undefined, { controllers: stopped }).row).toMatchObject({
      level: 'blocked',
      why: expect.stringMatching(/^machine-controller is not working; last report: /),
    });
    expect(assess(of, 1).row.level).not.toBe('blocked');
  });

  test('a Running machine stays ready, and a stopped manager does not change machines', () => {
    expect(assess(machine('Running'), 1, undefined, { controllers: stopped }).row.level).toBe('ready');
    const ofManager = { controllers: health('machine-controller-manager') };
    expect(assess(machine('Pending'), 1, undefined, ofManager).row.level).toBe('starting');
  });

  const deployment = (generation: number, more: object = {}): MachineDeployment =>
    ({
      apiVersion: API_VERSION,
      kind: 'MachineDeployment',
      metadata: { name: 'web', namespace: 'default', uid: 'd', generation, ...more },
      spec: { replicas: 3, selector: {}, template: { spec: { class: { kind: 'MachineClass', name: 'small' } } } },
      status: { observedGeneration: 1, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3 },
    }) as never;
  const state = (of: MachineDeployment, controllers: readonly ControllerHealth[], minutes = 0) =>
    deploymentRow(of, START + minutes * MINUTE, undefined, controllers).row;

  test('a rollout without its manager is blocked, and a complete one stays complete', () => {
    const manager = health('machine-controller-manager');
    expect(state(deployment(1), [])).toMatchObject({ state: 'complete', why: '' });
    expect(state(deployment(1), manager).state).toBe('complete');
    expect(state(deployment(2), [])).toMatchObject({ state: 'scaling' });
    expect(state(deployment(2), manager)).toMatchObject({
      state: 'blocked',
      why: 'machine-controller-manager is not working on the deployment',
    });
    expect(state(deployment(1, { deletionTimestamp: at(0) }), manager).state).toBe('blocked');
  });

  test('a rollout that needs VMs is blocked without the machine controller, and a complete one stays complete', () => {
    expect(state(deployment(1), stopped).state).toBe('complete');
    expect(state(deployment(2), stopped)).toMatchObject({
      state: 'blocked',
      why: 'machine-controller is not working, so no VM is created or deleted',
    });
  });

  test('a row names the zones that get no machines', () => {
    const annotations = {
      [Annotations.Zones]: '[{"zone":"a"},{"zone":"b"},{"zone":"c"}]',
      [Annotations.ZonesEvacuated]: 'b',
      [Annotations.ZonesStandby]: 'c=2026-01-01T00:00:00Z',
    };
    expect(state(deployment(1, { annotations }), []).closedZones).toBe(
      'Zone b is evacuated. Zone c is on standby since 2026-01-01T00:00:00Z.',
    );
    expect(state(deployment(1), []).closedZones).toBe('');
  });

  test('a change that a working manager does not process blocks only its own deployment', () => {
    expect(state(deployment(2), health('machine-controller-manager', ['web'])).state).toBe('blocked');
    expect(state(deployment(2), health('machine-controller-manager', ['db'])).state).toBe('scaling');
  });

  test('after ten minutes without a working controller, an object is shown as failed', () => {
    const manager = health('machine-controller-manager');
    const first = deploymentRow(deployment(2), START, undefined, manager);
    expect(first.risesAt).toBe(START + 10 * MINUTE);
    expect(deploymentRow(deployment(2), START + 10 * MINUTE, first, manager).row.state).toBe('failed');
  });
});

describe('rows of rollouts that wait', () => {
  const waiting = (reason: string, more: readonly object[] = []): MachineDeployment =>
    ({
      apiVersion: API_VERSION,
      kind: 'MachineDeployment',
      metadata: { name: 'web', namespace: 'default', uid: 'd', generation: 1 },
      spec: { replicas: 3, selector: {}, template: { spec: { class: { kind: 'MachineClass', name: 'small' } } } },
      status: {
        ...{ observedGeneration: 1, replicas: 3, updatedReplicas: 0, readyReplicas: 3, availableReplicas: 3 },
        conditions: [
          ...more,
          { type: 'RolloutWaiting', status: 'True', reason, message: reason, lastTransitionTime: at(0) },
        ],
      },
    }) as never;
  const later = (of: MachineDeployment) =>
    deploymentRow(of, START + 60 * MINUTE, deploymentRow(of, START, undefined, []), []).row;

  test.each(['OutsideWindow', 'InFreeze', 'NodePostponed'])('%s is no problem at any time', (reason) => {
    expect(later(waiting(reason))).toMatchObject({ state: 'waiting', why: reason, since: START });
  });

  test('an invalid window fails after ten minutes, and another problem has precedence', () => {
    expect(later(waiting('InvalidWindow')).state).toBe('failed');
    const problem = { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'no quota' };
    expect(later(waiting('InFreeze', [problem]))).toMatchObject({ state: 'failed', why: 'no quota' });
  });

  test('a rollout without its manager is blocked', () => {
    const manager = health('machine-controller-manager');
    expect(deploymentRow(waiting('InFreeze'), START, undefined, manager).row.state).toBe('blocked');
  });
});

describe('rows of machine config pools', () => {
  const pool = (status: object, spec: object = {}): MachineConfigPool =>
    ({ metadata: { name: 'worker' }, spec, status }) as never;

  test.each([
    ['all nodes are updated', { machineCount: 3, updatedMachineCount: 3 }, 'ready'],
    ['an update is in progress', { machineCount: 3, updatedMachineCount: 1 }, 'starting'],
    ['a node is degraded', { machineCount: 3, updatedMachineCount: 3, degradedMachineCount: 1 }, 'failed'],
    ['the pool has no status yet', {}, 'ready'],
  ])('%s', (_, status, level) => {
    expect(poolRow(pool(status)).level).toBe(level);
  });

  test('a pool that cannot be rendered is failed, with the message of its condition', () => {
    const conditions = [
      { type: 'Updated', status: 'False', message: 'no' },
      { type: 'RenderDegraded', status: 'True', message: 'conflicting files' },
      { type: 'NodeDegraded', status: 'False', message: '' },
    ];
    expect(poolRow(pool({ machineCount: 1, updatedMachineCount: 1, conditions }, { paused: true }))).toMatchObject({
      level: 'failed',
      why: 'conflicting files',
      paused: true,
      nodes: 1,
    });
  });
});

test('the row of an interrupted machine shows the deadline of the cloud, and is due shortly before it', () => {
  const notice = { kind: 'Terminate', id: 'n', noticedAt: at(0), deadline: at(2), detail: 'spot' };
  const going = machine('Terminating', { deleted: true, node: 'n' });
  const annotations = { 'node.machine.sapcloud.io/interruption': JSON.stringify(notice) };
  const { row, risesAt } = assess({ ...going, metadata: { ...going.metadata, annotations } }, 1);
  expect(row.why).toContain('the cloud interrupts the VM (Terminate, deadline 2026-01-01T00:02:00Z)');
  expect([row.level, risesAt]).toEqual(['leaving', START + 2 * MINUTE - 10_000]);
});
