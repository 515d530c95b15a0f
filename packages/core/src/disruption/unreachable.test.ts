import type { Machine, MachineClass, MachinePhase } from '@mcm/api';
import { describe, expect, test, vi } from 'vitest';
import { at, hc, machine, NOON, node } from '../machine/testing.ts';
import { mirrored } from '../settings/conditions.ts';
import { breakerMessage, overridesBreaker } from './override.ts';
import { fixedCensus } from './test-census.ts';
import { BREAKER_DEFAULTS, reachabilityMarks } from './unreachable.ts';

interface Given {
  readonly phase: MachinePhase;
  readonly since?: number;
  readonly zone?: string;
}

let made = 0;

const given = ({ phase, since = -60, zone = 'a' }: Given): Machine =>
  machine({
    name: `m${++made}`,
    spec: zone ? { nodeTemplate: { metadata: { labels: { 'topology.kubernetes.io/zone': zone } } } } : {},
    status: {
      currentStatus: { phase, lastUpdateTime: at(since) },
      lastOperation: { type: 'HealthCheck', state: 'Successful', description: '', lastUpdateTime: at(since) },
    },
  });

const many = (count: number, what: Given): Machine[] => Array.from({ length: count }, () => given(what));

const decide = (mine: Machine, others: readonly Machine[]) => {
  const { machines, census } = fixedCensus();
  for (const one of [mine, ...others]) machines.put(one);
  return census.breakerOf(mine, BREAKER_DEFAULTS, NOON);
};

const unreachable: Given = { phase: 'Unknown', since: -11 };

test('one unreachable machine among many is replaced', () => {
  expect(decide(given(unreachable), many(9, { phase: 'Running' }))).toBeUndefined();
});

test('two unreachable machines of two are replaced, because they are fewer than the minimum count', () => {
  expect(decide(given(unreachable), many(1, unreachable))).toBeUndefined();
});

test('the circuit breaker opens if the whole cluster is unreachable [#12]', () => {
  expect(decide(given(unreachable), many(5, unreachable))).toEqual({ scope: 'zone a', unreachable: 6, joined: 6 });
});

test('the circuit breaker opens if one of three zones is unreachable [#13]', () => {
  const others = [...many(2, unreachable), ...many(20, { phase: 'Running', zone: 'b' })];
  expect(decide(given(unreachable), others)).toEqual({ scope: 'zone a', unreachable: 3, joined: 3 });
});

test('the circuit breaker opens if half of the cluster is unreachable, but few machines of the own zone', () => {
  const others = [...many(3, { ...unreachable, zone: 'b' }), ...many(4, { phase: 'Running', zone: 'c' })];
  expect(decide(given(unreachable), others)?.scope).toBe('cluster');
});

test('half of the machines open the breaker, and less than half do not', () => {
  const others = (running: number) => [...many(99, unreachable), ...many(running, { phase: 'Running', since: -60 })];
  expect(decide(given(unreachable), others(100))?.joined).toBe(200);
  expect(decide(given(unreachable), others(101))).toBeUndefined();
});

test.each([
  [-4, 2],
  [0, 6],
])(
  'a machine that recovered %d minutes ago counts for five minutes, then the breaker is evaluated again',
  (since, again) => {
    const others = [...many(1, unreachable), ...many(1, { phase: 'Running', since })];
    const open = decide(given(unreachable), others);
    expect(open).toEqual({ scope: 'zone a', unreachable: 3, joined: 3, lookAgainAt: new Date(at(again)) });
  },
);

test('a Failed machine waits for single machines that became unreachable one after the other', () => {
  const failed = given({ phase: 'Failed', since: -2 });
  const others = [-20, -21, -22].map((since) => given({ phase: 'Unknown', since }));
  expect(decide(failed, others)?.unreachable).toBe(3);
});

test('machines that became unreachable at other times have other causes', () => {
  expect(decide(given(unreachable), many(5, { phase: 'Unknown', since: -90 }))).toBeUndefined();
});

test.each([
  ['recently counts as unreachable', -4, true],
  ['long ago does not count', -7, false],
  ['half a minute too long ago does not count', -5.5, false],
])('a machine that became reachable again %s', (_name, since, open) => {
  const others = [...many(1, unreachable), ...many(2, { phase: 'Running', since })];
  expect(decide(given(unreachable), others) !== undefined).toBe(open);
});

