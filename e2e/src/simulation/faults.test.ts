import type { Machine } from '@mcm/api';
import { sampled } from '@mcm/kube/testing';
import type { FaultRule } from '@mcm/provider-local';
import { expect, test } from 'vitest';
import type { Caller } from './network/network.ts';
import { World, type WorldOptions } from './world/world.ts';

const GREEN = { template: { spec: { class: { name: 'green' } } } };
const CONTROLLERS: readonly Caller[] = ['manager', 'machine-controller'];

async function inWorld(options: WorldOptions, story: (world: World) => Promise<void>): Promise<void> {
  const world = await World.start(options);
  try {
    await story(world);
    expect(world.violations, world.reporter.tell()).toEqual([]);
  } finally {
    await world.close();
  }
}

/** Creates a fleet of two machines, and then starts a creation, a rollout or a scale-in. */
const BEGINNINGS = {
  birth: async (world: World) => world.createDeployment(2),
  roll: async (world: World) => {
    await world.createDeployment(2);
    await world.untilSettled(2, 'blue');
    await world.change(GREEN);
  },
  'scale-down': async (world: World) => {
    await world.createDeployment(3);
    await world.untilSettled(3, 'blue');
    await world.change({ replicas: 1 });
  },
} as const;
const ENDS = { birth: [2, 'blue', 2], roll: [2, 'green', 4], 'scale-down': [1, 'blue', 3] } as const;
type Beginning = keyof typeof BEGINNINGS;

function problems(world: World, since: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { level, message, fields } of world.log.lines.slice(since)) {
    if (level !== 'warn' && level !== 'error') continue;
    const { process, component = '', key = '', machine = '', call = '' } = fields;
    const line = `${process} ${component}: ${message} ${key}${machine} ${call}`;
    counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  return counts;
}

const repeated = (counts: ReadonlyMap<string, number>): string[] =>
  [...counts].filter(([, count]) => count > 1).map(([line, count]) => `${count} × ${line}`);

/** Runs until the controllers are in the middle of an operation. */
async function untilWrites(world: World, more: number): Promise<void> {
  const enough = world.writes.length + more;
  await world.until(async () => world.writes.length >= enough, 60_000);
}

const outages: readonly (readonly [Beginning, readonly Caller[]])[] = [
  ['birth', CONTROLLERS],
  ['roll', CONTROLLERS],
  ['scale-down', CONTROLLERS],
  ['birth', [...CONTROLLERS, 'kubelets']],
  ['roll', [...CONTROLLERS, 'kubelets']],
  ['scale-down', [...CONTROLLERS, 'kubelets']],
];
// A plain run tests the creation without kubelets, and the rollout with kubelets.
test.each(sampled(outages, 4))(
  'the API server is unreachable for a minute in the middle of a %s for %j',
  async (beginning, callers) => {
    await inWorld({ kubelets: { joinDelay: 2_000, readyDelay: 2_000 } }, async (world) => {
      await BEGINNINGS[beginning](world);
      await untilWrites(world, 3);
      const since = world.log.lines.length;
      world.network.cut(...callers);
      await world.clock.advance(60_000);
      const said = problems(world, since);
      expect(said.size).toBeGreaterThan(0);
      expect(repeated(said)).toEqual([]);
      world.network.mend();
      const [replicas, machineClass, vms] = ENDS[beginning];
      // The maximum back-off is 15 s, so the controllers continue soon after the outage.
      expect(await world.untilSettled(replicas, machineClass)).toBeLessThan(120_000);
      expect(repeated(problems(world, since))).toEqual([]);
      expect(world.vmsMade).toBe(vms);
    });
  },
);

test('an outage of the API server longer than the health timeout costs no machine', async () => {
  await inWorld({ machine: { healthTimeout: '3m' } }, async (world) => {
    await world.createDeployment(3);
    await world.untilSettled(3, 'blue');
    world.network.cut(...CONTROLLERS, 'kubelets');
    await world.clock.advance(600_000);
    world.network.mend();
    await world.untilSettled(3, 'blue');
    await world.clock.advance(600_000);
    await world.untilSettled(3, 'blue');
    expect(world.vmsMade).toBe(3);
  });
});

const creation: readonly (readonly [string, FaultRule])[] = [
  ['answers 500', { operation: 'instances.create', error: { code: 'InternalError' }, count: 5 }],
  [
    'throttles with Retry-After',
    { operation: 'instances.create', error: { code: 'RequestLimitExceeded', retryAfterSeconds: 30 }, count: 5 },
  ],
  ['times out without effect', { operation: 'instances.create', timeout: {}, count: 3 }],
  ['times out with effect', { operation: 'instances.create', timeout: {}, effect: true, count: 3 }],
  [
    'answers 500 with effect',
    { operation: 'instances.create', error: { code: 'InternalError' }, effect: true, count: 5 },
  ],
  [
    'has no capacity in the zone',
    { operation: 'instances.create', zone: 'local-a', error: { code: 'InsufficientCapacity' }, count: 3 },
  ],
];
test.each(sampled(creation, 4))('the cloud %s when VMs are created', async (_, fault) => {
  await inWorld({}, async (world) => {
    world.cloud.faults.order(fault);
    const since = world.log.lines.length;
    await world.createDeployment(3);
    await world.untilSettled(3, 'blue');
    expect(repeated(problems(world, since))).toEqual([]);
    expect(problems(world, since).size).toBeGreaterThan(0);
  });
});

