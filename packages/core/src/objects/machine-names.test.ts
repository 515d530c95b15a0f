import { Annotations } from '@mcm/api';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  machineNumberOf,
  machineNumbersOf,
  type NamingSet,
  nextMachineNames,
  numbersAfter,
  printMachineNumbers,
  unrecordedNames,
} from './machine-names.ts';

const UID = '5b2f6cce-76bc-4a62-bc14-efdb433f9698';

const setWith = (numbers?: string, uid = UID): NamingSet => ({
  metadata: {
    name: 'pool-6f576',
    uid,
    ...(numbers === undefined ? {} : { annotations: { [Annotations.NextMachineNumbers]: numbers } }),
  },
});
const NEW = setWith();
const next = (set: NamingSet, count: number, known: readonly string[] = [], unanswered: readonly string[] = []) =>
  nextMachineNames(set, unanswered, count, (name) => known.includes(name));
const recorded = (set: NamingSet, known: readonly string[], unanswered: readonly string[] = []): NamingSet =>
  setWith(printMachineNumbers(numbersAfter(set, known, unanswered)), set.metadata.uid);

test('names look like the original’s: set name, dash, five characters', () => {
  const names = next(NEW, 1_000);
  for (const name of names) expect(name).toMatch(/^pool-6f576-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  expect(new Set(names).size).toBe(1_000);
});

test('the same knowledge gives the same names, so a repeated creation finds the machine of the first one', () => {
  expect(next(NEW, 3)).toEqual(next(NEW, 3));
});

test('another set of the same name gives other names', () => {
  const others = next(setWith(undefined, 'another-uid'), 50);
  expect(others.filter((name) => next(NEW, 50).includes(name))).toEqual([]);
});

test('a creation without an answer is repeated under its name, also after later creations (incident 3)', () => {
  const [a = '', b = '', c = ''] = next(NEW, 3);
  const set = recorded(NEW, [a, c], [b]);
  expect(machineNumbersOf(set).open).toHaveLength(1);
  expect(next(set, 2, [a, c], [b])[0]).toBe(b);
  expect(unrecordedNames(set, [a, c])).toEqual([b]);
});

test('a new process repeats the creations between recorded numbers and known machines', () => {
  const [a = '', b = '', c = '', d = ''] = next(NEW, 4);
  expect(unrecordedNames(NEW, [b, d])).toEqual([a, c]);
  expect(unrecordedNames(recorded(NEW, [a, b, c, d]), [])).toEqual([]);
});

test('a new machine gets neither the name of an object nor the name of a repeated creation', () => {
  const [a = '', b = '', c = ''] = next(NEW, 3);
  expect(next(NEW, 2, [a])).toEqual([b, c]);
  expect(next(NEW, 3, [], [b])).toEqual([b, a, c]);
});

test('a creation without an answer raises the next number, and is not open once its machine is known', () => {
  const [a = '', b = ''] = next(NEW, 2);
  const { next: first } = machineNumbersOf(NEW);
  expect(numbersAfter(NEW, [], [b])).toEqual({ next: first + 2, open: [first + 1] });
  expect(numbersAfter(NEW, [a, b], [b])).toEqual({ next: first + 2, open: [] });
});

test('a recorded name never returns, whether its machine is there or gone', () => {
  const first = next(NEW, 5);
  const set = recorded(NEW, first);
  expect(next(set, 200).filter((name) => first.includes(name))).toEqual([]);
  expect(recorded(set, [])).toEqual(set);
});

test('no name is given twice in any history of creations, deletions, lost answers and crashes', () => {
  const step = fc.record({
    create: fc.nat(4),
    lost: fc.nat(3),
    remove: fc.nat(4),
    crash: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.uuid(), fc.array(step, { maxLength: 40 }), (uid, steps) => {
      let set = setWith(undefined, uid);
      let unanswered: string[] = [];
      let known: string[] = [];
      const ever = new Map<string, number>();
      for (const { create, lost, remove, crash } of steps) {
        const names = next(set, create, known, unanswered);
        // The first `lost` requests get no response. The API server executes every second of these requests.
        const executed = names.filter((_, index) => index >= lost || index % 2 === 0);
        for (const name of executed) ever.set(name, (ever.get(name) ?? 0) + 1);
        unanswered = [...unanswered.filter((name) => !executed.includes(name)), ...names.slice(0, lost)];
        known = [...known, ...executed];
        unanswered = unanswered.filter((name) => !known.includes(name));
        set = recorded(set, known, unanswered);
        if (crash) unanswered = unrecordedNames(set, known);
        known = known.slice(remove);
      }
      expect([...ever.values()].filter((times) => times > 1)).toEqual([]);
    }),
  );
});

describe('the annotation', () => {
  test.each([
    ['20007', 20_007, []],
    ['20007,20003, 20005', 20_007, [20_003, 20_005]],
    ['20007,x,20009', 20_007, []],
    ['7', 20_000, []],
    ['', 20_000, []],
    ['many', 20_000, []],
    ['-1', 20_000, []],
    ['123456789', 20_000, []],
  ])('%j', (text, number, open) => {
    expect(machineNumbersOf(setWith(text))).toEqual({ next: number, open });
  });

  test('names of earlier versions are never used again', () => {
    for (const name of next(NEW, 100)) expect(machineNumberOf(NEW, name)).toBeGreaterThanOrEqual(20_000);
  });
});

test('a name of mcm is recognized for any set, and names of the original or of another set are not', () => {
  fc.assert(
    fc.property(fc.uuid(), fc.uuid(), (uid, other) => {
      fc.pre(uid !== other);
      const one = setWith(undefined, uid);
      const names = next(one, 150);
      expect(names.filter((name) => machineNumberOf(one, name) === undefined)).toEqual([]);
      const another = setWith(undefined, other);
      expect(names.filter((name) => machineNumberOf(another, name) !== undefined).length).toBeLessThan(15);
    }),
    { numRuns: 30 },
  );
  const foreign = ['-9m5jg', '-9rb7j', '-s77kw', '', '-'].map((suffix) => `pool-6f576${suffix}`);
  for (const name of [...foreign, 'by-hand', `${next(NEW, 1)[0]}x`]) expect(machineNumberOf(NEW, name)).toBeUndefined();
});
