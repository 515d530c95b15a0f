import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ABSENT, meets } from './demand.ts';
import { History } from './history.ts';
import { Listeners } from './listeners.ts';
import { compareKeys } from './ordered-keys.ts';
import { keyOf } from './pin.ts';
import type { StoredRecord } from './record.ts';
import { ResourceTable } from './resource-table.ts';
import type { PageOptions, StoreEvent } from './store.ts';

let revision = 0;

function labelsOf(name: string): Record<string, string> {
  if (name.startsWith('other')) return { tier: 'web', left: 'yes' };
  if (name.startsWith('alike')) return { tier: 'web', right: 'yes' };
  return name > '2' ? { odd: name.length > 1 ? 'y' : 'x' } : {};
}
function record(namespace: string, name: string, node: string, looked: { at: number } = { at: 0 }): StoredRecord {
  const fields = { 'spec.nodeName': node };
  return {
    namespace,
    revision: ++revision,
    json: '{}',
    get labels() {
      looked.at++;
      return { app: node, ...labelsOf(name) };
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

const change = (
  made: StoredRecord,
  previous: StoredRecord | undefined,
  type: StoreEvent['type'] = previous === undefined ? 'ADDED' : 'MODIFIED',
  population = { all: 0, namespace: 0 },
): StoreEvent => ({ type, resource: '/pods', revision: made.revision, time: 0, record: made, previous, population });

class State {
  readonly table = new ResourceTable();
  readonly history: History;

  constructor(maxEvents = Number.POSITIVE_INFINITY) {
    this.history = new History({ maxAgeMs: 1, maxEvents }, revision);
  }

  put(made: StoredRecord): void {
    const previous = this.table.set(made);
    this.#reported(made, previous, previous === undefined ? 'ADDED' : 'MODIFIED');
  }

  delete(made: StoredRecord): void {
    const previous = this.table.delete(made.namespace, made.name);
    if (previous !== undefined) this.#reported(made, previous, 'DELETED');
  }

  #reported(made: StoredRecord, previous: StoredRecord | undefined, type: StoreEvent['type']): void {
    const population = { all: this.table.size, namespace: this.table.sizeOf(made.namespace) };
    this.history.add(change(made, previous, type, population));
  }
}

const NODE = { field: 'spec.nodeName', value: 'mine' };
const APP = { field: 'label:app', value: 'mine' };
const label = (key: string, value: string) => ({ field: `label:${key}`, value });
const not = (field: string, ...values: string[]) => ({ field, values, not: true });
const NAME = { field: 'metadata.name', value: 'pod-1' };
const NAMESPACE = { field: 'metadata.namespace', value: 'mine' };

/** @param others the number of other records; each of them has changed */
function cost(others: number): Record<string, number> {
  const looked = { at: 0 };
  const state = new State();
  const { table, history } = state;
  const putOthers = () => {
    for (let index = 0; index < others; index++)
      state.put(record(`ns-${index % 10}`, `other-${index}`, `node-${index}`, looked));
  };
  // Adds records in other namespaces that have the same label and the same node.
  const putAlike = () => {
    for (let index = 0; index < others; index++) state.put(record('zz', `alike-${index}`, 'theirs', looked));
  };
  putOthers();
  putAlike();
  for (const name of ['pod-1', 'pod-2']) state.put(record('mine', name, 'mine', looked));
  state.put(record('mine', 'pod-3', 'theirs', looked));
  const past = revision;
  putOthers();
  putAlike();
  state.put(record('mine', 'pod-1', 'mine', looked));
  const [theirs, labelled] = [
    { ...NODE, value: 'theirs' },
    { ...APP, value: 'theirs' },
  ];
  const questions: Record<string, () => unknown> = {
    'by name in a namespace': () => table.page({ namespace: 'mine', where: [NAME] }),
    'by name in all namespaces': () => table.page({ where: [NAME] }),
    'by a field': () => table.page({ where: [NODE] }),
    'by a label': () => table.page({ where: [APP] }),
    'by a label and a namespace': () => table.page({ namespace: 'mine', where: [labelled] }),
    'by a field and a namespace': () => table.page({ namespace: 'mine', where: [theirs] }),
    'by name and a field': () => table.page({ where: [NODE, NAME] }),
    'the next page by a field': () =>
      table.page({ where: [NODE], after: { namespace: 'mine', name: 'pod-1' }, limit: 1 }),
    'by a value that nearly all have, not': () => table.page({ where: [not('label:tier', 'web', 'other')] }),
    'by a label that nearly all have, absent': () => table.page({ where: [label('tier', ABSENT)] }),
    'by a label that few have': () => table.page({ where: [not('label:odd', ABSENT)] }),
    'by one of several values': () => table.page({ where: [{ field: 'label:odd', values: ['x', 'y'], not: false }] }),
    'by a field that nearly all have, not': () =>
      table.page({ namespace: 'zz', where: [not('spec.nodeName', 'theirs')] }),
    'by another namespace, not': () => table.page({ where: [not('metadata.namespace', 'zz'), label('right', 'yes')] }),
    'by two labels that many have and none both': () =>
      table.page({ where: [label('left', 'yes'), label('right', 'yes')] }),
    'a page by a label that many have': () =>
      table.page({ where: [label('tier', 'web')], after: { namespace: 'ns-1', name: 'other-1' }, limit: 3 }),
    'the past by a value that nearly all have, not': () =>
      table.pageAt(past, history, { where: [not('label:tier', 'web')] }),
    'a namespace': () => table.page({ namespace: 'mine' }),
    'a page of all': () => table.page({ limit: 2 }),
    'a page of those that a predicate takes': () => table.page({ limit: 2, matches: ({ name }) => name !== 'pod-2' }),
    'a page of the past': () => table.pageAt(past, history, { limit: 2 }),
    'a page of a namespace in the past': () => table.pageAt(past, history, { namespace: 'mine', limit: 1 }),
    'the next page of the past': () =>
      table.pageAt(past, history, { limit: 1, left: 9, after: { namespace: 'mine', name: 'pod-1' } }),
    'the past by a label': () => table.pageAt(past, history, { where: [APP] }),
    'the past by a field in a namespace': () => table.pageAt(past, history, { namespace: 'mine', where: [theirs] }),
    'changes of an object': () => history.since(past, [NAME, NAMESPACE]),
    'changes of a namespace': () => history.since(past, [NAMESPACE]),
    'changes by a field': () => history.since(past, [NODE]),
    'changes by a label in a namespace': () => history.since(past, [labelled, NAMESPACE]),
    'changes by name': () => history.since(past, [NAME]),
    'changes of what has a label': () => history.since(past, [not('label:odd', ABSENT)]),
    'changes of what has not the value that nearly all have': () => history.since(past, [not('label:tier', 'web')]),
    'a write': () => state.put(record('mine', 'pod-1', 'mine', looked)),
    'a deletion': () => state.delete(record('mine', 'pod-2', 'mine', looked)),
  };
  // The first search creates an index, so these searches only prepare the indexes.
  for (const ask of Object.values(questions).slice(0, -2)) ask();
  return Object.fromEntries(
    Object.entries(questions).map(([name, ask]) => {
      looked.at = 0;
      const answer = ask();
      return [name, looked.at + (Array.isArray(answer) ? answer.length : 0)];
    }),
  );
}

test('the cost of a query does not depend on the number of other records and changes', () => {
  expect(cost(3_000)).toEqual(cost(100));
});

const POD = { field: 'metadata.name', value: 'p' };
const A = { field: 'metadata.namespace', value: 'a' };

test('an event reaches listeners that match its new or previous state, independent of the number of others', () => {
  const heard = (others: number): string[] => {
    const listeners = new Listeners();
    const calls: string[] = [];
    const listen = (name: string, where: Parameters<Listeners['add']>[1]) =>
      listeners.add((event) => calls.push(`${name} ${event.record.name}`), where);
    for (let index = 0; index < others; index++) {
      listen(`${index}`, [{ field: 'spec.nodeName', value: `node-${index}` }]);
      listen(`${index}`, [{ field: 'metadata.name', value: `name-${index}` }, A]);
      listen(`${index}`, [POD, { field: 'metadata.namespace', value: `ns-${index}` }]);
      listen(`${index}`, [{ field: 'metadata.namespace', value: `ns-${index}` }]);
      listen(`${index}`, [label('app', 'new'), { field: 'metadata.namespace', value: `ns-${index}` }]);
      listen(`${index}`, [label(`key-${index}`, 'new')]);
      listen(`${index}`, [not(`label:key-${index}`, ABSENT)]);
      listen(`${index}`, [not('label:app', 'old', 'new', 'other')]);
      listen(`${index}`, [not('metadata.namespace', 'a')]);
      listen(`${index}`, [label('app', 'new'), label('instance', String(index))]);
    }
    listen('all', []);
    listen('new node', [{ field: 'spec.nodeName', value: 'new' }]);
    listen('old node', [{ field: 'spec.nodeName', value: 'old' }]);
    listen('new label', [label('app', 'new')]);
    listen('old label here', [label('app', 'old'), A]);
    listen('a label', [not('label:app', ABSENT)]);
    listen('no such label', [label('none', ABSENT)]);
    listen('not the old node', [not('spec.nodeName', 'old')]);
    listen('namespace', [A]);
    listen('name', [POD]);
    listen('object', [POD, A]);
    const leave = listen('gone', [POD]);
    leave();
    listeners.deliver(change(record('a', 'p', 'new'), record('a', 'p', 'old')));
    return calls.filter((call) => call !== '0 p').sort();
  };
  const expected = [
    'a label',
    'all',
    'name',
    'namespace',
    'new label',
    'new node',
    'no such label',
    'not the old node',
    'object',
    'old label here',
    'old node',
  ];
  expect(heard(100)).toEqual(expected.map((name) => `${name} p`).sort());
  expect(heard(3_000)).toEqual(heard(100));
});

const steps = fc.array(
  fc.record({
    namespace: fc.constantFrom('a', 'a-b', 'c'),
    // More keys do not match than a search skips one by one.
    name: fc.oneof(
      fc.constantFrom('1', '2', '3', '4'),
      fc.integer({ min: 100, max: 180 }).map((number) => String(number)),
    ),
    node: fc.constantFrom('', 'x', 'y'),
    gone: fc.boolean(),
  }),
  { maxLength: 120, size: 'max' },
);
const conditions = fc.subarray(
  [
    { field: 'spec.nodeName', value: 'x' },
    { field: 'label:app', value: 'x' },
    { field: 'metadata.name', value: '2' },
    { field: 'metadata.namespace', value: 'a' },
    { field: 'spec.nodeName', values: ['x', ''], not: false },
    { field: 'spec.nodeName', values: ['y'], not: true },
    { field: 'label:app', values: ['x', 'y'], not: false },
    { field: 'label:app', values: ['y'], not: true },
    { field: 'label:app', values: [ABSENT], not: true },
    { field: 'label:odd', value: ABSENT },
    { field: 'label:odd', values: [ABSENT, 'x'], not: true },
    { field: 'metadata.name', values: ['3'], not: true },
    { field: 'metadata.namespace', values: ['a-b'], not: true },
  ],
  { maxLength: 3 },
);
const questions = fc.record({
  namespace: fc.option(fc.constantFrom('a', 'a-b'), { nil: undefined }),
  where: conditions,
  after: fc.option(fc.record({ namespace: fc.constantFrom('a', 'a-b'), name: fc.constantFrom('1', '3') }), {
    nil: undefined,
  }),
  limit: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
});

function play(
  state: State,
  plain: Map<string, StoredRecord>,
  all: typeof steps extends fc.Arbitrary<infer T> ? T : never,
) {
  for (const { namespace, name, node, gone } of all) {
    const made = record(namespace, name, node);
    if (gone) {
      state.delete(made);
      plain.delete(keyOf(made));
    } else {
      state.put(made);
      plain.set(keyOf(made), made);
    }
  }
  return [...plain.values()];
}

test('pages of current and older revisions equal those of a simple filtered list', () => {
  fc.assert(
    fc.property(steps, steps, steps, questions, (first, later, last, question) => {
      const state = new State();
      const plain = new Map<string, StoredRecord>();
      state.table.page(question);
      const before = play(state, plain, first);
      const past = revision;
      expect(state.table.page(question)).toEqual(search(before, question));
      const after = play(state, plain, later);
      expect(state.table.page(question)).toEqual(search(after, question));
      expect(state.table.pageAt(past, state.history, question)).toEqual(search(before, question));
      const matches = (one: StoredRecord): boolean => one.name !== '3';
      const chosen = search(before.filter(matches), question);
      expect(state.table.pageAt(past, state.history, { ...question, matches })).toEqual({
        records: chosen.records,
        remaining: Math.min(1, chosen.remaining),
      });
      // The disk was full, so the store refused the write.
      const taken = revision;
      const copy = new Map(plain);
      play(state, copy, last);
      for (const event of (state.history.since(taken) ?? []).toReversed()) {
        if (event.previous === undefined) state.table.delete(event.record.namespace, event.record.name);
        else state.table.set(event.previous);
        state.history.takeBack(event.revision);
      }
      expect(state.table.page(question)).toEqual(search(after, question));
      expect(state.table.pageAt(past, state.history, question)).toEqual(search(before, question));
    }),
    { numRuns: 300 },
  );
});

test('a replay contains all matching changes in order, also with a limited history', () => {
  fc.assert(
    fc.property(
      steps,
      steps,
      conditions,
      fc.integer({ min: 1, max: 50 }),
      fc.nat(60),
      (first, later, where, max, back) => {
        const state = new State(max);
        const start = revision;
        play(state, new Map(), first);
        // In some runs, the history creates the index before the later changes and must update the index. In other
        // runs, the history creates the index after all changes.
        if (back % 2 === 0) state.history.since(state.history.compactedRevision, where);
        play(state, new Map(), later);
        const from = Math.max(start, revision - back);
        const all = state.history.since(from);
        const some = state.history.since(from, where);
        expect(some === undefined).toBe(all === undefined);
        const concerned = (event: StoreEvent): boolean =>
          meets(event.record, where) || (event.previous !== undefined && meets(event.previous, where));
        expect(some?.filter(concerned)).toEqual(all?.filter(concerned));
        expect(some?.map((event) => event.revision)).toEqual(
          some?.map((event) => event.revision).sort((a, b) => a - b),
        );
      },
    ),
    { numRuns: 300 },
  );
});

function search(records: StoredRecord[], { namespace, where = [], after, limit = records.length }: PageOptions) {
  const found = records
    .filter((one) => namespace === undefined || one.namespace === namespace)
    .filter((one) => meets(one, where))
    .filter((one) => after === undefined || keyOf(one) > keyOf(after))
    .sort((a, b) => compareKeys(keyOf(a), keyOf(b)));
  const remaining = Math.max(0, found.length - limit);
  // A filtered list reports only whether more records exist.
  return { records: found.slice(0, limit), remaining: where.length > 0 ? Math.min(1, remaining) : remaining };
}
