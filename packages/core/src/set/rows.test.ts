import { type Machine, type MachineSet, machineDeployments, machineSets, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import type { VirtualClock } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { NAMESPACE, World, type WorldOptions } from '../deployment/testing/world.ts';

const LABELS = { app: 'alone' };
const status504 = () =>
  Response.json(
    { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Timeout', code: 504, message: 'took too long' },
    { status: 504 },
  );
const status500 = () =>
  Response.json(
    { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'InternalError', code: 500, message: 'broken' },
    { status: 500 },
  );

const isWrite = (request: Request, method: string, end: RegExp) =>
  request.method === method && end.test(new URL(request.url).pathname);

class Alone {
  readonly world: World;
  private constructor(world: World) {
    this.world = world;
  }
  static async start(replicas: number, options: WorldOptions = {}, spec: object = {}): Promise<Alone> {
    const alone = new Alone(await World.start(startControlPlane, options));
    await alone.#sets.create({
      metadata: { name: 'ms' },
      spec: {
        replicas,
        selector: { matchLabels: LABELS },
        template: { metadata: { labels: LABELS }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
        ...spec,
      },
    });
    return alone;
  }
  get #sets() {
    return this.world.keeper.resource(machineSets, NAMESPACE);
  }
  [Symbol.asyncDispose] = () => this.world[Symbol.asyncDispose]();
  set = (): Promise<MachineSet> => this.#sets.get('ms');
  change = (body: object) => this.#sets.patch('ms', { type: 'merge', body });
  remove = () => this.#sets.delete('ms');
  arrived = (count: number) =>
    this.world.until(
      async () => this.world.available() === count && (await this.set()).status?.availableReplicas === count,
      60,
    );
  conditions = async () =>
    ((await this.set()).status?.machineSetCondition ?? []).map(({ type, reason }) => `${type}/${reason}`);
  events = async (reason: string) => (await this.world.events()).filter((event) => event.reason === reason);
}

const stray = (name: string, labels: Record<string, string>, more: object = {}) => ({
  metadata: { name, labels, ...more },
  spec: { class: { kind: 'MachineClass', name: 'small' } },
});