const deletion: readonly (readonly [string, FaultRule])[] = [
  ['answers 500', { operation: 'instances.delete', error: { code: 'InternalError' }, count: 5 }],
  [
    'throttles with Retry-After',
    { operation: 'instances.delete', error: { code: 'RequestLimitExceeded', retryAfterSeconds: 30 }, count: 5 },
  ],
  ['times out without effect', { operation: 'instances.delete', timeout: {}, count: 3 }],
  ['times out with effect', { operation: 'instances.delete', timeout: {}, effect: true, count: 3 }],
  ['forbids', { operation: 'instances.delete', error: { code: 'PermissionDenied' }, count: 2 }],
];
test.each(sampled(deletion, 4))('the cloud %s when VMs are deleted', async (_, fault) => {
  await inWorld({}, async (world) => {
    await world.createDeployment(3);
    await world.untilSettled(3, 'blue');
    world.cloud.faults.order(fault);
    const since = world.log.lines.length;
    await world.change({ replicas: 0 });
    await world.untilSettled(0, 'blue');
    expect(repeated(problems(world, since))).toEqual([]);
    expect(problems(world, since).size).toBeGreaterThan(0);
    expect(world.vmsMade).toBe(3);
  });
});

test('a throttling cloud gets no request before its Retry-After is over', async () => {
  await inWorld({}, async (world) => {
    const error = { code: 'RequestLimitExceeded', retryAfterSeconds: 45 };
    world.cloud.faults.order({ operation: 'instances.create', error, count: 2 });
    await world.createDeployment(1);
    await world.untilSettled(1, 'blue');
    const asked = world.cloud.requests
      .recent()
      .filter(({ operation }) => operation === 'instances.create')
      .map(({ time }) => Date.parse(time));
    expect(asked).toHaveLength(3);
    for (const [index, at] of asked.slice(1).entries()) expect(at - (asked[index] ?? 0)).toBeGreaterThanOrEqual(45_000);
  });
});

test('a cloud that does not list its new VMs for a while gets no second request for them [#18]', async () => {
  await inWorld({}, async (world) => {
    world.cloud.faults.order({ operation: 'instances.list', stale: 20_000 });
    world.cloud.faults.order({ operation: 'instances.get', stale: 20_000 });
    const lost = world.cloud.faults.order({ operation: 'instances.create', timeout: {}, effect: true, count: 6 });
    await world.createDeployment(4);
    await world.clock.advance(3_000);
    // The cloud does not list the new VMs yet, so the new process repeats the creations of the killed process.
    world.kill('machine-controller');
    await world.clock.advance(180_000);
    world.cloud.faults.clear();
    await world.untilSettled(4, 'blue');
    expect(lost.acted).toBe(6);
    expect(world.vmsMade).toBe(4);
  });
});

test('a machine that is deleted during the creation of its VM leaves no VM [#5]', async () => {
  await inWorld({}, async (world) => {
    world.cloud.faults.order({ operation: 'instances.create', latency: 20_000, count: 2 });
    await world.createDeployment(2);
    await world.clock.advance(5_000);
    const [first] = await world.machines();
    const name = first?.metadata.name ?? '';
    await world.deleteMachine(name);
    await world.until(async () => (await world.machines()).every(({ metadata }) => metadata.name !== name));
    // A create call that is still unfinished would create a VM now, and the orphan collection would delete this VM
    // later.
    await world.clock.advance(30_000);
    expect(world.vms()).not.toContain(name);
    await world.untilSettled(2, 'blue');
    expect(world.vmsMade).toBe(3);
  });
});

test.each<Caller>(['machine-controller', 'manager'])(
  'watches of the %s stop delivering: they are opened again and the work continues',
  async (caller) => {
    await inWorld({}, async (world) => {
      await world.createDeployment(2);
      await world.untilSettled(2, 'blue');
      const opened = world.network.watchesOpened;
      const since = world.log.lines.length;
      world.network.silence(caller);
      await world.change({ replicas: 4 });
      await world.untilSettled(4, 'blue', 200_000);
      expect(world.network.watchesOpened).toBeGreaterThan(opened);
      const silent = world.log.lines.slice(since).filter(({ message }) => message.startsWith('Watch received no data'));
      expect(silent.length).toBeGreaterThan(0);
      const resources = silent.map(({ fields }) => fields.resource);
      expect(new Set(resources).size).toBe(resources.length);
    });
  },
);

