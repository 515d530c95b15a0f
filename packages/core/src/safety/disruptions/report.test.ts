import { Annotations, type MachineDeployment, machineClasses } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { type ConfigMap, configMaps, ignoreNotFound } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { planRollout } from '../../deployment/plan.ts';
import { NAMESPACE, World, type WorldOptions } from '../../deployment/testing/world.ts';
import { DisruptionReport, MOST_ROWS } from '../../disruption/report/report.ts';
import { type DeploymentBudget, rowText } from '../../disruption/report/rows.ts';
import { SAFEGUARD_DEFAULTS } from '../../disruption/safeguards.ts';
import { fixedCensus } from '../../disruption/test-census.ts';
import { BREAKER_DEFAULTS } from '../../disruption/unreachable.ts';
import { at, machine, NOON } from '../../machine/testing.ts';
import { DISRUPTIONS } from './controller.ts';

const HOUR = 3_600;

async function start(replicas: number, options: WorldOptions = {}): Promise<World> {
  const world = await World.start((given) => startControlPlane(given), { reports: true, ...options });
  await world.deploy(replicas);
  await world.until(() => world.complete(), HOUR);
  await world.pass(60);
  return world;
}

async function report(world: World): Promise<Readonly<Record<string, string>>> {
  const object = await ignoreNotFound(world.keeper.resource<ConfigMap>(configMaps, NAMESPACE).get(DISRUPTIONS));
  return object?.data ?? {};
}

const writesOf = (world: World): number =>
  (world.writes.get('PATCH configmaps') ?? 0) + (world.writes.get('POST configmaps') ?? 0);

const names = (world: World): readonly string[] => world.truth.store.list().map(({ metadata }) => metadata.name);

const lose = async (world: World, count: number): Promise<string> => {
  const since = world.clock.now().toISOString();
  for (const name of names(world).slice(0, count)) {
    await world.setPhase(name, 'Unknown', {
      currentStatus: { phase: 'Unknown', lastUpdateTime: since },
      lastOperation: { type: 'HealthCheck', state: 'Processing', description: '', lastUpdateTime: since },
    });
  }
  await world.pass(30);
  return since;
};

test('a fleet at rest has one row for the cluster, and the manager writes it once', async () => {
  await using world = await start(4);
  expect(await report(world)).toEqual({
    cluster:
      'machines: 4\navailable: 4\nallowed: 1\ninUse: 0\nwaiting: 0\nbreaker: Closed\nreason: opens at 3 unreachable machines\n',
  });
  const before = writesOf(world);
  await world.pass(24 * HOUR);
  expect(writesOf(world)).toBe(before);
});

test('an open circuit breaker is listed with its time, its nodes and the states of the VMs', async () => {
  await using world = await start(4);
  await lose(world, 3);
  const [first = ''] = names(world);
  const { cluster = '', ...rest } = await report(world);
  expect(cluster).toContain('available: 1\nunavailable: 3 unreachable\n');
  expect(cluster).toMatch(
    /breaker: Open\nsince: 2026-01-01T\S+Z\nreason: 3 of 4 machines of the cluster became unreachable/,
  );
  expect(rest['class.small']).toContain('unavailable: 3 unreachable\nallowed: 1\n');
  expect(rest['class.small']).toMatch(
    /breaker: Open\nsince: 2026-01-01T\S+Z\nreason: 3 of 4 machines of the cluster became unreachable/,
  );
  expect(rest['deployment.pool']).toContain('breaker: Open\n');
  const at = world.clock.now().toISOString();
  await world.patchMachine(first, { metadata: { annotations: { [Annotations.VmState]: `${at} exists` } } });
  await world.pass(30);
  expect((await report(world)).cluster).toMatch(/VMs in the cloud: 1 exist, 2 not looked up\n/);
});

test('the circuit breaker of a class closes while an annotation of the class overrides it', async () => {
  await using world = await start(4);
  await lose(world, 3);
  const override = { [Annotations.BreakerOverride]: '2026-01-01T20:00:00Z VMs are gone' };
  const body = { metadata: { annotations: override } };
  await world.keeper.resource(machineClasses, NAMESPACE).patch('small', { type: 'merge', body });
  await world.pass(30);
  const { cluster, 'class.small': row } = await report(world);
  expect(cluster).toContain('breaker: Open\n');
  expect(row).toContain('breaker: Closed\n');
});

