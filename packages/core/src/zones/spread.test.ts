import { Annotations, type Machine, type MachinePhase } from '@mcm/api';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { chooseForDeletion, deletionOrder } from '../set/replicas/deletion-order.ts';
import { machine, NOW } from '../set/test-objects.ts';
import { type Place, placesFor } from './places.ts';
import { zoneRanks, zoneRooms } from './ranks.ts';
import { parseZones } from './setting.ts';
import { zoneOfMachine, zoneStates } from './spread.ts';

const LIST = JSON.stringify([{ zone: 'a' }, { zone: 'b' }, { zone: 'c' }]);
const settingOf = (annotations: Record<string, string> = {}) => {
  const { setting } = parseZones({ metadata: { annotations: { [Annotations.Zones]: LIST, ...annotations } } });
  if (!setting) throw new Error('the setting is invalid');
  return setting;
};

let serial = 0;
function inZone(zone: string, phase: MachinePhase = 'Running', deleting = false): Machine {
  const one = machine(`m${++serial}`, { phase, deleting });
  const annotations = { ...one.metadata.annotations, [Annotations.ZoneOffering]: JSON.stringify({ zone }) };
  return { ...one, metadata: { ...one.metadata, annotations } };
}

const nameOf = ({ zone }: Place): string => zone.name;
const zones = fc.constantFrom('a', 'b', 'c');
const spreadOf = (names: readonly string[], among = ['a', 'b', 'c']): number => {
  const counts = among.map((zone) => names.filter((name) => name === zone).length);
  return Math.max(...counts) - Math.min(...counts);
};

test('new machines never increase an imbalance of more than one', () => {
  fc.assert(
    fc.property(fc.array(zones, { maxLength: 12 }), fc.nat(12), (names, count) => {
      const machines = names.map((zone) => inZone(zone));
      const wanted = names.length + count;
      const places = placesFor(zoneStates({ setting: settingOf(), machines }), { count, wanted }).map(nameOf);
      expect(spreadOf([...names, ...places])).toBeLessThanOrEqual(Math.max(spreadOf(names), 1));
      expect(places).toHaveLength(count);
    }),
  );
});

test('deletions never increase an imbalance of more than one', () => {
  fc.assert(
    fc.property(fc.array(zones, { maxLength: 12 }), fc.nat(12), (names, count) => {
      const machines = names.map((zone) => inZone(zone));
      const input = { setting: settingOf(), machines };
      const ordered = chooseForDeletion(machines, machines.length, NOW);
      const ranks = zoneRanks(input, zoneStates(input), ordered, {
        replicas: names.length - count,
        wanted: names.length - count,
      });
      const gone = chooseForDeletion(machines, count, NOW, undefined, ranks);
      const left = names.filter((_name, i) => !gone.some((one) => one === machines[i]));
      expect(spreadOf(left)).toBeLessThanOrEqual(Math.max(spreadOf(names), 1));
    }),
  );
});

const placed = (annotations: Record<string, string>, machines: readonly Machine[], count: number) =>
  placesFor(zoneStates({ setting: settingOf(annotations), machines }), {
    count,
    wanted: machines.filter((one) => one.metadata.deletionTimestamp === undefined).length + count,
  }).map(nameOf);
const standby = { [Annotations.ZonesStandby]: 'b=2026-01-01T11:00:00Z' };

test.each<[what: string, annotations: Record<string, string>, machines: readonly Machine[], places: string[]]>([
  ['an evacuated zone gets none', { [Annotations.ZonesEvacuated]: 'a' }, [], ['b', 'c', 'b']],
  ['a zone on standby gets none', standby, [inZone('b', 'Unknown')], ['a', 'c', 'a']],
  ['a zone on standby with an available machine gets some', standby, [inZone('b')], ['a', 'c', 'b']],
  ['a lost zone gets none', {}, [inZone('a', 'Unknown'), inZone('a', 'Failed')], ['b', 'c', 'b']],
  ['one machine that is down is no lost zone', {}, [inZone('a', 'Unknown')], ['b', 'c', 'a']],
  ['if all zones are lost, all get some', {}, [...'aabbcc'].map((zone) => inZone(zone, 'Unknown')), ['a', 'b', 'c']],
  [
    'among equal zones, the one that loses a machine comes first',
    {},
    [inZone('a'), inZone('b'), inZone('c'), inZone('c', 'Running', true)],
    ['c', 'a', 'b'],
  ],
])('%s', (_what, annotations, machines, places) => {
  expect(placed(annotations, machines, 3)).toEqual(places);
});

