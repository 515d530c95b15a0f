import type { Condition } from '@mcm/kube';
import { expect, test } from 'vitest';
import { condition, node } from '../machine/testing.ts';
import {
  conditionsDiffer,
  describeUnhealthy,
  isHealthy,
  mirrored,
  readinessTaints,
  waitsForCriticalComponents,
} from './conditions.ts';
import { MACHINE_DEFAULTS } from './settings.ts';

const base = { DiskPressure: 'False', MemoryPressure: 'False', NetworkUnavailable: 'False', Ready: 'True' } as const;

test.each<[row: string, type: string, True: boolean, False: boolean, Unknown: boolean]>([
  ['S-H1', 'Ready', true, false, false],
  ['S-H2', 'DiskPressure', false, true, false],
  ['S-H3', 'MemoryPressure', true, true, true],
  ['S-H4', 'NetworkUnavailable', false, true, false],
])('%s %s True/False/Unknown', (_row, type, ...expected) => {
  const assessed = (['True', 'False', 'Unknown'] as const).map((status) =>
    isHealthy(
      Object.entries({ ...base, [type]: status }).map(([t, s]) => condition(t, s)),
      MACHINE_DEFAULTS.unhealthyConditionTypes,
    ),
  );
  expect(assessed).toEqual(expected);
});

test('without conditions a node is not healthy [S-H5]', () => {
  expect(isHealthy([], MACHINE_DEFAULTS.unhealthyConditionTypes)).toBe(false);
});

const critical = 'node.gardener.cloud/critical-components-not-ready';

test.each([
  ['S-H6 no taints', [], false],
  ['S-H6 another taint', [{ key: 'unrelated', effect: 'NoSchedule' }], false],
  ['S-H7 the taint', [{ key: critical, effect: 'NoSchedule' }], true],
  ['S-H8 the taint with another effect', [{ key: critical, effect: 'NoExecute' }], false],
])('%s', (_row, taints, waits) => {
  expect(waitsForCriticalComponents(node({ spec: { taints } }))).toBe(waits);
});

test('readiness taints count with any effect, and other taints do not', () => {
  const taints = [
    { key: critical, effect: 'NoSchedule' },
    { key: 'readiness.k8s.io/network', effect: 'NoExecute' },
    { key: 'example.com/readiness.k8s.io', effect: 'NoSchedule' },
  ];
  expect(readinessTaints(node({ spec: { taints } }))).toEqual(['readiness.k8s.io/network']);
  expect(readinessTaints(node({ spec: {} }))).toEqual([]);
});

test.each<[row: string, change: (c: Condition[]) => Condition[], differ: boolean]>([
  ['the same', (c) => c, false],
  [
    'another heartbeat, reason and message',
    (c) => c.map((x) => ({ ...x, lastHeartbeatTime: 'x', reason: 'r', message: 'm' })),
    false,
  ],
  ['another status', (c) => c.map((x) => ({ ...x, status: 'Unknown' as const })), true],
  ['a new type', (c) => [...c, condition('New', 'True')], true],
  ['a type gone', (c) => c.slice(1), true],
  ['another type in its place', (c) => [...c.slice(1), condition('New', 'False')], true],
])('mirror: %s', (_row, change, differ) => {
  const conditions = Object.entries(base).map(([t, s]) => condition(t, s));
  expect(conditionsDiffer(mirrored(conditions), change(conditions))).toBe(differ);
});

test('copied conditions: another reason of an in-place update', () => {
  const inPlace: Condition = { ...condition('InPlaceUpdate', 'True'), reason: 'CandidateForUpdate' };
  expect(conditionsDiffer(mirrored([inPlace]), [{ ...inPlace, reason: 'SelectedForUpdate' }])).toBe(true);
});

test('only the unhealthy conditions are reported', () => {
  const types = MACHINE_DEFAULTS.unhealthyConditionTypes;
  const conditions = Object.entries(base).map(([t, s]) => condition(t, s));
  expect(describeUnhealthy(conditions, types)).toBe('');
  expect(describeUnhealthy([], types)).toBe('the Node of the machine has no conditions');
  const unreachable = { ...condition('Ready', 'Unknown'), reason: 'NodeStatusUnknown', message: 'Kubelet stopped.' };
  expect(describeUnhealthy([condition('DiskPressure', 'Unknown'), unreachable], types)).toBe(
    'Ready is Unknown (NodeStatusUnknown: Kubelet stopped.)',
  );
  const pressed = [
    ...conditions.filter(({ type }) => type !== 'Ready'),
    unreachable,
    condition('KernelDeadlock', 'True'),
  ];
  expect(describeUnhealthy([...pressed, condition('MemoryPressure', 'True')], types)).toBe(
    'Ready is Unknown (NodeStatusUnknown: Kubelet stopped.), KernelDeadlock is True',
  );
});
