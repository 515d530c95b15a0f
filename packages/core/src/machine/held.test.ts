import { Annotations, type Machine, type MachineStatus } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { MACHINE_DEFAULTS, settingsOf } from '../settings/settings.ts';
import { planDeletion } from './deletion/deletion.ts';
import type { MachineObservation } from './model/observation.ts';
import { at, machine, NOON, node } from './testing.ts';

const NOTED = { [Annotations.DeletedForHealth]: 'True' };
const BREAKER = { scope: 'zone a', unreachable: 3, joined: 4 };

const status = (phase: 'Failed' | 'Terminating', description: string): MachineStatus => ({
  currentStatus: { phase, lastUpdateTime: at(-5) },
  lastOperation: { description, state: 'Processing', type: 'Delete', lastUpdateTime: at(-5) },
});

const dying = (from: MachineStatus, metadata: Partial<Machine['metadata']> = {}): Machine =>
  machine({
    metadata: { deletionTimestamp: at(-5), labels: { node: 'fakeNode-0' }, ...metadata },
    spec: { providerID: 'fakeID-0' },
    status: from,
  });

const seen = (of: Machine, change: Partial<MachineObservation> = {}): MachineObservation => ({
  machine: of,
  settings: settingsOf(of, MACHINE_DEFAULTS),
  inputs: '',
  asksForToken: false,
  hasTarget: true,
  node: node({ spec: { unschedulable: true } }),
  frozen: false,
  calls: {},
  driver: { initialize: false, status: true },
  replacementsInProgress: 0,
  deletedForHealth: true,
  ...change,
});

const plan = (of: Machine, change: Partial<MachineObservation> = {}) => planDeletion(seen(of, change), NOON);
const verbs = (of: Machine, change: Partial<MachineObservation> = {}) => plan(of, change).actions.map((a) => a.do);

const DRAINING = status('Terminating', 'Initiate node drain');

describe('the note that the machine was Failed', () => {
  test('the note that the machine was Failed is stored on the Machine before the phase changes', () => {
    const [first] = plan(dying(status('Failed', 'health checks failing'))).actions;
    expect(first).toEqual({ do: 'annotate', annotations: NOTED });
  });

  test('the note that the machine was Failed is stored once', () => {
    const [first] = plan(dying(status('Failed', 'health checks failing'), { annotations: NOTED })).actions;
    expect(first).toMatchObject({ do: 'writeStatus', status: { currentStatus: { phase: 'Terminating' } } });
  });

  test('the note that the machine was Failed is not stored for a healthy machine', () => {
    expect(verbs(dying(status('Failed', '')), { deletedForHealth: false })).toEqual(['writeStatus']);
  });
});

describe('with an open circuit breaker', () => {
  test('before the deletion has begun nothing is written, and only events and timeouts cause the next reconcile', () => {
    const held = plan(dying(status('Failed', 'health checks failing')), { breaker: BREAKER });
    expect(held.actions).toEqual([]);
    expect(held.next).toEqual({ kind: 'wait' });
    const lookAgainAt = new Date(at(3));
    const until = plan(dying(status('Failed', 'health checks failing')), { breaker: { ...BREAKER, lookAgainAt } });
    expect(until.next).toEqual({ kind: 'waitUntil', instant: lookAgainAt });
    expect(held.because).toContain('3 of 4 machines of the zone a became unreachable at the same time');
  });

  test('a drain stops and reports the reason once', () => {
    const [said] = plan(dying(DRAINING), { breaker: BREAKER }).actions;
    const description = 'Waiting: too many machines of the zone a are unreachable. Initiate node drain';
    expect(said).toMatchObject({ do: 'writeStatus', status: { lastOperation: { description } } });
    expect(verbs(dying(status('Terminating', description)), { breaker: BREAKER })).toEqual([]);
  });

  test('a lookup stops as well', () => {
    const begun = dying(status('Terminating', 'Set machine status to termination. Now, getting VM Status'));
    const [said] = plan(begun, { breaker: BREAKER }).actions;
    expect(said).toMatchObject({
      status: {
        lastOperation: { description: expect.stringMatching(/unreachable\. Set machine status to termination/) },
      },
    });
  });

  const goesOn: readonly (readonly [string, Machine, Partial<MachineObservation>])[] = [
    ['force-deletion', dying(DRAINING, { labels: { node: 'fakeNode-0', 'force-deletion': 'true' } }), {}],
    ['a machine that was healthy', dying(DRAINING), { deletedForHealth: false }],
    ['a VM deletion that has started', dying(status('Terminating', 'Drain successful. Initiate VM deletion')), {}],
    [
      'a VM that is already deleted',
      dying(DRAINING),
      { calls: { last: { kind: 'delete', at: NOON, outcome: { ok: true }, failures: 0, inputs: '' } } },
    ],
    [
      "an operator's override",
      dying(DRAINING, { annotations: { [Annotations.BreakerOverride]: `${at(60)} power cut` } }),
      {},
    ],
  ];
  test.each(goesOn)('%s is not stopped', (_, of, change) => {
    expect(plan(of, { breaker: BREAKER, ...change }).because).not.toContain('became unreachable at the same time');
  });
});

test('with a closed circuit breaker the deletion continues', () => {
  expect(plan(dying(DRAINING)).because).not.toContain('became unreachable at the same time');
});