test('successors that have not joined, and terminating machines, do not count', () => {
  expect(
    decide(given(unreachable), [...many(5, { phase: 'Pending' }), ...many(5, { phase: 'Terminating' })]),
  ).toBeUndefined();
});

test('the circuit breaker counts a machine', () => {
  const marksOf = (
    phase: MachinePhase,
    type: 'Create' | 'HealthCheck',
    state: 'Successful' | 'Processing',
    going = false,
  ) => {
    const one = given({ phase });
    const metadata = going ? { ...one.metadata, deletionTimestamp: at(0) } : one.metadata;
    const lastOperation = { ...one.status?.lastOperation, type, state };
    return reachabilityMarks({ ...one, metadata, status: { ...one.status, lastOperation } }).map(
      (mark) => mark.split('/')[0],
    );
  };
  expect(marksOf('Running', 'HealthCheck', 'Successful')).toEqual(['joined', 'recovered']);
  expect(marksOf('Running', 'Create', 'Successful')).toEqual(['joined']);
  expect(marksOf('Running', 'HealthCheck', 'Processing')).toEqual(['joined']);
  expect(marksOf('Unknown', 'HealthCheck', 'Processing')).toEqual(['joined', 'unreachable']);
  expect(marksOf('Pending', 'Create', 'Processing')).toEqual([]);
  expect(marksOf('Running', 'HealthCheck', 'Successful', true)).toEqual([]);
  expect(marksOf('Unknown', 'HealthCheck', 'Processing', true)).toEqual([]);
});

const withConditions = (one: Machine, conditions: ReturnType<typeof hc>, description = ''): Machine => ({
  ...one,
  status: {
    ...one.status,
    conditions: mirrored(conditions),
    lastOperation: { ...one.status?.lastOperation, description },
  },
});

test('a full disk does not make a machine unreachable, a lost Node does', () => {
  const full = many(6, unreachable).map((one) => withConditions(one, hc('True')));
  expect(decide(given(unreachable), full.slice(0, 5))).toBeUndefined();
  const lost = many(5, unreachable).map((one) =>
    withConditions(one, hc('True'), 'Node object went missing. Machine m'),
  );
  expect(decide(given(unreachable), lost)?.unreachable).toBe(6);
});

test('a Failed machine waits for those of its zone that became unreachable at the same time, not one by one', () => {
  const failed = given({ phase: 'Failed', since: -2 });
  expect(decide(failed, many(4, unreachable))?.scope).toBe('zone a');
  const apart = [-300, -200, -100, -11].map((since) => given({ phase: 'Unknown', since }));
  expect(decide(failed, apart)).toBeUndefined();
});

