import { Annotations, type Machine, type MachineClass, type MachinePhase } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { at, machine, NOON, node } from '../machine/testing.ts';
import { breakerMessage, overriddenUntil, overrideProblem } from './override.ts';
import { fixedCensus } from './test-census.ts';
import { BREAKER_DEFAULTS, isUnreachable, reachabilityMarks, scopesOf } from './unreachable.ts';

const ZONE = 'topology.kubernetes.io/zone';

const one = (name: string, phase: MachinePhase, since = -11, zone = 'a'): Machine =>
  machine({
    name,
    spec: { nodeTemplate: { metadata: { labels: { [ZONE]: zone } } } },
    status: {
      currentStatus: { phase, lastUpdateTime: at(since) },
      lastOperation: { type: 'HealthCheck', state: 'Successful', description: '', lastUpdateTime: at(since) },
    },
  });

const classOf = (name: string, zone?: string): MachineClass =>
  ({
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'MachineClass',
    providerSpec: {},
    metadata: { name, namespace: 'test', uid: name, resourceVersion: '1', creationTimestamp: at(0) },
    ...(zone ? { nodeTemplate: { zone, region: 'r', instanceType: 't', capacity: {} } } : {}),
  }) as MachineClass;

function waiting() {
  const reported = fixedCensus();
  const mine = one('mine', 'Unknown');
  for (const each of [mine, one('b', 'Running', -60), one('c', 'Running', -60)]) reported.machines.put(each);
  let woken = 0;
  const wait = () =>
    reported.census.onceChanged(mine, 'set/mine', () => {
      woken += 1;
    });
  return { ...reported, mine, wait, woken: () => woken };
}

test('a waiting machine is woken once by a change of its zone or of the cluster, until it registers again', () => {
  const t = waiting();
  t.machines.put(one('b', 'Unknown', -10));
  expect(t.woken()).toBe(0);
  t.wait();
  t.machines.put(one('b', 'Running', -1));
  expect(t.woken()).toBeGreaterThan(0);
  const once = t.woken();
  t.wait();
  t.machines.put(one('elsewhere', 'Unknown', -10, 'z'));
  expect(t.woken()).toBeGreaterThan(once);
});

test('changes that cannot affect a breaker wake no machine', () => {
  const t = waiting();
  t.wait();
  t.machines.put(one('new', 'Pending', 0));
  t.machines.put(one('new', 'Pending', 1));
  t.machines.put(one('b', 'Running', -60));
  t.classes.put(classOf('large'));
  expect(t.woken()).toBe(0);
  t.classes.put(classOf('small'));
  expect(t.woken()).toBe(1);
  t.classes.put(classOf('small'));
  expect(t.woken()).toBe(1);
});

test('a machine that joins for the first time wakes the others, because it can close the breaker', () => {
  const t = waiting();
  const fresh = one('fresh', 'Running', 0);
  t.wait();
  t.machines.put({ ...fresh, status: { ...fresh.status, lastOperation: { type: 'Create', state: 'Successful' } } });
  expect(t.woken()).toBeGreaterThan(0);
});

test('of two registrations of one set the last is used, and two sets are both called', () => {
  const t = waiting();
  const woken: string[] = [];
  for (const [id, name] of [
    ['a', 'first'],
    ['a', 'second'],
    ['b', 'third'],
  ] as const)
    t.census.onceChanged(t.mine, id, () => void woken.push(name));
  t.classes.put(classOf('small'));
  expect(woken).toEqual(['second', 'third']);
});

test('a machine that the census does not have waits for its class, and has no breaker', () => {
  const { census, classes } = fixedCensus();
  let woken = 0;
  census.onceChanged(one('new', 'Unknown'), 'id', () => {
    woken += 1;
  });
  classes.put(classOf('small'));
  expect(woken).toBe(1);
  expect(census.breakerOf(one('new', 'Unknown'), BREAKER_DEFAULTS, NOON)).toBeUndefined();
});

