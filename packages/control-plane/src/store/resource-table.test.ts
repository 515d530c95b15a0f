import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Listeners } from './listeners.ts';
import { meets } from './record-index.ts';
import { compareKeys, ResourceTable } from './resource-table.ts';
import type { StoredRecord, StoreEvent } from './store.ts';

let revision = 0;
/** A record that tells how often it is looked at. */
function record(namespace: string, name: string, node: string, looked: { at: number } = { at: 0 }): StoredRecord {
  const fields = { 'spec.nodeName': node };
  return {
    namespace,
    revision: ++revision,
    json: '{}',
    get labels() {
      looked.at++;
      return { app: node };
    },
    get name() {
      looked.at++;
      return name;
    },
    get fields() {
      looked.at++;
      return fields;
    },
  };
}

const NODE = { field: 'spec.nodeName', value: 'mine' };
const APP = { field: 'label:app', value: 'mine' };
const NAME = { field: 'metadata.name', value: 'pod-1' };

/** How many looks at records each question costs among so many others. */
function cost(others: number): Record<string, number> {
  const looked = { at: 0 };
  const table = new ResourceTable();
  for (let index = 0; index < others; index++)
    table.set(record(`ns-${index % 10}`, `other-${index}`, `node-${index}`, looked));
  for (const name of ['pod-1', 'pod-2']) table.set(record('mine', name, 'mine', looked));
  const questions: Record<string, () => unknown> = {
    'by name in a namespace': () => table.page({ namespace: 'mine', where: [NAME] }),
    'by name in all namespaces': () => table.page({ where: [NAME] }),
    'by a field': () => table.page({ where: [NODE] }),
    'by a label': () => table.page({ where: [APP] }),
    'by a label and a namespace': () => table.page({ namespace: 'mine', where: [APP] }),
    'by a field and a namespace': () => table.page({ namespace: 'mine', where: [NODE] }),
    'by name and a field': () => table.page({ where: [NODE, NAME] }),
    'the next page by a field': () =>
      table.page({ where: [NODE], after: { namespace: 'mine', name: 'pod-1' }, limit: 1 }),
    'a namespace': () => table.page({ namespace: 'mine' }),
    'a page of all': () => table.page({ limit: 2 }),
    'a page of the past': () =>
      table.pageBefore([change(record('mine', 'pod-3', 'mine', looked), undefined)], { limit: 2 }),
    'the past by a label': () =>
      table.pageBefore([change(record('mine', 'pod-3', 'mine', looked), undefined)], { where: [APP] }),
    'the past by a field': () =>
      table.pageBefore([change(record('mine', 'pod-3', 'mine', looked), undefined)], { where: [NODE] }),
    'a write': () => table.set(record('mine', 'pod-1', 'mine', looked)),
    'a deletion': () => table.delete('mine', 'pod-2'),
  };
  // An index is made, and names are put in order, when they are first asked for.
  for (const ask of Object.values(questions).slice(0, -2)) ask();
  return Object.fromEntries(
    Object.entries(questions).map(([name, ask]) => {
      looked.at = 0;
      ask();
      return [name, looked.at];
    }),
  );
}

const change = (record: StoredRecord, previous: StoredRecord | undefined): StoreEvent => ({
  type: previous === undefined ? 'ADDED' : 'MODIFIED',
  resource: '/pods',
  revision: record.revision,
  time: 0,
  record,
  previous,
});

test('what a question costs does not depend on how many records it does not touch', () => {
  expect(cost(10_000)).toEqual(cost(100));
});