test.each<[what: string, annotations: Record<string, string>, staying: string, lost: string[], place: string]>([
  [
    'stays in the zone of the lost machine',
    {},
    'a',
    ['c'],
    'c because the new machine replaces a machine of this zone',
  ],
  [
    'leaves an evacuated zone',
    { [Annotations.ZonesEvacuated]: 'c' },
    'a',
    ['c'],
    'b because the zone has 0 of 1 machines; zone c is evacuated',
  ],
  ['leaves a lost zone', { [Annotations.ZonesStandby]: 'c=2026-01-01T11:00:00Z' }, 'a', ['c'], 'b because'],
  ['leaves a zone with too many machines', {}, 'aaabc', ['a'], 'b because the zone has 1 of 2 machines'],
])('a replacement %s', (_what, annotations, staying, lost, place) => {
  const machines = [...staying].map((zone) => inZone(zone));
  const states = zoneStates({ setting: settingOf(annotations), machines });
  const [first] = placesFor(states, { count: 1, wanted: machines.length + 1, lost });
  expect(`${first?.zone.name} because ${first?.because}`).toContain(place);
});

test('a rollout replaces each machine in its zone, also if not every zone has machines', () => {
  fc.assert(
    fc.property(fc.subarray(['a', 'b', 'c']), (names) => {
      const old = names.map((zone) => inZone(zone));
      const input = { setting: settingOf(), machines: old };
      const states = zoneStates(input);
      const places = placesFor(states, {
        count: names.length,
        wanted: names.length,
        isOld: (one) => old.includes(one),
      });
      expect(places.map(nameOf)).toEqual(names);
    }),
  );
});

test('a rollout deletes no machine of a zone whose limit is reached, and a scale-down does', () => {
  const setting = settingOf({ [Annotations.ZonesMaxUnavailable]: '2' });
  const old = [...'aaabbcc'].map((zone) => inZone(zone));
  // The machine in zone a is down, the machine in zone b joins, and the machine in zone c is being deleted.
  const machines = [...old, inZone('a', 'Unknown'), inZone('b', 'Pending'), inZone('c', 'Running', true)];
  const waiting = (isOld?: (one: Machine) => boolean) => {
    const input = { setting, machines, isOld };
    const ranks = zoneRanks(input, zoneStates(input), old.toSorted(deletionOrder(NOW)), { replicas: 3, wanted: 9 });
    return old.filter(({ metadata }) => ranks.get(metadata.uid)?.waits).map((one) => zoneOfMachine(input, one)?.name);
  };
  expect(waiting((one) => old.includes(one))).toEqual(['a', 'a', 'b', 'c']);
  expect(waiting()).toEqual([]);
});

test.each<[what: string, limit: string, rooms: number[]]>([
  ['a number applies to each zone', '2', [2, 2]],
  ['a percentage applies to the machines of each zone', '50%', [2, 1]],
  ['a small percentage allows one machine', '1%', [1, 1]],
])('%s', (_what, limit, limits) => {
  const machines = [...'aaaabb'].map((zone) => inZone(zone));
  const setting = settingOf({ [Annotations.ZonesMaxUnavailable]: limit });
  const input = { setting, machines, isOld: () => true };
  const rooms = zoneRooms(input, zoneStates(input), 6);
  expect([...rooms.values()].slice(0, 2).map((room) => room.limit)).toEqual(limits);
});

test.each<[what: string, phase: MachinePhase, gone: string]>([
  ['before a new machine that has not joined', 'Pending', 'a'],
  ['before others when enough machines stay', 'Running', 'a'],
  ['after an unreachable machine if too few machines would be available', 'Unknown', 'c'],
])('a machine of an evacuated zone is deleted %s', (_what, phase, gone) => {
  const setting = settingOf({ [Annotations.ZonesEvacuated]: 'a' });
  const extra = phase === 'Unknown' ? [inZone('c', phase)] : [inZone('b'), inZone('c', phase)];
  const machines = [inZone('a'), inZone('b'), inZone('c'), ...extra];
  const input = { setting, machines };
  const ordered = machines.toSorted(deletionOrder(NOW));
  const ranks = zoneRanks(input, zoneStates(input), ordered, { replicas: machines.length - 1, wanted: 3 });
  const [first] = chooseForDeletion(machines, 1, NOW, undefined, ranks);
  expect(zoneOfMachine(input, first ?? machine('none'))?.name).toBe(gone);
});

test('a machine without a VM in a zone without capacity is deleted before failed machines and evacuated machines', () => {
  const setting = settingOf({ [Annotations.ZonesEvacuated]: 'a', [Annotations.ZonesShort]: 'b=2026-01-01T00:00:00Z' });
  const waits = inZone('b', 'CrashLoopBackOff');
  const lastOperation = { errorCode: 'ResourceExhausted', state: 'Failed', type: 'Create' } as const;
  const stuck = { ...waits, status: { ...waits.status, lastOperation } };
  const machines = [inZone('a', 'Failed'), inZone('a'), inZone('c', 'Failed'), inZone('c'), stuck];
  const input = { setting, machines };
  const ordered = machines.toSorted(deletionOrder(NOW));
  const ranks = zoneRanks(input, zoneStates(input), ordered, { replicas: 4, wanted: 5 });
  expect(chooseForDeletion(machines, 1, NOW, undefined, ranks)).toEqual([stuck]);
});

test('a machine without a zone does not count', () => {
  expect(placed({}, [machine('elsewhere', { phase: 'Running' })], 3)).toEqual(['a', 'b', 'c']);
});