test('deleted machines no longer count, and a machine with a new class follows that one', () => {
  const { census, machines, classes } = fixedCensus();
  const scope = () => census.breakerOf(mine, BREAKER_DEFAULTS, NOON)?.scope;
  const nowhere = (name: string, className: string): Machine => {
    const { spec, ...rest } = one(name, 'Unknown');
    const { nodeTemplate: _, ...bare } = spec;
    return { ...rest, spec: { ...bare, class: { kind: 'MachineClass', name: className } } };
  };
  const mine = nowhere('mine', 'small');
  const others = ['b', 'c'].map((name) => nowhere(name, 'small'));
  for (const each of [mine, ...others]) machines.put(each);
  expect(scope()).toBe('cluster');
  classes.put(classOf('small', 'x'));
  expect(scope()).toBe('zone x');
  for (const each of others)
    machines.put({ ...each, spec: { ...each.spec, class: { kind: 'MachineClass', name: 'large' } } });
  classes.put(classOf('large', 'y'));
  expect(scope()).toBe('cluster');
  for (const each of others) machines.lose(each);
  expect(scope()).toBeUndefined();
  classes.put(classOf('large', 'x'));
  expect(scope()).toBeUndefined();
});

test('only a change of the zone of a Node counts', () => {
  const { census, machines, nodes } = fixedCensus();
  const unplaced = (name: string): Machine => {
    const { spec, metadata, ...rest } = one(name, 'Unknown');
    const { nodeTemplate: _, ...bare } = spec;
    return { ...rest, spec: bare, metadata: { ...metadata, labels: { node: name } } };
  };
  const [mine = machine(), ...others] = ['m', 'n', 'o'].map(unplaced);
  for (const each of [mine, ...others]) machines.put(each);
  const zoned = (name: string, zone: string, labels = {}): Node =>
    node({ name, metadata: { labels: { [ZONE]: zone, ...labels } } });
  for (const name of ['m', 'n', 'o']) nodes.put(zoned(name, 'd'));
  expect(census.breakerOf(mine, BREAKER_DEFAULTS, NOON)?.scope).toBe('zone d');
  let woken = 0;
  census.onceChanged(mine, 'id', () => {
    woken += 1;
  });
  nodes.put(zoned('m', 'd', { more: 'labels' }));
  expect(woken).toBe(0);
  for (const name of ['m', 'n', 'o']) nodes.put(zoned(name, 'e'));
  expect(woken).toBeGreaterThan(0);
  expect(census.breakerOf(mine, BREAKER_DEFAULTS, NOON)?.scope).toBe('zone e');
});

test('a machine keeps the zone of its deleted Node, also after its own changes', () => {
  const { census, machines, nodes } = fixedCensus();
  const unplaced = (name: string, since = -11): Machine => {
    const { spec, metadata, ...rest } = one(name, 'Unknown', since);
    const { nodeTemplate: _, ...bare } = spec;
    return { ...rest, spec: bare, metadata: { ...metadata, labels: { node: name } } };
  };
  for (const name of ['m', 'n', 'o']) {
    machines.put(unplaced(name));
    nodes.put(node({ name, metadata: { labels: { [ZONE]: 'd' } } }));
  }
  for (const name of ['m', 'n', 'o']) nodes.lose(node({ name }));
  for (const name of ['m', 'n', 'o']) machines.put(unplaced(name, -9));
  expect(census.breakerOf(unplaced('m', -9), BREAKER_DEFAULTS, NOON)?.scope).toBe('zone d');
});

test('a machine that is created again unchanged counts again', () => {
  const { census, machines } = fixedCensus();
  const all = ['a', 'b', 'c'].map((name) => one(name, 'Unknown'));
  const scope = () => census.breakerOf(all[0] as Machine, BREAKER_DEFAULTS, NOON)?.scope;
  for (const each of all) machines.put(each);
  machines.lose(all[2] as Machine);
  expect(scope()).toBeUndefined();
  machines.put(all[2] as Machine);
  expect(scope()).toBe('zone a');
});

