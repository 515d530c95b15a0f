import type { ConditionStatus } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { NodeAnnotations } from '../../constants/annotations.ts';
import type { MachineConfigPool } from '../../kinds/machine-config-pool.ts';
import { evaluateRollout } from './breaker.ts';

const { CurrentConfig, DesiredConfig, State } = NodeAnnotations;
const pool = partial<MachineConfigPool>({ metadata: { name: 'p' }, spec: { configuration: { name: 'V1' } } });
const node = (name: string, [current, desired, state]: readonly string[], ready: ConditionStatus = 'True', spec = {}) =>
  partial<Node>({
    metadata: { name, annotations: { [CurrentConfig]: current, [DesiredConfig]: desired, [State]: state } },
    spec,
    status: { conditions: [{ type: 'Ready', status: ready }] },
  });
const degraded = (count: number) =>
  Array.from({ length: count }, (_, index) => node(`n${index}`, ['V0', 'V1', 'Degraded']));

test.each([
  [4, 'n0, n1, n2, n3. No'],
  [5, 'n0, n1, n2, n3, n4. No'],
  [6, 'n0, n1, n2, n3, n4 and 1 more. No'],
  [8, 'n0, n1, n2, n3, n4 and 3 more. No'],
])('a stopped rollout names five nodes and counts the others: %i', (count, names) => {
  const { halted, condition } = evaluateRollout(pool, degraded(count), 2);
  expect([
    halted,
    condition?.message?.includes(`${count} nodes became Degraded with MachineConfig V1: ${names}`),
  ]).toEqual([...[true, true]]);
});

test('the circuit breaker stops the rollout at its limit, and never at 0', () => {
  expect([1, 2, 3].map((count) => evaluateRollout(pool, degraded(count), 2).halted)).toEqual([false, true, true]);
  expect(evaluateRollout(pool, degraded(9), 0)).toEqual({ halted: false });
});

test('a node with the target counts if it is Degraded, or if it is neither Ready nor cordoned', () => {
  const halts = (one: Node) => evaluateRollout(pool, [one], 1).halted;
  expect(halts(node('a', ['V0', 'V0', 'Degraded']))).toBe(false);
  expect(halts(node('a', ['V0', 'V1', 'Working'], 'False'))).toBe(false);
  expect(halts(node('a', ['V1', 'V1', 'Done'], 'False'))).toBe(true);
  expect(halts(node('a', ['V1', 'V1', 'Done'], 'False', { unschedulable: true }))).toBe(false);
});
