import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Change } from '../contract/informer.ts';
import type { KubeObject } from '../contract/objects.ts';
import { Replica } from './replica.ts';

interface Thing extends KubeObject {
  readonly color: string;
}

const thing = (name: string, version: number, more: { uid?: string; color?: string; going?: boolean } = {}): Thing => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: {
    name,
    uid: more.uid ?? `uid-${name}`,
    resourceVersion: String(version),
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...(more.going === true ? { deletionTimestamp: '2026-01-01T00:00:01Z' } : {}),
  },
  color: more.color ?? 'red',
});

function setUp() {
  const changes: string[] = [];
  const replica = new Replica<Thing>({
    indexes: { color: (object) => [object.color] },
    emit: (change: Change<Thing>) => {
      changes.push(`${change.type} ${change.key}@${change.object.metadata.resourceVersion}`);
    },
  });
  const versions = () => replica.cache.list().map((each) => `${each.metadata.name}@${each.metadata.resourceVersion}`);
  return { replica, changes, versions };
}

describe('the object of the newest change', () => {
  test('the newest object is unknown after its deletion, and after a later deletion of another object', () => {
    const { replica } = setUp();
    replica.changed(thing('a', 1));
    replica.changed(thing('b', 2));
    expect(replica.newest?.metadata.name).toBe('b');
    replica.deleted(thing('a', 3));
    expect(replica.newest).toBeUndefined();
    replica.changed(thing('b', 4));
    expect(replica.newest?.metadata.resourceVersion).toBe('4');
  });

  test('the newest object is unknown after the deletion of an earlier object with its name', () => {
    const { replica } = setUp();
    replica.changed(thing('a', 5, { uid: 'new' }));
    replica.deleted(thing('a', 5, { uid: 'old' }));
    expect([replica.cache.size, replica.newest]).toEqual([0, undefined]);
  });

  test('the newest object is the one with the newest version of a list', () => {
    const { replica } = setUp();
    const list = replica.relist();
    list.page([thing('a', 3), thing('b', 7), thing('c', 4)], '9');
    list.end('9');
    expect(replica.newest?.metadata.name).toBe('b');
  });
});

describe('own writes', () => {
  test('own writes are stored immediately, and their watch event changes nothing', () => {
    const { replica, changes, versions } = setUp();
    replica.changed(thing('a', 1));
    replica.written(thing('a', 5));
    replica.changed(thing('a', 5));
    expect(versions()).toEqual(['a@5']);
    expect(changes).toEqual(['added a@1', 'updated a@5']);
  });

  test('own writes are not undone by older events', () => {
    const { replica, versions } = setUp();
    replica.changed(thing('a', 1));
    replica.written(thing('a', 5));
    replica.changed(thing('a', 3));
    expect(versions()).toEqual(['a@5']);
  });

  test('own writes are ignored when the watch is already at a later version', () => {
    const { replica, changes, versions } = setUp();
    replica.changed(thing('a', 1));
    replica.changed(thing('b', 9));
    // All kinds share one sequence of resource versions.
    replica.written(thing('a', 7));
    expect(versions()).toEqual(['a@1', 'b@9']);
    replica.reached('20');
    replica.written(thing('c', 15));
    expect(changes).toEqual(['added a@1', 'added b@9']);
  });

  test('versions are compared as numbers', () => {
    const { replica, versions } = setUp();
    replica.changed(thing('a', 9));
    replica.written(thing('a', 10));
    expect(versions()).toEqual(['a@10']);
  });

  test('a write that removes the last finalizer removes the object, despite older events', () => {
    const { replica, changes, versions } = setUp();
    replica.changed(thing('a', 1));
    replica.written(thing('a', 6, { going: true }));
    replica.changed(thing('a', 4));
    replica.deleted(thing('a', 6));
    expect(versions()).toEqual([]);
    expect(changes).toEqual(['added a@1', 'deleted a@6']);
    replica.changed(thing('a', 7, { uid: 'other' }));
    expect(versions()).toEqual(['a@7']);
  });
});

describe('deletions', () => {
  test('the deletion of an earlier object does not remove a new object of the same name', () => {
    const { replica, versions, changes } = setUp();
    replica.changed(thing('a', 1, { uid: 'old' }));
    replica.written(thing('a', 5, { uid: 'new' }));
    replica.deleted(thing('a', 4, { uid: 'old' }));
    expect(versions()).toEqual(['a@5']);
    expect(changes).toEqual(['added a@1', 'deleted a@1', 'added a@5']);
  });

  test('the deletion of an object outside of the cache is ignored', () => {
    const { replica, changes } = setUp();
    replica.deleted(thing('a', 4));
    expect(changes).toEqual([]);
  });
});