function stepsOf(act: () => unknown): number {
  const { get, keys, values, entries } = Map.prototype;
  let steps = 0;
  const counting = (iterate: (this: Map<unknown, unknown>) => MapIterator<unknown>) =>
    function* (this: Map<unknown, unknown>) {
      for (const one of Reflect.apply(iterate, this, [])) {
        steps++;
        yield one;
      }
    } as () => MapIterator<never>;
  const spies = [
    vi.spyOn(Map.prototype, 'get').mockImplementation(function (this: Map<unknown, unknown>, key) {
      steps++;
      return Reflect.apply(get, this, [key]);
    }),
    vi.spyOn(Map.prototype, 'keys').mockImplementation(counting(keys)),
    vi.spyOn(Map.prototype, 'values').mockImplementation(counting(values)),
    vi.spyOn(Map.prototype, 'entries').mockImplementation(counting(entries)),
  ];
  try {
    act();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return steps;
}

test('the cost of evaluating an unhealthy machine does not depend on the number of recovered ones', () => {
  const cost = (recoveries: number): number => {
    const { machines, census } = fixedCensus();
    const failed = given({ phase: 'Failed', since: -2 });
    for (const one of [failed, ...many(2, unreachable)]) machines.put(one);
    for (let i = 0; i < recoveries; i++) {
      const { metadata } = given(unreachable);
      for (const phase of ['Unknown', 'Running'] as const)
        machines.put({ ...given({ phase, since: -60 - i }), metadata });
    }
    return stepsOf(() => census.breakerOf(failed, BREAKER_DEFAULTS, NOON));
  };
  const few = cost(10);
  expect(few).toBeGreaterThan(0);
  expect(cost(2_000)).toBe(few);
});

test('an outage ends for the others when its last machine recovers or is deleted', () => {
  const { machines, census } = fixedCensus();
  const failed = given({ phase: 'Failed', since: -2 });
  const dark = many(4, { ...unreachable, since: -90 });
  for (const one of [failed, ...dark]) machines.put(one);
  const scope = () => census.breakerOf(failed, BREAKER_DEFAULTS, NOON)?.scope;
  expect(scope()).toBe('zone a');
  for (const { metadata } of dark.slice(0, 2)) machines.put({ ...given({ phase: 'Running', since: -60 }), metadata });
  expect(scope()).toBeUndefined();
  for (const one of dark.slice(0, 2)) machines.put(one);
  expect(scope()).toBe('zone a');
  for (const one of dark) machines.lose(one);
  expect(scope()).toBeUndefined();
});

test('the zone is that of the class, or of the Node, if the template has none', () => {
  const { machines, classes, nodes, census } = fixedCensus();
  const nowhere = { ...unreachable, zone: '' };
  const [mine = given(nowhere), ...others] = many(3, nowhere);
  for (const one of [mine, ...others, ...many(20, { phase: 'Running', zone: 'b' })]) machines.put(one);
  expect(census.breakerOf(mine, BREAKER_DEFAULTS, NOON)).toBeUndefined();
  const { apiVersion, metadata } = mine;
  const small = { apiVersion, kind: 'MachineClass', metadata: { ...metadata, name: 'small' }, providerSpec: {} };
  classes.put({ ...small, nodeTemplate: { zone: 'c', region: 'r', instanceType: 't', capacity: {} } } as MachineClass);
  expect(census.breakerOf(mine, BREAKER_DEFAULTS, NOON)?.scope).toBe('zone c');
  classes.put(small as MachineClass);
  for (const one of [mine, ...others]) {
    machines.put({ ...one, metadata: { ...one.metadata, labels: { node: one.metadata.name } } });
    nodes.put(node({ name: one.metadata.name, metadata: { labels: { 'topology.kubernetes.io/zone': 'd' } } }));
  }
  expect(census.breakerOf(mine, BREAKER_DEFAULTS, NOON)?.scope).toBe('zone d');
  nodes.lose(node({ name: mine.metadata.name }));
  expect(census.breakerOf(mine, BREAKER_DEFAULTS, NOON)?.scope).toBe('zone d');
  for (const one of others) machines.lose(one);
  expect(census.breakerOf(mine, BREAKER_DEFAULTS, NOON)).toBeUndefined();
});

test('a machine that is deleted and created again under its name counts once', () => {
  const { machines, census } = fixedCensus();
  const dark = many(3, unreachable);
  for (const one of dark) machines.put(one);
  for (const one of dark) machines.lose(one);
  for (const one of dark) machines.put(one);
  for (const one of dark) machines.put(one);
  const [mine = given(unreachable)] = dark;
  expect(census.breakerOf(mine, BREAKER_DEFAULTS, NOON)).toEqual({ scope: 'zone a', unreachable: 3, joined: 3 });
  for (const one of dark) machines.lose(one);
  machines.lose(given(unreachable));
  expect(census.breakerOf(mine, BREAKER_DEFAULTS, NOON)).toBeUndefined();
});

test('a Node gets its zone after it has joined, and its machine keeps the zone after the Node was deleted', () => {
  const { machines, nodes, census } = fixedCensus();
  const zoned = { 'topology.kubernetes.io/zone': 'd' };
  const dark = many(3, { ...unreachable, zone: '' }).map((one) => ({
    ...one,
    metadata: { ...one.metadata, labels: { node: one.metadata.name } },
  }));
  const [mine = given(unreachable)] = dark;
  const scope = () => census.breakerOf(mine, BREAKER_DEFAULTS, NOON)?.scope;
  for (const one of dark) {
    nodes.put(node({ name: one.metadata.name }));
    machines.put(one);
  }
  expect(scope()).toBe('cluster');
  for (const { metadata } of dark) nodes.put(node({ name: metadata.name, metadata: { labels: zoned } }));
  expect(scope()).toBe('zone d');
  for (const one of dark) {
    nodes.lose(node({ name: one.metadata.name }));
    machines.put({ ...one, metadata: { ...one.metadata, resourceVersion: '2' } });
  }
  expect(scope()).toBe('zone d');
});

describe('a cluster with fewer machines than a breaker needs', () => {
  const small = (mine: Machine, others: readonly Machine[], limits: Partial<typeof BREAKER_DEFAULTS> = {}) => {
    const { machines, census } = fixedCensus();
    for (const one of [mine, ...others]) machines.put(one);
    return census.smallClusterOf(mine, { ...BREAKER_DEFAULTS, ...limits }, NOON);
  };
  const alike = { scope: 'cluster', unreachable: 2, joined: 2 };

  test.each<[what: string, others: Machine[], limits: Partial<typeof BREAKER_DEFAULTS>, result: object | undefined]>([
    ['one machine has no peers', [], {}, {}],
    ['both machines are unreachable', many(1, unreachable), {}, { peers: alike }],
    ['the other machine runs', many(1, { phase: 'Running' }), {}, {}],
    ['the other became unreachable long ago', many(1, { phase: 'Unknown', since: -300 }), {}, {}],
    ['three machines are enough for a breaker', many(2, unreachable), {}, undefined],
    [
      'a breaker of four needs four',
      many(2, unreachable),
      { minimumCount: 4 },
      { peers: { ...alike, unreachable: 3, joined: 3 } },
    ],
    [
      'a threshold of 100 percent still has a breaker',
      many(1, unreachable),
      { thresholdPercent: 100 },
      { peers: alike },
    ],
    ['a threshold above 100 percent turns it off', many(1, unreachable), { thresholdPercent: 101 }, undefined],
  ])('%s', (_what, others, limits, result) => {
    expect(small(given(unreachable), others, limits)).toEqual(result);
  });

  test('a reachable machine of a small cluster is not looked up', () => {
    expect(small(given({ phase: 'Running' }), many(1, unreachable))).toBeUndefined();
  });

  test('in a small cluster, two unreachable machines of three are not all machines', () => {
    const others = [...many(1, unreachable), ...many(1, { phase: 'Running' })];
    expect(small(given(unreachable), others, { minimumCount: 4 })).toEqual({});
  });
});

test.each([
  ['2026-01-01T13:00:00Z the zone is gone for good', true],
  ['2026-01-01T13:00:00Z', false],
  ['2026-01-01T11:00:00Z the zone is gone for good', false],
  ['soon the zone is gone for good', false],
])('an override needs an expiry to come and a reason: %s', (text, overrides) => {
  const annotations = { 'node.machine.sapcloud.io/replace-despite-common-silence': text };
  expect(overridesBreaker(machine({ metadata: { annotations } }), undefined, NOON)).toBe(overrides);
});

describe('a region of a fleet', () => {
  const inRegion = (unreachable: number, clusters: number, region = 'north') => {
    const { machines, census } = fixedCensus({ region: () => ({ region, unreachable, clusters }) });
    const mine = given(unreachableMachine);
    for (const one of [mine, ...many(9, { phase: 'Running' })]) machines.put(one);
    return census.breakerOf(mine, BREAKER_DEFAULTS, NOON);
  };
  const unreachableMachine: Given = { phase: 'Unknown', since: -11 };

  test('a machine is not replaced while many clusters of its region do not answer', () => {
    const open = inRegion(3, 6);
    expect(open).toMatchObject({ scope: 'region north', unreachable: 3, joined: 6, counted: 'clusters' });
    expect(open?.lookAgainAt).toEqual(new Date(NOON.getTime() + 60_000));
    expect(open && breakerMessage(open)).toMatch(
      /^3 of 6 clusters of the region north became unreachable at the same time\. .* until the clusters recover\./,
    );
    expect(inRegion(3, 3, '')?.scope).toBe('fleet');
  });

  test('a machine is replaced if few clusters of its region do not answer', () => {
    expect(inRegion(2, 2)).toBeUndefined();
    expect(inRegion(3, 7)).toBeUndefined();
  });
});
