import type { Node } from '@mcm/kube';
import { expect, test } from 'vitest';
import { NodeAnnotations } from '../../constants/annotations.ts';
import type { MachineConfigPool } from '../../kinds/machine-config-pool.ts';
import { judgeRollout } from './breaker.ts';

const { CurrentConfig, DesiredConfig, State } = NodeAnnotations;
const pool = { metadata: { name: 'p' }, spec: { configuration: { name: 'V1' } } } as unknown as MachineConfigPool;
const node = (name: string, [current, desired, state]: readonly string[], ready = 'True', spec = {}) =>
  ({
    metadata: { name, annotations: { [CurrentConfig]: current, [DesiredConfig]: desired, [State]: state } },
    ...{ spec, status: { conditions: [{ type: 'Ready', status: ready }] } },
  }) as unknown as Node;
const degraded = (count: number) =>
  Array.from({ length: count }, (_, index) => node(`n${index}`, ['V0', 'V1', 'Degraded']));

test.each([
  [4, 'n0, n1, n2, n3; no'],
  [5, 'n0, n1, n2, n3, n4; no'],
  [6, 'n0, n1, n2, n3, n4 and 1 more; no'],
  [8, 'n0, n1, n2, n3, n4 and 3 more; no'],
])('a halted rollout names five nodes and counts the others: %i', (count, names) => {
  const { halted, condition } = judgeRollout(pool, degraded(count), 2);
  expect([halted, condition?.message?.includes(`${count} nodes degraded on MachineConfig V1: ${names}`)]).toEqual([
    ...[true, true],
  ]);
});

test('the breaker halts at its limit, and never at 0', () => {
  expect([1, 2, 3].map((count) => judgeRollout(pool, degraded(count), 2).halted)).toEqual([false, true, true]);
  expect(judgeRollout(pool, degraded(9), 0)).toEqual({ halted: false });
});

test('nodes suffer that were told the target: Degraded, or not Ready on it unless somebody cordoned them', () => {
  const halts = (one: Node) => judgeRollout(pool, [one], 1).halted;
  expect(halts(node('a', ['V0', 'V0', 'Degraded']))).toBe(false);
  expect(halts(node('a', ['V0', 'V1', 'Working'], 'False'))).toBe(false);
  expect(halts(node('a', ['V1', 'V1', 'Done'], 'False'))).toBe(true);
  expect(halts(node('a', ['V1', 'V1', 'Done'], 'False', { unschedulable: true }))).toBe(false);
});
