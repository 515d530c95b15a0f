import { Annotations, type Machine, type MachinePhase } from '@mcm/api';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { chooseForDeletion, deletionOrder } from '../set/replicas/deletion-order.ts';
import { machine, NOW } from '../set/test-objects.ts';
import { parseZones } from './setting.ts';
import { placesFor, zoneOfMachine, zoneRanks, zoneStates } from './spread.ts';

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

const zones = fc.constantFrom('a', 'b', 'c');
const spreadOf = (names: readonly string[], among = ['a', 'b', 'c']): number => {
  const counts = among.map((zone) => names.filter((name) => name === zone).length);
  return Math.max(...counts) - Math.min(...counts);
};

test('new machines never increase an imbalance of more than one', () => {
  fc.assert(
    fc.property(fc.array(zones, { maxLength: 12 }), fc.nat(12), (names, count) => {
      const machines = names.map((zone) => inZone(zone));
      const places = placesFor(zoneStates({ setting: settingOf(), machines }), count).map(({ name }) => name);
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
  placesFor(zoneStates({ setting: settingOf(annotations), machines }), count).map(({ name }) => name);
const standby = { [Annotations.ZonesStandby]: 'b=2026-01-01T11:00:00Z' };

test.each<[what: string, annotations: Record<string, string>, machines: readonly Machine[], places: string[]]>([
  ['an evacuated zone gets none', { [Annotations.ZonesEvacuated]: 'a' }, [], ['b', 'c', 'b']],
  ['a zone on standby gets none', standby, [inZone('b', 'Unknown')], ['a', 'c', 'a']],
  ['a zone on standby with an available machine gets some', standby, [inZone('b')], ['a', 'c', 'a']],
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

test('a machine without a zone does not count', () => {
  expect(placed({}, [machine('elsewhere', { phase: 'Running' })], 3)).toEqual(['a', 'b', 'c']);
});