describe('relist', () => {
  test('a relist reports only changed, new and removed objects', () => {
    const { replica, changes, versions } = setUp();
    for (const each of [thing('same', 1), thing('changed', 2), thing('gone', 3), thing('reborn', 4)])
      replica.changed(each);
    changes.length = 0;
    const relist = replica.relist();
    relist.page([thing('same', 1), thing('changed', 8)], '10');
    relist.page([thing('reborn', 9, { uid: 'second' }), thing('fresh', 10)], '10');
    relist.end('10');
    expect(changes).toEqual([
      'updated changed@8',
      'deleted reborn@4',
      'added reborn@9',
      'added fresh@10',
      'deleted gone@3',
    ]);
    expect(versions()).toEqual(['same@1', 'changed@8', 'reborn@9', 'fresh@10']);
  });

  test('a relist keeps own writes that are newer than the list', () => {
    const { replica, versions } = setUp();
    replica.changed(thing('a', 1));
    const relist = replica.relist();
    replica.written(thing('mine', 12));
    replica.written(thing('a', 13));
    relist.page([thing('a', 1)], '10');
    relist.end('10');
    expect(versions()).toEqual(['a@13', 'mine@12']);
  });

  test('a relist accepts the older state of a server that was restored', () => {
    const { replica, changes, versions } = setUp();
    replica.changed(thing('a', 500));
    replica.changed(thing('lost', 501));
    changes.length = 0;
    const relist = replica.relist();
    relist.page([thing('a', 20)], '30');
    relist.end('30');
    expect(versions()).toEqual(['a@20']);
    expect(changes).toEqual(['updated a@20', 'deleted lost@501']);
    replica.changed(thing('b', 31));
    expect(versions()).toEqual(['a@20', 'b@31']);
  });
});

test('indexes are updated with every change', () => {
  const { replica } = setUp();
  const named = (color: string) => replica.cache.byIndex('color', color).map((each) => each.metadata.name);
  replica.changed(thing('a', 1));
  replica.changed(thing('b', 2));
  expect(named('red')).toEqual(['a', 'b']);
  replica.changed(thing('a', 3, { color: 'blue' }));
  expect([named('red'), named('blue')]).toEqual([['b'], ['a']]);
  replica.changed(thing('b', 4));
  expect(replica.cache.byIndex('color', 'red')[0]?.metadata.resourceVersion).toBe('4');
  replica.deleted(thing('a', 5, { color: 'green' }));
  expect(named('blue')).toEqual([]);
  expect(() => replica.cache.byIndex('shape', 'round')).toThrow(
    'index "shape" does not exist; existing indexes: color',
  );
});

type Step = { readonly name: string; readonly verb: 'write' | 'delete'; readonly own: boolean };

test('for lost, late and repeated events, the replica has the same end state as the server and reports consistent changes', () => {
  const step: fc.Arbitrary<Step> = fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    verb: fc.constantFrom('write', 'write', 'delete'),
    own: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.infiniteStream(fc.integer({ min: 0, max: 5 })), (steps, dice) => {
      const reported = new Map<string, Thing>();
      const replica = new Replica<Thing>({
        indexes: { color: (object) => [object.color] },
        emit: (change) => {
          expect(reported.has(change.key)).toBe(change.type !== 'added');
          if (change.type === 'deleted') reported.delete(change.key);
          else reported.set(change.key, change.object);
        },
      });
      const server = new Map<string, Thing>();
      const pending: (() => void)[] = [];
      const answers: (() => void)[] = []; // The responses to writes of this process may arrive before or after the watch event.
      const roll = () => dice.next().value ?? 0;
      const relist = (version: number) => {
        pending.length = 0;
        const list = replica.relist();
        list.page([...server.values()], String(version));
        list.end(String(version));
      };
      steps.forEach(({ name, verb, own }, index) => {
        const version = index + 1;
        const known = server.get(name);
        if (verb === 'write') {
          const object = thing(name, version, { uid: known?.metadata.uid ?? `uid-${version}`, color: `c${roll()}` });
          server.set(name, object);
          pending.push(() => replica.changed(object));
          if (own) answers.push(() => replica.written(object));
        } else if (known !== undefined) {
          const last = thing(name, version, { uid: known.metadata.uid, going: true });
          server.delete(name);
          pending.push(() => replica.deleted(last));
          if (own) answers.push(() => replica.written(last));
        }
        for (let late = roll() - 1; late > 0; late--) answers.shift()?.();
        for (let events = roll() - 2; events > 0; events--) pending.shift()?.();
        if (roll() === 5 && roll() > 2) relist(version);
      });
      for (const event of [...pending.splice(0), ...answers]) event();
      const expected = [...server.values()].sort((a, b) => a.metadata.name.localeCompare(b.metadata.name));
      const sorted = (things: Iterable<Thing>) =>
        [...things].sort((a, b) => a.metadata.name.localeCompare(b.metadata.name));
      expect(sorted(replica.cache.list())).toEqual(expected);
      expect(sorted(reported.values())).toEqual(expected);
      for (const color of ['c0', 'c1', 'c2', 'c3', 'c4', 'c5']) {
        expect(sorted(replica.cache.byIndex('color', color))).toEqual(expected.filter((each) => each.color === color));
      }
    }),
    { numRuns: 500 },
  );
});