describe('replicas', () => {
  test('a set of three creates three machines [V-01]', async () => {
    await using alone = await Alone.start(3);
    await alone.arrived(3);
    expect((await alone.set()).metadata.finalizers).toEqual([alone.world.finalizer]);
  });

  test('a key without a set costs nothing [V-02]', async () => {
    await using alone = await Alone.start(0);
    await alone.world.pass(2);
    await alone.remove();
    await alone.world.pass(2);
    alone.world.writes.clear();
    await alone.world.pass(1200);
    expect(alone.world.totalWrites()).toBe(0);
  });

  test('a creation that times out on the server counts as one: no failure is reported, and no machine is surplus [M-17]', async () => {
    let slow = true;
    const fault = async (request: Request, answer: () => Promise<Response>) => {
      const response = await answer();
      return slow && isWrite(request, 'POST', /\/machines$/) ? status504() : response;
    };
    await using alone = await Alone.start(10, { fault });
    await alone.world.pass(30);
    slow = false;
    await alone.arrived(10);
    expect([
      alone.world.context.machines.store.size,
      await alone.conditions(),
      await alone.events('FailedCreate'),
    ]).toEqual([10, [], []]);
  });

  test('after a refusal one of ten machines was tried, with one condition and one event, and the condition is removed later [M-16]', async () => {
    let refuses = true;
    const tried = new Set<string>();
    const fault = async (request: Request, answer: () => Promise<Response>) => {
      if (!refuses || !isWrite(request, 'POST', /\/machines$/)) return answer();
      tried.add(((await request.clone().json()) as Machine).metadata.name);
      return status500();
    };
    await using alone = await Alone.start(10, { fault });
    await alone.world.pass(3);
    expect(tried.size).toBe(1);
    expect(await alone.conditions()).toEqual(['ReplicaFailure/FailedCreate']);
    expect((await alone.events('FailedCreate')).length).toBeGreaterThan(0);
    refuses = false;
    await alone.arrived(10);
    expect(await alone.conditions()).toEqual([]);
  });

  test('two Failed machines are deleted and replaced [M-30]', async () => {
    await using alone = await Alone.start(2);
    await alone.arrived(2);
    const before = (await alone.world.machines()).map(({ metadata }) => metadata);
    for (const { name } of before) await alone.world.setPhase(name, 'Failed');
    // By default, --max-unhealthy-replacements allows one replacement at a time. A replacement can have the name of the
    // machine that it replaces.
    const now = () => new Set(alone.world.context.machines.store.list().map(({ metadata }) => metadata.uid));
    await alone.world.until(() => before.every(({ uid }) => !now().has(uid)), 60);
    await alone.arrived(2);
  });

  test('a refused deletion leaves the machines, is reported, and is retried [M-31]', async () => {
    let refuses = false;
    const fault = async (request: Request, answer: () => Promise<Response>) =>
      refuses && isWrite(request, 'DELETE', /\/machines\//) ? status500() : answer();
    await using alone = await Alone.start(2, { fault });
    await alone.arrived(2);
    refuses = true;
    await alone.change({ spec: { replicas: 0 } });
    await alone.world.pass(5);
    expect(
      (await alone.world.machines()).map((m) => [m.status?.currentStatus?.phase, m.metadata.deletionTimestamp]),
    ).toEqual([
      ['Running', undefined],
      ['Running', undefined],
    ]);
    expect(await alone.conditions()).toContain('ReplicaFailure/FailedDelete');
    expect((await alone.events('FailedDelete')).length).toBeGreaterThan(0);
    refuses = false;
    await alone.world.until(async () => (await alone.world.machines()).length === 0, 200);
    await alone.world.pass(2);
    expect(await alone.conditions()).toEqual([]);
  });

  test('a Failed machine is deleted with one request; only its own controller writes the phase [M-33]', async () => {
    await using alone = await Alone.start(1, { deathMs: () => 5_000 });
    await alone.arrived(1);
    const [first] = await alone.world.machines();
    await alone.world.setPhase(first?.metadata.name ?? '', 'Failed', {
      lastOperation: { type: 'HealthCheck', state: 'Failed', description: 'gone silent' },
    });
    alone.world.writes.clear();
    await alone.world.pass(2);
    expect([alone.world.writes.get('DELETE machines'), alone.world.writes.get('PUT machines/status')]).toEqual([
      1,
      undefined,
    ]);
    const [event] = await alone.events('SuccessfulDelete');
    expect(event?.message).toContain(first?.metadata.name);
  });
});

describe('status', () => {
  test.each([1, 3])(
    'V-08 a status write that fails %i times is made in the end, ODD-25 and one for a set that is gone is no failure',
    async (times) => {
      let left = times;
      const fault = async (request: Request, answer: () => Promise<Response>) => {
        if (left > 0 && isWrite(request, 'PUT', /\/machinesets\/ms\/status$/)) {
          left--;
          return status500();
        }
        return answer();
      };
      await using alone = await Alone.start(2, { fault });
      await alone.arrived(2);
      expect([left, (await alone.set()).status?.readyReplicas]).toEqual([0, 2]);
      await alone.remove();
      await alone.world.until(async () => (await alone.world.sets()).length === 0, 60);
      await alone.world.pass(5);
      expect(alone.world.log.lines.filter((line) => /not found/i.test(JSON.stringify(line)))).toEqual([]);
    },
  );
});

describe('deletion', () => {
  test('a set without machines loses only the finalizer of mcm [V-03, M-32]', async () => {
    await using alone = await Alone.start(0);
    await alone.world.pass(2);
    await alone.change({ metadata: { finalizers: [alone.world.finalizer, 'example.org/mine'] } });
    await alone.remove();
    await alone.world.pass(2);
    expect((await alone.set()).metadata.finalizers).toEqual(['example.org/mine']);
  });

  test('all machines of a set that is being deleted are deleted in one pass [V-11]', async () => {
    await using alone = await Alone.start(150, { deathMs: () => 30_000 });
    await alone.arrived(150);
    alone.world.writes.clear();
    await alone.remove();
    await alone.world.pass(5);
    expect(alone.world.writes.get('DELETE machines')).toBe(150);
    await alone.world.until(async () => (await alone.world.sets()).length === 0, 60);
  });
});

describe('claims', () => {
  test('a deployment claims the sets that its selector matches [G-01, G-02, G-04]', async () => {
    await using alone = await Alone.start(1);
    const { world } = alone;
    await world.keeper.resource(machineSets, NAMESPACE).create({
      metadata: { name: 'second', labels: { app: 'pool', kept: 'yes' } },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: 'pool', kept: 'yes' } },
        template: {
          metadata: { labels: { app: 'pool', kept: 'yes' } },
          spec: { class: { kind: 'MachineClass', name: 'former' } },
        },
      },
    });
    await world.deploy(1);
    await world.until(() => world.context.deployments.store.get('test/pool')?.status?.availableReplicas === 1, 60);
    const uid = (await world.deployment()).metadata.uid;
    const owners = Object.fromEntries(
      (await world.sets()).map(({ metadata }) => [
        ['ms', 'second'].includes(metadata.name) ? metadata.name : 'new',
        metadata.ownerReferences?.[0]?.uid,
      ]),
    );
    expect(owners).toEqual({ ms: undefined, second: uid, new: uid });
  });

  test('a set that is being deleted, which the cache does not show yet, adopts nothing [G-11]', async () => {
    let stale = false;
    const delay = async (request: Request, answer: () => Promise<Response>, clock: VirtualClock) => {
      const response = await answer();
      if (!stale || request.method !== 'GET' || !/machinesets\/ms$/.test(new URL(request.url).pathname))
        return response;
      const live = (await response.json()) as MachineSet;
      return Response.json({ ...live, metadata: { ...live.metadata, deletionTimestamp: clock.now().toISOString() } });
    };
    await using alone = await Alone.start(0, { fault: delay });
    await alone.world.pass(2);
    stale = true;
    alone.world.writes.clear();
    for (const name of ['one', 'two'])
      await alone.world.keeper.resource(machines, NAMESPACE).create(stray(name, LABELS));
    await alone.world.pass(3);
    const owners = (await alone.world.machines()).map(({ metadata }: Machine) => metadata.ownerReferences);
    expect([owners, alone.world.writes.get('PATCH machines')]).toEqual([[undefined, undefined], undefined]);
    const said = JSON.stringify(alone.world.log.lines);
    expect(said).toContain('does not adopt one, two');
  });
});

