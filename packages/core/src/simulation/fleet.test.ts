import { API_VERSION, type Machine } from '@mcm/api';
import { seededRandom } from '@mcm/kube';
import { expect, test } from 'vitest';
import { isAvailable } from '../objects/machines.ts';
import { SimulatedFleet } from './fleet.ts';

interface Parts {
  readonly set?: string;
  readonly node?: string;
  readonly phase?: string;
}

const machine = (uid: string, { set, node, phase = 'Running' }: Parts = {}): Machine =>
  ({
    apiVersion: API_VERSION,
    kind: 'Machine',
    metadata: {
      name: uid,
      namespace: 'test',
      uid,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T12:00:00Z',
      labels: node === undefined ? {} : { node },
      ownerReferences:
        set === undefined
          ? []
          : [{ apiVersion: API_VERSION, kind: 'MachineSet', name: set, uid: set, controller: true }],
    },
    spec: { class: { kind: 'MachineClass', name: 'small' } },
    status: { currentStatus: { phase, lastUpdateTime: '2026-01-01T12:00:00Z' } },
  }) as Machine;

const names = (machines: readonly Machine[]): string[] => machines.map(({ metadata }) => metadata.name);

function fleetOf(...machines: readonly Machine[]): SimulatedFleet {
  const fleet = new SimulatedFleet();
  for (const each of machines) fleet.put(each);
  return fleet;
}

test('a changed machine keeps its place in its set; one that is handed over becomes the last of the other set', () => {
  const fleet = fleetOf(machine('a', { set: 'old' }), machine('b', { set: 'old' }), machine('c', { set: 'new' }));
  fleet.put(machine('a', { set: 'old', phase: 'Unknown' }));
  expect(names(fleet.of('old'))).toEqual(['a', 'b']);
  fleet.put(machine('a', { set: 'new' }));
  expect([names(fleet.of('old')), names(fleet.of('new'))]).toEqual([['b'], ['c', 'a']]);
  expect(names(fleet.all())).toEqual(['a', 'b', 'c']);
});

test('the list of a set is created again only when one of its machines changes', () => {
  const fleet = fleetOf(machine('a', { set: 'old' }), machine('b', { set: 'new' }));
  const before = fleet.of('old');
  fleet.put(machine('b', { set: 'new', phase: 'Failed' }));
  expect(fleet.of('old')).toBe(before);
  fleet.put(machine('a', { set: 'old', phase: 'Failed' }));
  expect(fleet.of('old')[0]?.status?.currentStatus?.phase).toBe('Failed');
});

test('a node belongs to the first of several machines, and to the next one after its deletion', () => {
  const fleet = fleetOf(machine('a', { node: 'n' }), machine('b', { node: 'n' }), machine('c'));
  expect(fleet.on('n')?.metadata.name).toBe('a');
  fleet.delete('a');
  expect(fleet.on('n')?.metadata.name).toBe('b');
  fleet.put(machine('b', { node: 'm' }));
  expect([fleet.on('n'), fleet.on('m')?.metadata.name]).toEqual([undefined, 'b']);
});

test.each([1, 2, 3])('after any changes it equals a full scan (seed %i)', (seed) => {
  const random = seededRandom(seed);
  const one = <T>(of: readonly [T, ...T[]]): T => of[Math.floor(random.next() * of.length)] ?? of[0];
  const fleet = new SimulatedFleet();
  const there = new Map<string, Machine>();
  for (let change = 0; change < 100; change++) {
    const uid = one(['a', 'b', 'c', 'd', 'e']);
    if (random.next() < 0.2) {
      fleet.delete(uid);
      there.delete(uid);
    } else {
      const parts = { set: one(['x', 'y']), node: one(['m', 'n']), phase: one(['Running', 'Unknown', 'Pending']) };
      fleet.put(machine(uid, parts));
      there.set(uid, machine(uid, parts));
    }
    const all = [...there.values()];
    const inSet = (set: string) => all.filter(({ metadata }) => metadata.ownerReferences?.[0]?.uid === set);
    const onNode = (node: string) => all.some(({ metadata }) => metadata.labels?.node === node);
    expect([
      ...[fleet.size, fleet.available],
      ...['x', 'y'].map((set) => names(fleet.of(set)).sort()),
      ...['m', 'n'].map((node) => fleet.on(node)?.metadata.labels?.node === node),
    ]).toEqual([
      ...[all.length, all.filter((each) => isAvailable(each)).length],
      ...['x', 'y'].map((set) => names(inSet(set)).sort()),
      ...['m', 'n'].map(onNode),
    ]);
  }
});