test('the time of an open circuit breaker survives a restart, and a restart writes nothing', async () => {
  await using world = await start(4);
  await lose(world, 3);
  const before = await report(world);
  const writes = writesOf(world);
  await world.restart();
  await world.pass(HOUR);
  expect(await report(world)).toEqual(before);
  expect(writesOf(world)).toBe(writes);
});

test('after a restart, the rows of deployments stay until the manager has decided about the deployments', async () => {
  let failing = false;
  const decide: WorldOptions['decide'] = (snapshot) => {
    if (failing) throw new Error('not yet');
    return planRollout(snapshot);
  };
  await using world = await start(4, { decide });
  await lose(world, 3);
  const before = await report(world);
  const writes = writesOf(world);
  failing = true;
  await world.restart();
  await world.pass(20);
  failing = false;
  await world.pass(120);
  expect(await report(world)).toEqual(before);
  expect(writesOf(world)).toBe(writes);
});

test('many changes cause at most one write in ten seconds', async () => {
  await using world = await start(6);
  const before = writesOf(world);
  for (let round = 0; round < 30; round++) {
    const [name = ''] = names(world);
    await world.setPhase(name, round % 2 === 0 ? 'Unknown' : 'Running');
    await world.pass(1);
  }
  await world.pass(20);
  expect(writesOf(world) - before).toBeLessThanOrEqual(5);
  expect(writesOf(world)).toBeGreaterThan(before);
});

test('a deleted object is created again, and the rows of a deleted deployment are removed', async () => {
  await using world = await start(3);
  const client = world.keeper.resource<ConfigMap>(configMaps, NAMESPACE);
  await client.delete(DISRUPTIONS);
  await lose(world, 1);
  expect(Object.keys(await report(world)).toSorted()).toEqual(['class.small', 'cluster', 'deployment.pool']);
  await world.remove();
  await world.until(async () => names(world).length === 0, HOUR);
  await world.pass(60);
  expect((await client.get(DISRUPTIONS)).data ?? {}).toEqual({});
});

test('the rows of a former leader are corrected, although its write arrives late', async () => {
  await using world = await start(4);
  const client = world.keeper.resource<ConfigMap>(configMaps, NAMESPACE);
  const data = { cluster: 'machines: 9\n', 'zone.old': 'machines: 9\n' };
  await client.patch(DISRUPTIONS, { type: 'merge', body: { data } });
  await lose(world, 1);
  const { cluster, 'zone.old': old } = await report(world);
  expect(cluster).toContain('machines: 4\navailable: 3\n');
  expect(old).toBeUndefined();
});

test('without the flag, the manager neither reads nor changes the object of an earlier manager', async () => {
  const requests: string[] = [];
  const fault: WorldOptions['fault'] = ({ method, url }, answer) => {
    if (url.includes('/configmaps')) requests.push(`${method} ${url}`);
    return answer();
  };
  await using world = await World.start((given) => startControlPlane(given), { fault });
  const data = { cluster: 'machines: 9\nallowed: 0\nbreaker: Open\n' };
  await world.keeper.resource<ConfigMap>(configMaps, NAMESPACE).create({ metadata: { name: DISRUPTIONS }, data });
  await world.deploy(4);
  await world.until(() => world.complete(), HOUR);
  const [first = ''] = names(world);
  await world.setPhase(first, 'Failed');
  await world.until(async () => !names(world).includes(first), HOUR);
  expect([await report(world), requests]).toEqual([data, []]);
});

