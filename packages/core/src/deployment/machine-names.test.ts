import { Annotations, type MachineSet, machineSets, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { seededRandom, sleep, type VirtualClock } from '@mcm/kube';
import { sampled } from '@mcm/kube/testing';
import { describe, expect, test } from 'vitest';
import { controllerReference } from '../objects/claim.ts';
import { unrecordedNames } from '../objects/machine-names.ts';
import { delayedWatch } from '../testing/delayed-watch.ts';
import { NAMESPACE, World } from './testing/world.ts';

/** `World` verifies that a set never uses a name twice. */

const recorded = ({ metadata }: MachineSet): string | undefined =>
  metadata.annotations?.[Annotations.NextMachineNumbers];

describe('names of machines never repeat', () => {
  test('a replacement does not get the name of the deleted machine', async () => {
    await using world = await World.start(startControlPlane);
    await world.deploy(1);
    await world.until(() => world.complete(), 60);
    for (let count = 0; count < 4; count++) {
      const [machine] = await world.machines();
      await world.deleteMachine(machine?.metadata.name ?? '');
      await world.until(async () => (await world.machines())[0]?.metadata.uid !== machine?.metadata.uid, 60);
      await world.until(() => world.complete(), 60);
    }
    expect(world.names.size).toBe(5);
    expect((await world.sets()).map(recorded)).toEqual(['20005']);
  });

  test('a deployment that is scaled down and up again gives new names', async () => {
    await using world = await World.start(startControlPlane);
    await world.deploy(2);
    for (const replicas of [0, 3, 1, 2, 0, 2]) {
      await world.change({ spec: { replicas } });
      await world.until(() => world.complete(), 120);
    }
    expect(world.names.size).toBeGreaterThanOrEqual(3 + 1 + 2);
  });

  test('a rollback gives new names to the machines of the former set', async () => {
    await using world = await World.start(startControlPlane);
    await world.deploy(2);
    await world.until(() => world.complete(), 60);
    for (const name of ['large', 'small', 'large', 'small']) {
      await world.changeClass(name);
      await world.until(() => world.complete(), 120);
    }
    expect(world.names.size).toBe(10);
    expect((await world.sets()).map(recorded).sort()).toEqual(['20004', '20006']);
  });

  test('the annotation is not copied between a deployment and its sets', async () => {
    await using world = await World.start(startControlPlane);
    await world.deploy(1, {}, { annotations: { [Annotations.NextMachineNumbers]: '21000' } });
    await world.until(() => world.complete(), 60);
    expect((await world.sets()).map(recorded)).toEqual(['20001']);
  });
});

describe('a rollback of spec.rollbackTo', () => {
  const numbers = (value: string) => ({ metadata: { annotations: { [Annotations.NextMachineNumbers]: value } } });

  test('a rollback by mcm copies no count to the deployment', async () => {
    await using world = await World.start(startControlPlane);
    await world.deploy(2);
    await world.until(() => world.complete(), 60);
    await world.changeClass('large');
    await world.until(() => world.complete(), 120);
    await world.change({ spec: { rollbackTo: { revision: 1 } } });
    await world.until(() => world.complete(), 120);
    const { metadata, spec } = await world.deployment();
    expect([spec.rollbackTo, spec.template.spec.class.name]).toEqual([undefined, 'small']);
    expect(metadata.annotations?.[Annotations.NextMachineNumbers]).toBeUndefined();
    expect((await world.sets()).map(recorded).sort()).toEqual(['20002', '20004']);
  });

  test('a rollback by the original copies a lower count to the current set, and no machine gets the name of another', async () => {
    await using world = await World.start(startControlPlane);
    await world.deploy(3);
    await world.until(() => world.complete(), 60);
    await world.changeClass('large');
    await world.until(() => world.complete(), 120);
    // The original copies the annotations of a set to the deployment, and then to the current set.
    await world.change(numbers('20001'));
    const current = (await world.sets()).find(({ spec }) => spec.template.spec.class.name === 'large');
    const client = world.keeper.resource(machineSets, NAMESPACE);
    await client.patch(current?.metadata.name ?? '', { type: 'merge', body: numbers('20001') });
    await world.restart();
    await world.pass(5);
    expect((await world.sets()).map(recorded)).toEqual(['20003', '20003']);
    await world.deleteMachine((await world.machines())[0]?.metadata.name ?? '');
    await world.pass(5);
    await world.until(() => world.complete(), 60);
    await world.changeClass('small');
    await world.until(() => world.complete(), 120);
    expect((await world.sets()).map(recorded).sort()).toEqual(['20004', '20006']);
    expect(world.names.size).toBe(3 + 3 + 1 + 3);
  });
});

class Break {
  requests = 0;
  dead = false;
  readonly #at: number;
  readonly #executed: boolean;

  constructor(at: number, executed: boolean) {
    [this.#at, this.#executed] = [at, executed];
  }

  readonly fault = async (request: Request, answer: () => Promise<Response>): Promise<Response> => {
    if (request.url.includes('watch=true')) return answer();
    if (this.dead) return new Promise(() => undefined);
    this.requests += 1;
    if (this.requests !== this.#at) return answer();
    if (this.#executed) await answer();
    this.dead = true;
    return new Promise(() => undefined);
  };
}

async function dies(at: number, executed: boolean) {
  const broken = new Break(at, executed);
  await using world = await World.start(startControlPlane, { fault: broken.fault });
  let created = 0;
  world.truth.onChange(({ type }) => {
    if (type === 'added') created += 1;
  });
  await world.deploy(3);
  await world.until(() => world.complete() || broken.dead, 60);
  if (!broken.dead) return undefined;
  world.beforeRestart = () => {
    broken.dead = false;
  };
  await world.restart();
  await world.until(() => world.complete(), 60);
  await world.pass(5);
  const before = created;
  for (const { metadata } of await world.machines()) await world.deleteMachine(metadata.name);
  await world.until(() => created === before + 3 && world.complete(), 60);
  return { before, after: created, names: world.names.size };
}

test.each(sampled([true, false], 2))(
  'a manager that dies at any request creates each machine once, under names that do not repeat (executed: %s)',
  { timeout: 600_000 },
  async (executed) => {
    let at = 1;
    for (let result = await dies(at, executed); result !== undefined; result = await dies(++at, executed)) {
      expect({ at, ...result }).toEqual({ at, before: 3, after: 6, names: 6 });
    }
    expect(at).toBeGreaterThan(10);
  },
);

/** The API server executes half of the requests some seconds after their responses are lost. */
function lossyCreations(seed: number) {
  const random = seededRandom(seed);
  const state = { active: true };
  const fault = async (request: Request, answer: () => Promise<Response>, clock: VirtualClock): Promise<Response> => {
    const creates = request.method === 'POST' && request.url.includes('/machines');
    if (!state.active || !creates || random.next() < 0.5) return answer();
    if (random.next() < 0.5) await answer();
    else clock.setTimeout(() => void answer(), random.next() * 4_000);
    throw new TypeError('fetch failed: connection reset');
  };
  return { fault, state };
}

test.each([1, 2, 3])('lost answers create no surplus machine and repeat no name (seed %i)', async (seed) => {
  const { fault, state } = lossyCreations(seed);
  await using world = await World.start(startControlPlane, { fault });
  let most = 0;
  world.truth.onChange(() => {
    const alive = world.truth.store.list().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    most = Math.max(most, alive.length);
  });
  await world.deploy(5);
  await world.until(() => world.complete(), 900);
  for (let round = 0; round < 5; round++) {
    const [machine] = await world.machines();
    await world.deleteMachine(machine?.metadata.name ?? '');
    if (round === 2) await world.restart();
    await world.pass(3);
    await world.until(() => world.complete(), 900);
  }
  state.active = false;
  await world.until(() => world.complete(), 900);
  expect([most, world.names.size]).toEqual([5, 10]);
});

test('a process that starts with old caches creates no surplus machine', async () => {
  let hides = false;
  let hidden: Response | undefined;
  await using world = await World.start(startControlPlane, {
    // The new process gets an outdated list of machines, and its watch starts late.
    fault: async (request, answer, clock) => {
      const reads = request.method === 'GET' && /\/machines\?/.test(request.url);
      if (!hides || !reads || request.url.includes('labelSelector')) return answer();
      if (!request.url.includes('watch=true')) return hidden?.clone() ?? answer();
      await sleep(clock, 10_000);
      return answer();
    },
  });
  await world.deploy(2);
  await world.until(() => world.complete(), 60);
  const client = world.keeper.resource(machines, NAMESPACE);
  const old = await client.list();
  hidden = Response.json({ apiVersion: 'machine.sapcloud.io/v1alpha1', kind: 'MachineList', ...old });
  await world.change({ spec: { replicas: 3 } });
  await world.until(() => world.complete(), 60);
  const [set] = await world.sets();
  hides = true;
  await world.restart();
  await world.pass(30);
  expect(world.names.size).toBe(3);
  expect(set && (await world.keeper.resource(machineSets, NAMESPACE).get(set.metadata.name)).spec.replicas).toBe(3);
});

interface Answers {
  readonly loses?: boolean;
  readonly repeats?: boolean;
}

/** Deletes the first machine of the deployment before the manager has received the response to its create request. */
async function deletedAtOnce({ loses = false, repeats = false }: Answers) {
  let creations = 0;
  let isDown = false;
  await using world: World = await World.start(startControlPlane, {
    fault: async (request, answer, clock) => {
      const { pathname } = new URL(request.url);
      if (request.url.includes('watch=true') && pathname.endsWith('/machines'))
        return delayedWatch(await answer(), () => sleep(clock, repeats && creations < 3 ? 10_000 : 0));
      if (isDown && request.method === 'GET' && pathname.includes('/machines/')) throw new TypeError('reset');
      if (request.method !== 'POST' || !pathname.endsWith('/machines')) return answer();
      creations += 1;
      const response = await answer();
      isDown = repeats && creations === 1;
      if (isDown) throw new TypeError('reset');
      if (creations > (repeats ? 2 : 1)) return response;
      const [first] = await world.machines();
      await world.deleteMachine(first?.metadata.name ?? '');
      await sleep(clock, 1_000);
      if (loses) throw new TypeError('reset');
      return response;
    },
  });
  await world.deploy(1);
  await world.until(() => world.complete(), 120);
  await world.pass(5);
  return { names: world.names.size, recorded: (await world.sets()).map(recorded) };
}

test.each([
  ['and the response arrives', {}],
  ['the response is lost, and the watch shows the machine', { loses: true }],
  ['and a repeated create request gets the response AlreadyExists', { repeats: true }],
])('the name of a machine that is deleted at once is not used again: %s', async (_, how) => {
  expect(await deletedAtOnce(how)).toEqual({ names: 2, recorded: ['20002'] });
});

test('the name of an open number is not used after its machine existed while a new manager read the set', async () => {
  let isRead = false;
  await using world: World = await World.start(startControlPlane, {
    fault: async (request, answer, clock) => {
      const isSet = request.method === 'GET' && /\/machinesets\/[^/?]+$/.test(request.url);
      if (!isRead || !isSet) return answer();
      isRead = false;
      const [set] = await world.sets();
      const [name = ''] = set ? unrecordedNames(set, []) : [];
      const ownerReferences = set ? [{ ...controllerReference({ ...set, kind: 'MachineSet' }) }] : [];
      await world.addMachine({ name, labels: { app: 'pool' }, ownerReferences });
      await world.deleteMachine(name);
      await sleep(clock, 1_000);
      return answer();
    },
  });
  await world.deploy(0);
  await world.pass(5);
  await world.stop();
  const [set] = await world.sets();
  const body = { metadata: { annotations: { [Annotations.NextMachineNumbers]: '20005,20003' } } };
  await world.keeper.resource(machineSets, NAMESPACE).patch(set?.metadata.name ?? '', { type: 'merge', body });
  await world.restart();
  isRead = true;
  await world.change({ spec: { replicas: 1 } });
  await world.until(() => world.complete(), 120);
  expect([isRead, world.names.size]).toEqual([false, 2]);
  await world.change({ spec: { replicas: 2 } });
  await world.until(() => world.complete(), 120);
  expect(world.names.size).toBe(3);
});
