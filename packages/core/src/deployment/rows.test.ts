import { Annotations, type MachineDeployment, machineDeployments, machineSets } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { sleep } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { NAMESPACE, World, type WorldOptions } from './testing/world.ts';

const start = (options: WorldOptions = {}) => World.start(startControlPlane, options);
const T = '2026-01-01T12:00:30Z';
const trigger = (name: string | undefined) => ({ [Annotations.TriggerDeletion]: `${name}~${T}` });
const conditions = ({ status }: MachineDeployment) =>
  (status?.conditions ?? []).map(({ type, status, reason }) => `${type}=${status}/${reason}`).sort();
const reasons = async (world: World) => (await world.events()).map(({ reason }) => reason);

async function finished(replicas: number, options: WorldOptions = {}, spec: Partial<MachineDeployment['spec']> = {}) {
  const world = await start(options);
  await world.deploy(replicas, spec);
  await world.until(() => world.complete(), 60);
  await world.pass(5);
  world.writes.clear();
  return world;
}

describe('deployments', () => {
  test('a deployment that is being deleted and has no finalizer of ours is ignored [R-04]', async () => {
    await using world = await start();
    await world.deploy(2, { paused: true, replicas: 0 }, { finalizers: ['example.org/mine'] });
    await world.pass(1);
    await world.remove();
    await world.pass(1);
    await world.change({ metadata: { finalizers: ['example.org/mine'] } });
    world.writes.clear();
    await world.pass(60);
    const { finalizers } = (await world.deployment()).metadata;
    expect([finalizers, world.writes.get('PATCH machinedeployments'), world.writes.get('DELETE machinesets')]).toEqual([
      ['example.org/mine'],
      undefined,
      undefined,
    ]);
  });

  test('Recreate creates the first set at once [R-06]', async () => {
    await using world = await start();
    await world.deploy(2, { strategy: { type: 'Recreate' } });
    await world.until(() => world.complete(), 60);
    expect(await world.sizes()).toBe('small:2');
  });

  test('a class of another name gives a second set [R-09]', async () => {
    await using world = await finished(5, { birthMs: (m) => (m.spec.class.name === 'large' ? undefined : 100) });
    await world.changeClass('large');
    await world.pass(5);
    expect(await world.sizes()).toBe('large:1 small:5');
  });

  test('a frozen deployment is reconciled completely; only its sets are frozen [R-17]', async () => {
    await using world = await finished(5, { birthMs: (m) => (m.spec.class.name === 'large' ? undefined : 100) });
    const [set] = await world.sets();
    await world.change({
      metadata: { labels: { freeze: 'True' } },
      spec: { template: { spec: { class: { name: 'large' } } } },
    });
    await world.pass(5);
    expect([(await world.sets()).length, set?.spec.replicas]).toEqual([2, 5]);
  });

  test('a named machine is marked, also while paused [R-13, T-11]', async () => {
    await using world = await finished(2);
    const [name] = (await world.machines()).map(({ metadata }) => metadata.name);
    await world.change({ spec: { paused: true }, metadata: { annotations: { ...trigger(name) } } });
    await world.pass(2);
    const marked = (await world.machines()).filter(
      ({ metadata }) => metadata.annotations?.['machinepriority.machine.sapcloud.io'] === '1',
    );
    expect(marked.map(({ metadata }) => metadata.name)).toEqual([name]);
    expect(await world.machines()).toHaveLength(2);
  });

  test('the scaler time is copied to the new set, its list is not [R-14]', async () => {
    await using world = await finished(2);
    const [name] = (await world.machines()).map(({ metadata }) => metadata.name);
    await world.change({
      metadata: { annotations: { ...trigger(name), [Annotations.LastReplicaChangeByScaler]: T } },
      spec: { replicas: 1 },
    });
    await world.pass(5);
    const [set] = await world.sets();
    expect(set?.metadata.annotations).toMatchObject({ [Annotations.LastReplicaChangeByScaler]: T });
    expect(set?.metadata.annotations).not.toHaveProperty([Annotations.TriggerDeletion]);
  });

  test('deletion deletes each set once and removes the finalizer last [R-15, R-19]', async () => {
    await using world = await finished(2, {
      deathMs: () => 5_000,
      birthMs: (m) => (m.spec.class.name === 'large' ? undefined : 100),
    });
    await world.changeClass('large');
    await world.pass(3);
    const [first] = await world.sets();
    await world.keeper.resource(machineSets, NAMESPACE).delete(first?.metadata.name ?? '');
    await world.pass(1);
    world.writes.clear();
    await world.remove();
    await world.pass(2);
    expect(world.writes.get('DELETE machinesets')).toBe(1);
    expect((await world.deployment()).metadata.finalizers).toContain(world.finalizer);
    await world.until(async () => (await world.machines()).length + (await world.sets()).length === 0, 60);
    await world.pass(1);
    await expect(world.deployment()).rejects.toMatchObject({ code: 404 });
  });

  test('a deployment that scales from 0 to 1 has exactly two conditions, both True [W-20]', async () => {
    await using world = await finished(
      0,
      {},
      { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 2, maxUnavailable: 1 } } },
    );
    expect((await world.sets()).length).toBe(1);
    await world.change({ spec: { replicas: 1 } });
    await world.until(() => world.complete(), 60);
    await world.pass(2);
    const deployment = await world.deployment();
    expect([conditions(deployment), deployment.status?.availableReplicas]).toEqual([
      ['Available=True/MinimumReplicasAvailable', 'Progressing=True/NewMachineSetAvailable'],
      1,
    ]);
  });

  test('during a rollout Progressing is neither complete nor paused [9.4]', async () => {
    await using world = await finished(2, { birthMs: () => 3_000 });
    const seen = new Set<string>();
    world.context.deployments.onChange(({ object }) => {
      const progressing = object.status?.conditions?.find(({ type }) => type === 'Progressing');
      const settled = object.status?.observedGeneration === object.metadata.generation;
      if (settled) seen.add(`${object.status?.updatedReplicas}/${progressing?.status}/${progressing?.reason}`);
    });
    seen.clear();
    await world.changeClass('large');
    await world.until(() => world.complete(), 120);
    const running = [...seen].filter((text) => !text.startsWith('2/'));
    expect(running.length).toBeGreaterThan(0);
    expect(running.filter((text) => text.endsWith('True/NewMachineSetAvailable'))).toEqual([]);
  });
});