describe('freeze', () => {
  test('a deployment with a freeze mark and without a frozen set is unfrozen [F-09]', async () => {
    await using world = await World.start(startControlPlane);
    await world.deploy(1);
    await world.until(() => world.complete(), 60);
    await world.change({ metadata: { labels: { freeze: 'True' } } });
    await world.pass(2);
    expect((await world.deployment()).metadata.labels ?? {}).toEqual({});
  });

  test('all sets with too many machines are frozen at once, not one each minute [F-08, ODD-1 corrected]', async () => {
    await using world = await World.start(startControlPlane, { deathMs: () => 20_000 });
    const pools = ['a', 'b', 'c'];
    for (const name of pools) {
      await world.keeper.resource(machineDeployments, NAMESPACE).create({
        metadata: { name },
        spec: {
          replicas: 6,
          selector: { matchLabels: { app: name } },
          template: { metadata: { labels: { app: name } }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
          strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
        },
      });
    }
    await world.until(() => world.available() === 18, 60);
    for (const name of pools) {
      await world.keeper
        .resource(machineDeployments, NAMESPACE)
        .patch(name, { type: 'merge', body: { spec: { replicas: 1 } } });
    }
    await world.pass(3);
    expect((await world.sets()).map(({ metadata }) => metadata.labels?.freeze)).toEqual(['True', 'True', 'True']);
  });
});
