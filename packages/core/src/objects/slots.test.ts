import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { fnv1a, isSlotName, nextMachineNames } from './slots.ts';

const set = { name: 'pool-6f576', uid: '5b2f6cce-76bc-4a62-bc14-efdb433f9698' };

test('FNV-1a gives the published values', () => {
  expect(fnv1a('')).toBe(0x811c9dc5);
  expect(fnv1a('a')).toBe(0xe40c292c);
  expect(fnv1a('foobar')).toBe(0xbf9cf968);
});

test('names look like the original’s: set name, dash, five characters', () => {
  for (const name of nextMachineNames(set, [], 200)) {
    expect(name).toMatch(/^pool-6f576-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  }
});

test('the same knowledge gives the same names, so a repeated creation collides instead of doubling', () => {
  const first = nextMachineNames(set, [], 3);
  expect(nextMachineNames(set, [], 3)).toEqual(first);
  expect(nextMachineNames(set, first.slice(0, 1), 2)).toEqual(first.slice(1));
});

test('another set of the same name gives other names', () => {
  const other = nextMachineNames({ ...set, uid: 'another-uid' }, [], 50);
  expect(other.filter((name) => nextMachineNames(set, [], 50).includes(name))).toEqual([]);
});

test('a creation of which nothing is known is repeated, whatever came after it (incident 3)', () => {
  const [a, b, c] = nextMachineNames(set, [], 3);
  expect(nextMachineNames(set, [a, c].map(String), 1)).toEqual([b]);
});

test('a deleting machine keeps its name to itself', () => {
  const [a, b] = nextMachineNames(set, [], 2);
  expect(nextMachineNames(set, [a, b].map(String), 1)).not.toContain(a);
});

test('no name is given twice, whatever names exist', () => {
  const suffix = fc.string({ unit: fc.constantFrom(...'bcdfghjklmnpqrstvwxz2456789'), minLength: 5, maxLength: 5 });
  fc.assert(
    fc.property(
      fc.uuid(),
      fc.array(suffix, { maxLength: 30 }),
      fc.integer({ min: 0, max: 150 }),
      (uid, taken, count) => {
        const known = taken.map((text) => `${set.name}-${text}`);
        const names = nextMachineNames({ name: set.name, uid }, known, count);
        expect(new Set([...names, ...known]).size).toBe(count + new Set(known).size);
      },
    ),
  );
});

test('1,000 machines of one set never share a name', () => {
  expect(new Set(nextMachineNames(set, [], 1000)).size).toBe(1000);
});

test('a name of ours is known again, for any set; names of the original are not, nor those of another set', () => {
  fc.assert(
    fc.property(fc.uuid(), fc.uuid(), (uid, other) => {
      fc.pre(uid !== other);
      const [one, another] = [
        { name: 'pool', uid },
        { name: 'pool', uid: other },
      ];
      const names = nextMachineNames(one, [], 300);
      expect(names.filter((name) => !isSlotName(one, name))).toEqual([]);
      // By chance one in 700 looks like one of the other set's.
      expect(names.filter((name) => isSlotName(another, name)).length).toBeLessThan(30);
    }),
    { numRuns: 30 },
  );
  for (const name of [
    'pool-6f576-9m5jg',
    'pool-6f576-9rb7j',
    'pool-6f576-s77kw',
    'pool-6f576',
    'pool-6f576-',
    'by-hand',
  ])
    expect(isSlotName(set, name)).toBe(false);
  expect(isSlotName(set, `${nextMachineNames(set, [], 1)[0]}x`)).toBe(false);
});