describe('views that differ', () => {
  const slow: WorldOptions['fault'] = async (request, answer, clock) => {
    if (request.method !== 'GET') await sleep(clock, 700);
    const response = await answer();
    if (request.method !== 'GET') await sleep(clock, 700);
    return response;
  };

  test('sets and deployment that see replicas at different times create no surplus machine [incident 4]', async () => {
    await using world = await finished(3, { fault: slow, birthMs: () => 2_000, deathMs: () => 2_000 });
    const large = new Set<string>();
    let deleted = 0;
    world.truth.onChange((change) => {
      const { metadata, spec } = change.object;
      if (spec.class.name !== 'large') return;
      large.add(metadata.uid);
      if (metadata.deletionTimestamp !== undefined) deleted++;
    });
    await world.changeClass('large');
    await world.pass(3);
    await world.change({ spec: { replicas: 6 } });
    await world.pass(1);
    await world.change({ spec: { replicas: 7 } });
    await world.until(() => world.complete(), 300);
    expect([large.size, deleted, await world.sizes()]).toEqual([7, 0, 'large:7 small:0']);
  });

  test('a generation counts as observed after its work is done [R31]', async () => {
    let refuses = false;
    const fault: WorldOptions['fault'] = async (request, answer) => {
      if (!refuses || request.method !== 'POST' || !/machinesets$/.test(new URL(request.url).pathname)) return answer();
      return Response.json(
        { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Timeout', code: 504, message: 'slow' },
        { status: 504 },
      );
    };
    await using world = await finished(1, { fault });
    refuses = true;
    await world.changeClass('large');
    await world.pass(10);
    const { metadata, status } = await world.deployment();
    expect(status?.observedGeneration).toBeLessThan(metadata.generation ?? 0);
    refuses = false;
    await world.until(() => world.complete(), 200);
    const after = await world.deployment();
    expect(after.status?.observedGeneration).toBe(after.metadata.generation);
  });
});

describe('names of sets', () => {
  async function nameFor(className: string, collisionCount?: number): Promise<string> {
    await using world = await start();
    await world.deploy(1, {});
    await world.until(() => world.complete(), 60);
    if (collisionCount !== undefined) {
      await world.keeper
        .resource(machineDeployments, NAMESPACE)
        .patch('pool', { type: 'merge', body: { status: { collisionCount } } }, { subresource: 'status' });
    }
    await world.changeClass(className);
    await world.until(() => world.complete(), 60);
    return (await world.sets()).find((set) => set.spec.template.spec.class.name === className)?.metadata.name ?? '';
  }

  test('a name of another template increments the collision count and gives another name [N-08]', async () => {
    const taken = [await nameFor('large'), await nameFor('large', 1)];
    await using world = await finished(1);
    for (const name of taken) {
      await world.keeper.resource(machineSets, NAMESPACE).create({
        metadata: { name, labels: { app: 'elsewhere' } },
        spec: {
          replicas: 0,
          selector: { matchLabels: { app: 'elsewhere' } },
          template: {
            metadata: { labels: { app: 'elsewhere' } },
            spec: { class: { kind: 'MachineClass', name: 'other' } },
          },
        },
      });
    }
    await world.changeClass('large');
    await world.until(() => world.complete(), 60);
    const { status } = await world.deployment();
    const made = (await world.sets()).find((set) => set.spec.template.spec.class.name === 'large');
    expect([status?.collisionCount, taken.includes(made?.metadata.name ?? '')]).toEqual([2, false]);
  });

  test('a set from an earlier attempt is used, without an event [N-09]', async () => {
    let losing = false;
    await using world = await finished(1, {
      fault: async (request, answer) => {
        const response = await answer();
        if (!losing || request.method !== 'POST' || !request.url.includes('machinesets')) return response;
        losing = false;
        throw new TypeError('connection reset');
      },
    });
    losing = true;
    await world.changeClass('large');
    await world.until(() => world.complete(), 60);
    expect([
      await world.sizes(),
      (await world.sets()).length,
      (await world.deployment()).status?.collisionCount,
    ]).toEqual(['large:1 small:0', 2, undefined]);
    expect(await reasons(world)).not.toContain('MachineSetCreateError');
  });
});