test('two outages are not joined by a deleted machine between them', () => {
  const { census, machines } = fixedCensus();
  const failed = one('failed', 'Failed', -2);
  const between = one('between', 'Unknown', -35);
  const apart = [-44, -44, -26, -26].map((since, i) => one(`m${i}`, 'Unknown', since));
  for (const each of [failed, between, ...apart]) machines.put(each);
  expect(census.breakerOf(failed, BREAKER_DEFAULTS, NOON)?.scope).toBe('zone a');
  machines.lose(between);
  expect(census.breakerOf(failed, BREAKER_DEFAULTS, NOON)).toBeUndefined();
});

test('a machine without class, labels and template, and a Node without labels, cause no error', () => {
  const { census, machines, nodes } = fixedCensus();
  const { metadata, status, ...rest } = one('odd', 'Unknown');
  const odd = partial<Machine>({ ...rest, metadata: { ...metadata, labels: { node: 'odd' } }, status, spec: {} });
  const half = partial<Machine>({
    ...rest,
    metadata: { ...metadata, name: 'half' },
    status,
    spec: { nodeTemplate: { metadata: {} } },
  });
  const quarter = partial<Machine>({
    ...rest,
    metadata: { ...metadata, name: 'quarter' },
    status,
    spec: { nodeTemplate: {} },
  });
  for (const each of [odd, half, quarter]) machines.put(each);
  const { metadata: own, ...bare } = node({ name: 'odd' });
  nodes.put({ ...bare, metadata: own });
  nodes.put({ ...bare, metadata: own });
  census.onceChanged(odd, 'id', () => undefined);
  expect(census.breakerOf(odd, BREAKER_DEFAULTS, NOON)?.scope).toBe('cluster');
});

test('without a target cluster machines have the zone of their template or class', () => {
  const { census, machines } = fixedCensus({ target: false });
  const all = ['a', 'b', 'c'].map((name) => one(name, 'Unknown'));
  for (const each of all) machines.put(each);
  expect(census.breakerOf(all[0] as Machine, BREAKER_DEFAULTS, NOON)?.scope).toBe('zone a');
  const { spec, ...rest } = one('d', 'Unknown');
  const { nodeTemplate: _, ...bare } = spec;
  machines.put({ ...rest, spec: bare });
  expect(census.breakerOf({ ...rest, spec: bare }, BREAKER_DEFAULTS, NOON)?.scope).toBe('cluster');
});

test('a breaker is evaluated again when the first recovered machine has been stable for long enough', () => {
  const { census, machines } = fixedCensus();
  const mine = one('mine', 'Unknown');
  for (const each of [mine, one('b', 'Running', -4), one('c', 'Running', -2)]) machines.put(each);
  const open = census.breakerOf(mine, BREAKER_DEFAULTS, NOON);
  expect(open).toMatchObject({ unreachable: 3, joined: 3, lookAgainAt: new Date(at(2)) });
  machines.put(one('b', 'Unknown'));
  machines.put(one('c', 'Running', 0));
  expect(census.breakerOf(mine, BREAKER_DEFAULTS, NOON)?.lookAgainAt).toEqual(new Date(at(6)));
  machines.put(one('c', 'Unknown'));
  expect(census.breakerOf(mine, BREAKER_DEFAULTS, NOON)?.lookAgainAt).toBeUndefined();
});

test.each([
  ['in the last minute of the window', 10, 'zone a'],
  ['after the window', 11, undefined],
])('machines that became unreachable %s open the circuit breaker, or not', (_what, minutes, scope) => {
  const { census, machines } = fixedCensus();
  const mine = one('mine', 'Unknown', -30);
  for (const each of [mine, ...['b', 'c'].map((name) => one(name, 'Unknown', -30 + minutes))]) machines.put(each);
  expect(census.breakerOf(mine, BREAKER_DEFAULTS, NOON)?.scope).toBe(scope);
});

