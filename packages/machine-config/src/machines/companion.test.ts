import { Annotations, type ConditionStatus, type Machine } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { ConfigAnnotations } from '../constants/annotations.ts';
import { planCompanion, planRelease } from './companion.ts';

const machineWith = (annotations: Record<string, string>) => partial<Machine>({ metadata: { name: 'm', annotations } });
const nodeWith = (annotations: Record<string, string>) => partial<Node>({ metadata: { name: 'm', annotations } });

test('state, time, priority and pause of a former pool are removed, and annotations of other clients stay', () => {
  const { PriorityLowered, ConfigState, UpdateInProgressUntil, ScaleDownDisabledByUs } = ConfigAnnotations;
  const left = {
    [ConfigState]: 'Unreconcilable',
    [UpdateInProgressUntil]: 'x',
    [PriorityLowered]: 'true',
    [Annotations.Priority]: '1',
  };
  const held = { [Annotations.ScaleDownDisabled]: 'true', [ScaleDownDisabledByUs]: 'true', other: 'x' };
  expect(planRelease(machineWith(left), nodeWith(held))).toEqual({
    machine: {
      [ConfigState]: null,
      [UpdateInProgressUntil]: null,
      [PriorityLowered]: null,
      [Annotations.Priority]: '3',
    },
    node: { [Annotations.ScaleDownDisabled]: null, [ScaleDownDisabledByUs]: null },
  });
});

test('a machine that never belonged to a pool, and annotations of other clients, are not changed', () => {
  const others = { [Annotations.Priority]: '1' };
  const nothing = { machine: {}, node: {} };
  expect(planRelease(machineWith(others), nodeWith({ [Annotations.ScaleDownDisabled]: 'true' }))).toEqual(nothing);
  expect(planRelease(machineWith({}), undefined)).toEqual(nothing);
});

const NOW = Date.parse('2026-01-01T12:00:00Z');
const stateOf = (state: string, ready: ConditionStatus = 'True') =>
  partial<Node>({
    metadata: { name: 'm', annotations: { 'machineconfiguration.openshift.io/state': state } },
    status: { conditions: [{ type: 'Ready', status: ready }] },
  });

test('the priority of a machine that a user marked for deletion or changed is not restored [10.5]', () => {
  const { PriorityLowered, ConfigState } = ConfigAnnotations;
  const rankAfter = (annotations: Record<string, string>, state = 'Done') => {
    const all = { [ConfigState]: state, ...annotations };
    const { machine } = planCompanion(machineWith(all), stateOf(state), NOW);
    return [machine[PriorityLowered], machine[Annotations.Priority]];
  };
  const lowered = { [PriorityLowered]: 'true', [Annotations.Priority]: '1' };
  const marked = { [Annotations.MarkedForDeletionTime]: '2026-01-01T11:00:00Z' };
  expect(rankAfter(lowered)).toEqual([null, '3']);
  expect(rankAfter({ ...lowered, ...marked })).toEqual([null, undefined]);
  expect(rankAfter({ ...lowered, ...marked }, 'Unreconcilable')).toEqual([null, undefined]);
  expect(rankAfter({ [PriorityLowered]: 'true', [Annotations.Priority]: '2' })).toEqual([null, undefined]);
  expect(rankAfter(marked, 'Unreconcilable')).toEqual([undefined, undefined]);
  expect(rankAfter({}, 'Unreconcilable')).toEqual(['true', '1']);
});

test('an update may take an hour; the time is renewed while the node is Ready, and at once when it is Ready again [10.5]', () => {
  const { UpdateInProgressUntil: until, ConfigState } = ConfigAnnotations;
  const has = (left: number) => ({ [ConfigState]: 'Working', [until]: new Date(NOW + left).toISOString() });
  const hour = '2026-01-01T13:00:00.000Z';
  const plan = (left: number, ready: ConditionStatus) =>
    planCompanion(machineWith(has(left)), stateOf('Working', ready), NOW);
  expect(planCompanion(machineWith({}), stateOf('Working', 'False'), NOW).machine[until]).toBe(hour);
  expect(plan(1_300_000, 'True')).toMatchObject({ machine: {}, againMs: 101_000 });
  expect(plan(1_100_000, 'True').machine[until]).toBe(hour);
  expect(plan(1_100_000, 'False').machine).toEqual({});
});