test('the controller waits for kubelets that join late', async () => {
  await inWorld({ kubelets: { joinDelay: 300_000, readyDelay: 120_000 } }, async (world) => {
    await world.createDeployment(3);
    expect(await world.untilSettled(3, 'blue')).toBeGreaterThan(420_000);
    expect(world.vmsMade).toBe(3);
  });
});

test('the token of a kubelet that joins at the last moment is still valid [#25]', async () => {
  await inWorld({ kubelets: { joinDelay: 49 * 60_000 }, machine: { creationTimeout: '50m' } }, async (world) => {
    await world.createDeployment(1);
    await world.untilSettled(1, 'blue');
    expect(world.vmsMade).toBe(1);
  });
});

test('a machine whose kubelet never joins becomes Failed after the creation timeout, and is replaced', async () => {
  await inWorld({ machine: { creationTimeout: '5m' } }, async (world) => {
    world.cloud.faults.order({ operation: 'instances.boot', kubelet: { join: 'never' }, count: 1 });
    await world.createDeployment(3);
    const took = await world.untilSettled(3, 'blue');
    expect(took).toBeGreaterThan(300_000);
    expect(took).toBeLessThan(330_000);
    expect(world.vmsMade).toBe(4);
    expect(world.reporter.tell()).toContain('Pending → Failed');
  });
});

async function unknownMachines(world: World): Promise<Machine[]> {
  return (await world.machines()).filter(({ status }) => status?.currentStatus?.phase === 'Unknown');
}

test('a kubelet that stops reporting for a while keeps its machine', async () => {
  await inWorld({}, async (world) => {
    await world.createDeployment(2);
    await world.untilSettled(2, 'blue');
    const [vm] = [...world.cloud.instances.list()];
    world.cloud.kubelets.order(vm?.id ?? '', { silent: true });
    await world.until(async () => (await unknownMachines(world)).length === 1);
    await world.clock.advance(120_000);
    world.cloud.kubelets.order(vm?.id ?? '', { silent: false });
    expect(await world.untilSettled(2, 'blue')).toBeLessThan(30_000);
    expect(world.vmsMade).toBe(2);
  });
});

test('a machine whose kubelet stops reporting permanently is replaced', async () => {
  await inWorld({ machine: { healthTimeout: '5m' } }, async (world) => {
    await world.createDeployment(2);
    await world.untilSettled(2, 'blue');
    const [vm] = [...world.cloud.instances.list()];
    world.cloud.kubelets.order(vm?.id ?? '', { silent: true });
    await world.until(async () => (await unknownMachines(world)).length === 1);
    await world.untilSettled(2, 'blue');
    expect(world.vmsMade).toBe(3);
    expect(vm?.state).toBe('terminated');
  });
});

test('a VM that is deleted outside of mcm is replaced', async () => {
  await inWorld({ machine: { healthTimeout: '5m' } }, async (world) => {
    await world.createDeployment(2);
    await world.untilSettled(2, 'blue');
    const [vm] = [...world.cloud.instances.list()];
    world.cloud.instances.terminate(vm?.id ?? '', 'by hand');
    await world.until(async () => (await unknownMachines(world)).length === 1);
    await world.untilSettled(2, 'blue');
    expect(world.vmsMade).toBe(3);
  });
});

const chancesOfFaults: readonly (readonly [string, object])[] = [
  ['409', { conflict: 0.3 }],
  ['429 with Retry-After', { throttled: 0.3 }],
  ['500', { internal: 0.3 }],
  ['lost answers', { lost: 0.3 }],
  ['all of them', { conflict: 0.1, throttled: 0.1, internal: 0.1, lost: 0.1 }],
];
test.each(sampled(chancesOfFaults, 4))(
  'a fleet is created, rolled out and deleted although random writes meet %s',
  async (_, chances) => {
    await inWorld({}, async (world) => {
      world.network.setFaultChances(chances);
      await world.createDeployment(3);
      await world.untilSettled(3, 'blue');
      await world.change(GREEN);
      await world.untilSettled(3, 'green');
      await world.change({ replicas: 0 });
      await world.untilSettled(0, 'green');
      expect(world.vmsMade).toBe(6);
    });
  },
);

test('the cloud restarts during a rollout: no VM is lost or created twice', async () => {
  await inWorld({ kubelets: { joinDelay: 2_000 } }, async (world) => {
    await world.createDeployment(3);
    await world.untilSettled(3, 'blue');
    await world.change(GREEN);
    await world.clock.advance(3_000);
    world.restartCloud(20_000);
    await world.untilSettled(3, 'green');
    expect(world.vmsMade).toBe(6);
  });
});

test('a machine with a name shorter than five characters is handled as any other [#31]', async () => {
  await inWorld({}, async (world) => {
    await world.createDeployment(1);
    await world.createMachine('a');
    await world.until(async () =>
      (await world.machines()).every(({ status }) => status?.currentStatus?.phase === 'Running'),
    );
    expect(world.vms()).toContain('a');
    await world.deleteMachine('a');
    await world.untilSettled(1, 'blue');
  });
});