test.each<[what: string, phases: readonly MachinePhase[], threshold: number, answer: object | undefined]>([
  ['its only machine', ['Unknown'], 50, {}],
  ['both of its machines', ['Unknown', 'Unknown'], 50, { peers: { scope: 'cluster', unreachable: 2, joined: 2 } }],
  ['one of two', ['Unknown', 'Running'], 50, {}],
  ['one that is reachable', ['Running', 'Unknown'], 50, undefined],
  ['all of three: enough for a breaker', ['Unknown', 'Unknown', 'Unknown'], 50, undefined],
  [
    'both, with a threshold of 100 percent',
    ['Unknown', 'Unknown'],
    100,
    { peers: { scope: 'cluster', unreachable: 2, joined: 2 } },
  ],
  ['both, with the breaker switched off', ['Unknown', 'Unknown'], 101, undefined],
])(
  'a cluster too small for the circuit breaker reports whether all its machines are unreachable: %s',
  (_what, phases, threshold, answer) => {
    const { census, machines } = fixedCensus();
    const all = phases.map((phase, i) => one(`m${i}`, phase, phase === 'Running' ? -60 : -11));
    for (const each of all) machines.put(each);
    const limits = { ...BREAKER_DEFAULTS, thresholdPercent: threshold };
    expect(census.smallClusterOf(all[0] as Machine, limits, NOON)).toEqual(answer);
  },
);

test('a machine without data does not count', () => {
  const bare = machine();
  expect([isUnreachable(bare), reachabilityMarks(bare)]).toEqual([false, []]);
  const { currentStatus: _, ...status } = one('a', 'Running').status ?? {};
  const phaseless = { ...bare, status };
  expect([isUnreachable(phaseless), reachabilityMarks(phaseless)]).toEqual([false, []]);
  const unknown = { ...bare, status: { currentStatus: { phase: 'Unknown', lastUpdateTime: at(0) } } } as Machine;
  expect(isUnreachable(unknown)).toBe(true);
  const ready = [
    { type: 'DiskPressure', status: 'False' },
    { type: 'Ready', status: 'True' },
  ] as never;
  expect(isUnreachable({ ...unknown, status: { ...unknown.status, conditions: ready } })).toBe(false);
  const undescribed = { ...unknown, status: { ...unknown.status, conditions: ready, lastOperation: {} } } as Machine;
  expect(isUnreachable(undescribed)).toBe(false);
  const running = { ...bare, status: { currentStatus: { phase: 'Running', lastUpdateTime: at(0) } } } as Machine;
  expect(reachabilityMarks(running)).toEqual(['joined']);
  expect([scopesOf('a'), scopesOf('')]).toEqual([['zone a', 'cluster'], ['cluster']]);
});

const OVERRIDE = (text: string) => ({ [Annotations.BreakerOverride]: text });

test('an override of the machine precedes that of its class, until it expires', () => {
  const own = machine({ metadata: { annotations: OVERRIDE(`${at(5)} lost`) } });
  const { metadata, ...rest } = classOf('small');
  const ofClass = { ...rest, metadata: { ...metadata, annotations: OVERRIDE(`  ${at(9)} lost`) } };
  expect(overriddenUntil(own, ofClass, NOON)).toEqual(new Date(at(5)));
  expect(overriddenUntil(machine(), ofClass, NOON)).toEqual(new Date(at(9)));
  expect(overriddenUntil(machine(), classOf('small'), NOON)).toBeUndefined();
  expect(overriddenUntil(machine(), undefined, NOON)).toBeUndefined();
  expect(overriddenUntil(own, undefined, new Date(at(5)))).toBeUndefined();
});

test.each([
  [`${at(5)} lost`, undefined],
  [`${at(-5)} lost`, undefined],
  [at(5), 'contains no reason'],
  ['soon lost', 'does not start with a time'],
  ['', 'does not start with a time'],
])('an invalid override is reported: %j', (text, problem) => {
  const found = overrideProblem(text);
  expect(found === undefined ? undefined : found.includes(String(problem))).toBe(
    problem === undefined ? undefined : true,
  );
});

test('the message of a breaker contains the minimum count if it is known', () => {
  const open = { scope: 'zone a', unreachable: 3, joined: 4 };
  expect(breakerMessage(open, 50)).toContain(
    '3 of 4 machines of the zone a became unreachable at the same time (limit 50 %). ',
  );
  expect(breakerMessage(open)).toContain('became unreachable at the same time. ');
});
