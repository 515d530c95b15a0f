import { Annotations, type MachinePhase } from '@mcm/api';
import { seededRandom } from '@mcm/kube';
import { expect, test } from 'vitest';
import { machine, NOW } from '../test-objects.ts';
import { chooseForDeletion, deletionOrder } from './deletion-order.ts';

const chosen = (machines: readonly ReturnType<typeof machine>[], count: number): string[] =>
  chooseForDeletion(machines, count, NOW).map(({ metadata }) => metadata.name);

test('of equal machines the oldest is deleted first, with any names', () => {
  const machines = [
    machine('a', { phase: 'Running', age: 5 }),
    machine('b', { phase: 'Running', age: 60 }),
    machine('c', { phase: 'Running', age: 30 }),
  ];
  expect(chosen(machines, 2)).toEqual(['b', 'c']);
});

test('of machines with equal age the name decides, so every pass selects the same', () => {
  const machines = ['c', 'a', 'b'].map((name) => machine(name, { phase: 'Running' }));
  expect(chosen(machines, 2)).toEqual(['a', 'b']);
  expect(chosen(machines.toReversed(), 2)).toEqual(['a', 'b']);
});

test('usefulness precedes age: a failed machine is deleted before an older running one', () => {
  const machines = [machine('old', { phase: 'Running', age: 600 }), machine('sick', { phase: 'Failed', age: 1 })];
  expect(chosen(machines, 1)).toEqual(['sick']);
});

test('a machine without its configuration is deleted before an older one with it, and after one that is not Running', () => {
  const made = (name: string, phase: MachinePhase, age: number, applied: object = {}) => {
    const one = machine(name, { phase, age });
    const annotations = { ...one.metadata.annotations, [Annotations.TemplateConfig]: 'rendered-a', ...applied };
    return { ...one, metadata: { ...one.metadata, annotations } };
  };
  const machines = [
    made('serves', 'Running', 600, { [Annotations.ConfigApplied]: 'true' }),
    machine('plain', { phase: 'Running', age: 300 }),
    made('new', 'Running', 1),
    machine('joining', { phase: 'Pending', age: 1 }),
  ];
  expect(chosen(machines, 3)).toEqual(['joining', 'new', 'serves']);
});

test('a machine of an unknown phase is deleted after a Failed one, and before one in creation', () => {
  const strange = machine('strange', { phase: 'Strange' as MachinePhase });
  expect(chosen([strange, machine('failed', { phase: 'Failed' })], 1)).toEqual(['failed']);
  expect(chosen([machine('pending', { phase: 'Pending' }), strange], 1)).toEqual(['strange']);
});

test('an expired preservation does not count: neither its requester nor its end', () => {
  const over = { preserve: 'auto-preserved', preservedUntil: -10, age: 5 };
  const machines = [machine('a', { phase: 'Failed', ...over }), machine('b', { phase: 'Failed', age: 60 })];
  expect(chosen(machines, 1)).toEqual(['b']);
  const ended = [-10, -5].map((preservedUntil, index) =>
    machine(`m${index}`, { phase: 'Failed', preservedUntil, age: 5 + 55 * index }),
  );
  expect(chosen(ended, 1)).toEqual(['m1']);
});

test('the selected machines are the first of all in order, for any number and input order', () => {
  const phases = ['Running', 'Failed', 'Pending', 'Unknown'] as const;
  const random = seededRandom(7);
  const pick = (below: number) => Math.floor(random.next() * below);
  for (let size = 1; size < 40; size++) {
    const machines = Array.from({ length: size }, (_, index) =>
      machine(`m-${(index * 7) % size}-${index}`, { phase: phases[pick(4)] ?? 'Running', age: pick(5) }),
    );
    const sorted = machines.toSorted(deletionOrder(NOW)).map(({ metadata }) => metadata.name);
    for (const count of [0, 1, 2, pick(size)]) {
      if (count < size) expect(chosen(machines, count)).toEqual(sorted.slice(0, count));
    }
  }
});