test('each zone has a row with its circuit breaker and the evidence, and no budget', () => {
  const { machines, census } = fixedCensus();
  const all = new DisruptionReport({
    settings: SAFEGUARD_DEFAULTS,
    onFiled: (hear) => census.onFiled(hear),
    openIn: (scope, now) => census.openIn(scope, BREAKER_DEFAULTS, now),
    joinedIn: (scope) => census.joinedIn(scope),
    breakerOf: (machine, now) => census.breakerOf(machine, BREAKER_DEFAULTS, now),
  });
  const phases = ['Unknown', 'Unknown', 'Unknown', 'Running', 'Running', 'Running', 'Running'] as const;
  for (const [index, phase] of phases.entries()) {
    const labels = { 'topology.kubernetes.io/zone': phase === 'Unknown' ? 'a' : 'b' };
    const spec = { class: { kind: 'MachineClass', name: 'small' }, nodeTemplate: { metadata: { labels } } };
    const vm = { [Annotations.VmState]: `${at(-1)} gone` };
    const status = { currentStatus: { phase, lastUpdateTime: at(-5) } };
    machines.put(machine({ name: `m-${index}`, metadata: { name: `m-${index}`, annotations: vm }, spec, status }));
  }
  const { rows } = all.rows(NOON);
  const [lost, healthy] = ['zone.a', 'zone.b'].map((key) => rows.get(key));
  expect(lost).toMatchObject({ machines: 3, available: 0, causes: { unreachable: 3 }, breaker: 'Open' });
  expect(lost?.evidence).toMatch(/^unreachable nodes: m-0, m-1, m-2\. VMs in the cloud: 3 gone$/);
  expect(healthy).toMatchObject({ machines: 4, available: 4, breaker: 'Closed', evidence: undefined });
  expect([lost?.allowed, healthy?.allowed]).toEqual([undefined, undefined]);
  expect(rows.get('cluster')).toMatchObject({ machines: 7, available: 4, breaker: 'Closed' });
  expect(rows.get('class.small')).toMatchObject({
    breaker: 'Open',
    reason: '3 of 3 machines of the zone a became unreachable at the same time',
  });
});

test('the circuit breaker of a class is open while it holds a failed machine of the class', () => {
  const { machines, census } = fixedCensus();
  const all = new DisruptionReport({
    settings: SAFEGUARD_DEFAULTS,
    onFiled: (hear) => census.onFiled(hear),
    openIn: (scope, now) => census.openIn(scope, BREAKER_DEFAULTS, now),
    joinedIn: (scope) => census.joinedIn(scope),
    breakerOf: (machine, now) => census.breakerOf(machine, BREAKER_DEFAULTS, now),
  });
  const spec = { class: { kind: 'MachineClass', name: 'small' } };
  const failed = machine({ name: 'm-0', spec, status: { currentStatus: { phase: 'Failed', lastUpdateTime: at(-5) } } });
  machines.put(failed);
  const pool = partial<MachineDeployment>({ metadata: { name: 'pool' }, spec: { template: { spec } } });
  const decision = (held: DeploymentBudget['held']) =>
    partial<DeploymentBudget>({ allowance: 1, waiting: [], held, budget: { replicas: 1, underWay: 0, repairing: 0 } });
  all.decided(pool, decision([]));
  expect(all.rows(NOON).rows.get('class.small')).toMatchObject({ breaker: 'Closed', reason: undefined });
  const breaker = { scope: 'zone a', unreachable: 3, joined: 4 };
  all.decided(pool, decision([{ machine: failed, breaker }]));
  expect(all.rows(NOON).rows.get('class.small')).toMatchObject({
    breaker: 'Open',
    reason: '3 of 4 machines of the zone a became unreachable at the same time',
  });
});

test('the report of a huge fleet stays small', () => {
  const { machines, census } = fixedCensus();
  const all = new DisruptionReport({
    settings: SAFEGUARD_DEFAULTS,
    onFiled: (hear) => census.onFiled(hear),
    openIn: (scope, now) => census.openIn(scope, BREAKER_DEFAULTS, now),
    joinedIn: (scope) => census.joinedIn(scope),
    breakerOf: (machine, now) => census.breakerOf(machine, BREAKER_DEFAULTS, now),
  });
  const lost = { currentStatus: { phase: 'Unknown', lastUpdateTime: at(-5) } } as const;
  for (let n = 0; n < 10_000; n++) {
    const spec = { class: { kind: 'MachineClass', name: `class-${n % 500}` } };
    machines.put(machine({ name: `machine-${n}`, spec, status: lost }));
  }
  const { rows } = all.rows(NOON);
  expect(rows.size).toBe(MOST_ROWS + 1);
  const bytes = [...rows.values()].map((row) => rowText(row, at(0)).length).reduce((sum, length) => sum + length, 0);
  expect(bytes).toBeLessThan(256 * 1024);
  expect(rows.get('cluster')).toMatchObject({ machines: 10_000, available: 0, breaker: 'Open' });
});
