import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ABSENT } from './demand.ts';
import { LabelIndexes } from './label-indexes.ts';
import type { StoredRecord } from './record.ts';
import { ResourceTable } from './resource-table.ts';

const plain = (name: string, labels: Record<string, string>): StoredRecord => ({
  namespace: 'ns',
  name,
  revision: 1,
  json: '{}',
  labels,
  fields: undefined,
});

const watched = (name: string, labels: Record<string, string>, looked: { at: number }): StoredRecord => ({
  ...plain(name, labels),
  get labels() {
    looked.at++;
    return labels;
  },
});

const KEYS = 400;

/** Searches for each of many labels twice, and returns the number of reads of stored objects. */
function looksInRotation(others: number): number {
  const looked = { at: 0 };
  const table = new ResourceTable();
  for (let at = 0; at < others; at++) table.set(watched(`other-${at}`, { tier: 'web' }, looked));
  for (let at = 0; at < KEYS; at++) table.set(watched(`own-${at}`, { [`key-${at}`]: 'x' }, looked));
  looked.at = 0;
  for (let round = 0; round < 2; round++) {
    for (let at = 0; at < KEYS; at++) {
      const found = table.page({ where: [{ field: `label:key-${at}`, value: 'x' }] });
      expect(found.records.map(({ name }) => name)).toEqual([`own-${at}`]);
      expect(table.page({ where: [{ field: `label:none-${at}`, value: 'x' }] }).records).toEqual([]);
      expect(table.page({ where: [{ field: `label:none-${at}`, values: [ABSENT], not: true }] }).records).toEqual([]);
    }
  }
  return looked.at;
}

test('selecting by hundreds of labels in turn reads only matching records, independent of the number of others', () => {
  const looks = looksInRotation(100);
  expect(looks).toBe(looksInRotation(5_000));
  expect(looks).toBeLessThan(KEYS * 10);
});

test('a label without records uses no memory, whether it was selected or not', () => {
  const indexes = new LabelIndexes();
  const [one, two] = [plain('a', { asked: 'x', silent: 'y' }), plain('a', { other: 'z' })];
  indexes.set('ns/a', one, undefined);
  expect(indexes.index('asked', () => one).size).toBe(1);
  expect(indexes.index('none', () => one).size).toBe(0);
  expect(indexes.size).toBe(2);
  indexes.set('ns/a', two, one);
  expect(indexes.size).toBe(1);
  indexes.delete('ns/a', two);
  expect(indexes.size).toBe(0);
});

test('a label finds exactly its records, after any changes and any time of the first selection', () => {
  const step = fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    labels: fc.option(fc.dictionary(fc.constantFrom('k', 'l', 'm'), fc.constantFrom('1', '2'))),
    asks: fc.constantFrom('k', 'l', 'm', 'n'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const table = new ResourceTable();
      const model = new Map<string, Record<string, string>>();
      for (const { name, labels, asks } of steps) {
        if (labels === null) {
          table.delete('ns', name);
          model.delete(name);
        } else {
          table.set(plain(name, labels));
          model.set(name, labels);
        }
        const named = (value: string): string[] =>
          table.page({ where: [{ field: `label:${asks}`, value }] }).records.map((record) => record.name);
        for (const value of ['1', '2', ABSENT]) {
          const wanted = [...model].filter(([, own]) => (own[asks] ?? ABSENT) === value).map(([key]) => key);
          expect(named(value)).toEqual(wanted.sort());
        }
      }
    }),
  );
});
