import { Annotations } from '@mcm/api';
import { expect, test } from 'vitest';
import { mayDeleteFailed } from '../objects/preservation.ts';
import { validateSet } from '../objects/violations.ts';
import { chooseForDeletion } from './replicas/deletion-order.ts';
import { countMachines } from './status.ts';
import { machine, machinesOf, NOW, set } from './test-objects.ts';

const order = (machines: Parameters<typeof chooseForDeletion>[0]) =>
  chooseForDeletion(
    [...machines, machine('last', { phase: 'Running', preservedUntil: 999 })],
    machines.length,
    NOW,
  ).map(({ metadata }) => metadata.name);

test('a set whose template has no labels is refused by name [7.6]', () => {
  const { spec, ...rest } = set('ms', 1);
  const bare = { ...rest, spec: { ...spec, template: { spec: spec.template.spec } } };
  expect(validateSet(bare).map(({ field }) => field)).toEqual(['spec.selector.matchLabels']);
});

test('of two preserved ones the automatic one is deleted first, then the one that expires sooner [7.7]', () => {
  const kept = (name: string, preservedUntil: number, preserve: string) =>
    machine(name, { phase: 'Failed', preservedUntil, preserve });
  expect(order([kept('b', 10, 'now'), kept('a', 20, 'now'), kept('auto', 60, 'auto-preserved')])).toEqual([
    'auto',
    'b',
    'a',
  ]);
});

test('a marked machine precedes an unmarked one, and an earlier mark precedes a later one [7.7]', () => {
  const of = (name: string, marked?: number) =>
    machine(name, { phase: 'Running', ...(marked === undefined ? {} : { marked }) });
  expect(order([of('a'), of('b', 2), of('c', 1)])).toEqual(['c', 'b', 'a']);
});

test('if all machines are deleted, the list is not sorted [7.7]', () => {
  const all = [machine('b', { phase: 'Running' }), machine('a', { phase: 'Failed' })];
  expect(chooseForDeletion(all, 2, NOW).map(({ metadata }) => metadata.name)).toEqual(['b', 'a']);
});

test('minReadySeconds does not influence availability [7.8]', () => {
  const fresh = machinesOf(2, 'Running', 'm', { age: 0 });
  const [plain] = [set('ms', 2)];
  const patient = { ...plain, spec: { ...plain.spec, minReadySeconds: 3_600 } } as typeof plain;
  expect(countMachines(patient, fresh)).toEqual(countMachines(plain, fresh));
  expect(countMachines(patient, fresh).available).toBe(2);
});

test('a Running machine whose Node has a readiness taint is ready and not available [7.8]', () => {
  const [one, other] = machinesOf(2, 'Running');
  const annotations = { [Annotations.AwaitsReadiness]: '2026-01-01T00:00:00Z readiness.k8s.io/network' };
  const tainted = { ...one, metadata: { ...one?.metadata, annotations } } as typeof one;
  const counts = countMachines(
    set('ms', 2),
    [tainted, other].flatMap((each) => each ?? []),
  );
  expect(counts).toMatchObject({ replicas: 2, ready: 2, available: 1 });
});

test.each([
  [1, false],
  [0, true],
  [-1, true],
])('a preservation that ends now has ended: in %i minutes [A-08]', (preservedUntil, goes) => {
  const kept = machine('m', { phase: 'Failed', preservedUntil, preserve: 'now' });
  expect(mayDeleteFailed(kept, () => ({}), NOW)).toBe(goes);
});

test.each([
  ['', '', false],
  ['', 'now', true],
  ['now', '', false],
  ['false', '', true],
  ['when-failed', 'now', false],
  ['yes', '', false],
  ['yes', 'now', true],
])(
  '7.11 a value that was removed from the node does not apply to the machine either: %j on the node, %j applied',
  (onNode, applied, goes) => {
    const base = machine('m', { phase: 'Failed', preserve: 'now', labels: { node: 'n' } });
    const annotations = {
      ...base.metadata.annotations,
      ...(applied ? { [Annotations.LastAppliedNodePreserve]: applied } : {}),
    };
    const one = { ...base, metadata: { ...base.metadata, annotations } };
    const onNodes = () => (onNode ? { [Annotations.Preserve]: onNode } : {});
    expect(mayDeleteFailed(one, onNodes, NOW)).toBe(goes);
  },
);

test.each([
  ['', 'now', false],
  ['', 'false', true],
  ['', '', true],
  ['false', 'now', true],
  ['later', 'now', false],
])('7.11 a node that is gone leaves its last value: %j on the machine, %j applied', (preserve, applied, goes) => {
  const base = machine('m', { phase: 'Failed', preserve, labels: { node: 'n' } });
  const annotations = { ...base.metadata.annotations, [Annotations.LastAppliedNodePreserve]: applied };
  const one = { ...base, metadata: { ...base.metadata, annotations } };
  expect(mayDeleteFailed(one, () => undefined, NOW)).toBe(goes);
});
