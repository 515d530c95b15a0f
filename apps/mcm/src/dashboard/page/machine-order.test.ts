import type { Machine } from '@mcm/api';
import { type Change, type Informer, seededRandom } from '@mcm/kube';
import { expect, test } from 'vitest';
import { firstOf, MachineOrder, machineMood, phaseOf } from './machine-order.ts';

const PHASES = ['Running', 'Failed', 'Pending', '', 'Odd'];

const machine = (name: string, phase: string, going: boolean): Machine =>
  ({
    metadata: { name, ...(going ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}) },
    status: { currentStatus: { phase } },
  }) as Machine;

test('order and counts match all machines after any change', () => {
  const { next } = seededRandom(7);
  const all = new Map<string, Machine>();
  let tell: (change: Change<Machine>) => void = () => undefined;
  const inMood = (mood: string) => [...all.values()].filter((each) => machineMood(each) === mood);
  const store: Pick<Informer<Machine>['store'], 'get' | 'byIndex' | 'countByIndex'> = {
    get: (key) => all.get(key),
    byIndex: (_index, mood) => inMood(mood),
    countByIndex: (_index, mood) => inMood(mood).length,
  };
  const order = new MachineOrder({
    store,
    onChange(handler) {
      tell = handler;
      return () => undefined;
    },
  });
  const pick = (count: number): number => Math.floor(next() * count);
  for (let step = 0; step < 400; step += 1) {
    const key = `m-${pick(40)}`;
    const old = all.get(key);
    const object = machine(key, PHASES[pick(PHASES.length)] ?? '', pick(5) === 0);
    if (old !== undefined && pick(3) === 0) {
      all.delete(key);
      tell({ type: 'deleted', key, object: old });
    } else {
      all.set(key, object);
      tell(old === undefined ? { type: 'added', key, object } : { type: 'updated', key, object, old });
    }
    const there = [...all.values()];
    for (const most of [1, 5, 50]) expect(order.first(most)).toEqual(firstOf(there, most));
    const counts = Map.groupBy(there, phaseOf);
    expect(new Map(order.phases)).toEqual(new Map([...counts].map(([phase, group]) => [phase, group.length])));
  }
});