test('an event reaches those whom its new or its previous state concerns, however many others listen', () => {
  const heard = (others: number): string[] => {
    const listeners = new Listeners();
    const calls: string[] = [];
    const listen = (name: string, where: Parameters<Listeners['add']>[1]) =>
      listeners.add((event) => calls.push(`${name} ${event.record.name}`), where);
    for (let index = 0; index < others; index++) {
      listen(`${index}`, [{ field: 'spec.nodeName', value: `node-${index}` }]);
      listen(`${index}`, [
        { field: 'metadata.name', value: `name-${index}` },
        { field: 'metadata.namespace', value: 'a' },
      ]);
      listen(`${index}`, [
        { field: 'metadata.name', value: 'p' },
        { field: 'metadata.namespace', value: `ns-${index}` },
      ]);
      listen(`${index}`, [{ field: 'metadata.namespace', value: `ns-${index}` }]);
    }
    listen('all', []);
    listen('new node', [{ field: 'spec.nodeName', value: 'new' }]);
    listen('old node', [{ field: 'spec.nodeName', value: 'old' }]);
    listen('namespace', [{ field: 'metadata.namespace', value: 'a' }]);
    listen('name', [{ field: 'metadata.name', value: 'p' }]);
    listen('object', [
      { field: 'metadata.name', value: 'p' },
      { field: 'metadata.namespace', value: 'a' },
    ]);
    const leave = listen('gone', [{ field: 'metadata.name', value: 'p' }]);
    leave();
    listeners.deliver(change(record('a', 'p', 'new'), record('a', 'p', 'old')));
    return calls.sort();
  };
  expect(heard(100)).toEqual(['all p', 'name p', 'namespace p', 'new node p', 'object p', 'old node p'].sort());
  expect(heard(10_000)).toEqual(heard(100));
});

const steps = fc.array(
  fc.record({
    namespace: fc.constantFrom('a', 'b', 'c'),
    name: fc.constantFrom('1', '2', '3', '4'),
    node: fc.constantFrom('', 'x', 'y'),
    gone: fc.boolean(),
  }),
  { maxLength: 40 },
);
const questions = fc.record({
  namespace: fc.option(fc.constantFrom('a', 'b'), { nil: undefined }),
  where: fc.subarray([
    { field: 'spec.nodeName', value: 'x' },
    { field: 'metadata.name', value: '2' },
    { field: 'metadata.namespace', value: 'a' },
  ]),
  after: fc.option(fc.record({ namespace: fc.constantFrom('a', 'b'), name: fc.constantFrom('1', '3') }), {
    nil: undefined,
  }),
  limit: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
});

test('pages, of now and of the past, are those of a plain list that is searched', () => {
  fc.assert(
    fc.property(steps, steps, questions, (first, later, question) => {
      const table = new ResourceTable();
      const plain = new Map<string, StoredRecord>();
      table.page(question);
      const apply = (all: typeof first): StoreEvent[] =>
        all.flatMap(({ namespace, name, node, gone }) => {
          const key = `${namespace}/${name}`;
          const made = record(namespace, name, node);
          if (!gone) {
            plain.set(key, made);
            return [change(made, table.set(made))];
          }
          plain.delete(key);
          const previous = table.delete(namespace, name);
          return previous === undefined ? [] : [{ ...change(made, previous), type: 'DELETED' as const }];
        });
      apply(first);
      const before = [...plain.values()];
      expect(table.page(question)).toEqual(search(before, question));
      const changes = apply(later);
      expect(table.page(question)).toEqual(search([...plain.values()], question));
      expect(table.pageBefore(changes, question)).toEqual(search(before, question));
    }),
    { numRuns: 500 },
  );
});

function search(
  records: StoredRecord[],
  { namespace, where, after, limit = records.length }: typeof questions extends fc.Arbitrary<infer T> ? T : never,
) {
  const found = records
    .filter((one) => namespace === undefined || one.namespace === namespace)
    .filter((one) => meets(one, where))
    .filter(
      (one) => after === undefined || [one.namespace, one.name].join('/') > [after.namespace, after.name].join('/'),
    )
    .sort((a, b) => compareKeys(a.namespace, b.namespace) || compareKeys(a.name, b.name));
  return { records: found.slice(0, limit), remaining: Math.max(0, found.length - limit) };
}
