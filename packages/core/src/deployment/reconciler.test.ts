import { Annotations } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { describe, expect, test } from 'vitest';
import { World, type WorldOptions } from './testing/world.ts';

const start = (options: WorldOptions = {}) => World.start(startControlPlane, options);
const conditions = (object: { status?: { conditions?: { type: string; status: string; reason?: string }[] } }) =>
  (object.status?.conditions ?? []).map(({ type, status, reason }) => `${type}=${status}/${reason}`).sort();

describe('creation', () => {
  test('three machines are created with the names of the original, then nothing is written', async () => {
    await using world = await start();
    await world.deploy(3);
    await world.until(() => world.complete(), 60);
    const [set] = await world.sets();
    expect(set?.metadata.name).toMatch(/^pool-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    expect(set?.metadata.labels?.['machine-template-hash']).toBe(
      set?.spec.selector.matchLabels?.['machine-template-hash'],
    );
    expect(set?.metadata.annotations).toEqual({
      'deployment.kubernetes.io/desired-replicas': '3',
      'deployment.kubernetes.io/max-replicas': '4',
      'deployment.kubernetes.io/revision': '1',
      'node.machine.sapcloud.io/next-machine-numbers': '20003',
    });
    for (const machine of await world.machines()) {
      expect(machine.metadata.name).toMatch(new RegExp(`^${set?.metadata.name}-.{5}$`));
      expect(machine.metadata.finalizers).toEqual([world.finalizer]);
    }
    const deployment = await world.deployment();
    expect(deployment.metadata.annotations?.['deployment.kubernetes.io/revision']).toBe('1');
    expect(conditions(deployment)).toEqual([
      'Available=True/MinimumReplicasAvailable',
      'Progressing=True/NewMachineSetAvailable',
    ]);
    await world.pass(5);
    const before = world.totalWrites();
    await world.pass(1800);
    expect(world.totalWrites()).toBe(before);
  });

  test('a hundred machines need one write each, and a few for set and deployment', async () => {
    await using world = await start({ birthMs: (_machine, index) => 500 + index * 13 });
    await world.deploy(100);
    await world.until(() => world.complete(), 60);
    await world.pass(10);
    expect(world.writes.get('POST machines')).toBe(100);
    expect(world.totalWrites() - 100).toBeLessThan(20);
  });
});

describe('rolling update', () => {
  test('a hundred machines with a surge of 10 % finish in time, within bounds, with few writes', async () => {
    await using world = await start({
      birthMs: (_m, i) => 200 + (i % 10) * 20,
      deathMs: (_m, i) => 200 + (i % 10) * 20,
    });
    await world.deploy(100, {
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '10%', maxUnavailable: 0 } },
    });
    await world.until(() => world.complete(), 60);
    await world.pass(10);
    world.writes.clear();
    const extremes = { most: 0, leastAvailable: 100 };
    world.context.machines.onChange(() => {
      const all = world.context.machines.store.list();
      const available = all.filter(
        (m) => m.status?.currentStatus?.phase === 'Running' && !m.metadata.deletionTimestamp,
      ).length;
      extremes.most = Math.max(extremes.most, all.length);
      extremes.leastAvailable = Math.min(extremes.leastAvailable, available);
    });
    extremes.leastAvailable = 100;
    await world.changeClass('large');
    const tookMs = await world.until(() => world.complete(), 120);
    expect(tookMs).toBeLessThan(20_000);
    expect(extremes).toEqual({ most: 110, leastAvailable: 100 });
    await world.pass(10);
    await world.context.recorder.flush();
    const { writes } = world;
    expect(writes.get('POST machines')).toBe(100);
    expect(writes.get('DELETE machines')).toBe(100);
    // An old node gets the taint and the annotations in one write.
    expect(writes.get('PATCH nodes')).toBe(300);
    expect(world.totalWrites() - 500).toBeLessThanOrEqual(130);
    for (const node of await world.nodes()) {
      expect(node.metadata.annotations ?? {}).toEqual({});
      expect(node.spec.taints ?? []).toEqual([]);
    }
  });

  test('old nodes are tainted and all nodes protected from the autoscaler; the end of the rollout reverts both', async () => {
    await using world = await start({ birthMs: () => 5_000, deathMs: () => 1_000 });
    await world.deploy(2);
    await world.until(() => world.complete(), 60);
    await world.changeClass('large');
    await world.until(async () => (await world.nodes()).length === 3, 60);
    await world.pass(0.5);
    const disabled = {
      'cluster-autoscaler.kubernetes.io/scale-down-disabled': 'true',
      'cluster-autoscaler.kubernetes.io/scale-down-disabled-by-mcm': 'true',
    };
    const taint = {
      key: 'deployment.machine.sapcloud.io/prefer-no-schedule',
      value: 'True',
      effect: 'PreferNoSchedule',
    };
    const classes = new Map((await world.machines()).map((m) => [m.metadata.name, m.spec.class.name]));
    for (const node of await world.nodes()) {
      expect(node.metadata.annotations).toEqual(disabled);
      expect(node.spec.taints ?? []).toEqual(classes.get(node.metadata.name) === 'small' ? [taint] : []);
    }
    const protect = (await world.machines()).map(({ metadata: { annotations = {}, name } }) => [
      classes.get(name),
      annotations['deployment.machine.sapcloud.io/protect-new-node'],
    ]);
    expect(protect.sort()).toEqual([
      ['large', 'true'],
      ['small', undefined],
      ['small', undefined],
    ]);
    const old = (await world.sets()).find((set) => set.spec.template.spec.class.name === 'small');
    expect(old?.metadata.annotations?.['deployment.machine.sapcloud.io/prefer-no-schedule']).toBe('True');
    await world.until(() => world.complete(), 60);
    await world.pass(3);
    expect((await world.nodes()).map((node) => [node.metadata.annotations ?? {}, node.spec.taints ?? []])).toEqual([
      [{}, []],
      [{}, []],
    ]);
  });

  test('a return to the former template during a rollout continues its set with the next revision', async () => {
    await using world = await start({ birthMs: (m) => (m.spec.class.name === 'large' ? undefined : 100) });
    await world.deploy(3);
    await world.until(() => world.complete(), 60);
    const before = (await world.machines()).map((m) => m.metadata.uid).sort();
    await world.changeClass('large');
    await world.pass(10);
    expect(await world.sizes()).toBe('large:1 small:3');
    await world.changeClass('small');
    await world.until(() => world.complete(), 60);
    expect(await world.sizes()).toBe('large:0 small:3');
    expect((await world.machines()).map((m) => m.metadata.uid).sort()).toEqual(before);
    const [small] = (await world.sets()).filter((set) => set.spec.template.spec.class.name === 'small');
    expect(small?.metadata.annotations).toMatchObject({
      'deployment.kubernetes.io/revision': '3',
      'deployment.kubernetes.io/revision-history': '1',
    });
    expect((await world.deployment()).metadata.annotations?.['deployment.kubernetes.io/revision']).toBe('3');
  });

  test('a new template and new replicas in one write roll out together [W-21, incident 11]', async () => {
    await using world = await start();
    await world.deploy(2);
    await world.until(() => world.complete(), 60);
    await world.change({ spec: { replicas: 4, template: { spec: { class: { name: 'large' } } } } });
    await world.until(() => world.complete(), 60);
    expect(await world.sizes()).toBe('large:4 small:0');
  });

  test('node template, timeouts and class kind are copied without a rollout [N-15]', async () => {
    await using world = await start();
    await world.deploy(2);
    await world.until(() => world.complete(), 60);
    const before = (await world.machines()).map((m) => m.metadata.uid).sort();
    await world.change({
      spec: {
        template: {
          spec: {
            class: { kind: 'OtherClass' },
            drainTimeout: '30m',
            nodeTemplate: { metadata: { labels: { gen: '2' } } },
          },
        },
      },
    });
    await world.pass(5);
    expect(await world.sizes()).toBe('small:2');
    const machines = await world.machines();
    expect(machines.map((m) => m.metadata.uid).sort()).toEqual(before);
    for (const machine of machines) {
      expect(machine.spec).toMatchObject({
        class: { kind: 'OtherClass', name: 'small' },
        drainTimeout: '30m',
        nodeTemplate: { metadata: { labels: { gen: '2' } } },
      });
    }
    await world.change({ spec: { template: { spec: { drainTimeout: null } } } });
    await world.pass(5);
    for (const machine of await world.machines()) expect(machine.spec).not.toHaveProperty('drainTimeout');
  });

  test('a missed deadline is reported, and the rollout continues', async () => {
    const joins = { large: false };
    await using world = await start({
      birthMs: (m) => (m.spec.class.name === 'small' || joins.large ? 100 : undefined),
    });
    await world.deploy(2, { progressDeadlineSeconds: 60 });
    await world.until(() => world.complete(), 60);
    await world.changeClass('large');
    await world.pass(58);
    expect(conditions(await world.deployment())).toContain('Progressing=True/MachineSetUpdated');
    await world.pass(5);
    expect(conditions(await world.deployment())).toContain('Progressing=False/ProgressDeadlineExceeded');
    joins.large = true;
    for (const machine of await world.machines()) {
      if (machine.spec.class.name === 'large') await world.setPhase(machine.metadata.name, 'Running');
    }
    await world.until(() => world.complete(), 60);
    expect(conditions(await world.deployment())).toEqual([
      'Available=True/MinimumReplicasAvailable',
      'Progressing=True/NewMachineSetAvailable',
    ]);
  });

  test('no more old sets are kept than the limit allows', async () => {
    await using world = await start({ classes: ['small', 'a', 'b', 'c', 'd'] });
    await world.deploy(1, { revisionHistoryLimit: 1 });
    for (const name of ['a', 'b', 'c', 'd']) {
      await world.until(() => world.complete(), 60);
      await world.changeClass(name);
    }
    await world.until(() => world.complete(), 60);
    await world.pass(5);
    expect(await world.sizes()).toBe('c:0 d:1');
  });
});

describe('pause, rollback, scaling', () => {
  test('a paused deployment scales, but does not roll out, and its condition reports the pause', async () => {
    await using world = await start();
    await world.deploy(2);
    await world.until(() => world.complete(), 60);
    await world.change({ spec: { paused: true, template: { spec: { class: { name: 'large' } } } } });
    await world.pass(10);
    expect(await world.sizes()).toBe('small:2');
    expect(conditions(await world.deployment())).toContain('Progressing=Unknown/DeploymentPaused');
    await world.change({ spec: { replicas: 4 } });
    await world.pass(10);
    expect(await world.sizes()).toBe('small:4');
    await world.change({ spec: { paused: false } });
    await world.until(() => world.complete(), 60);
    expect(await world.sizes()).toBe('large:4 small:0');
  });

  test('a rollout that is paused midway creates and deletes no machine until the user scales', async () => {
    await using world = await start();
    await world.deploy(3);
    await world.until(() => world.complete(), 60);
    await world.change({
      metadata: { annotations: { [Annotations.RolloutCanary]: '1', [Annotations.RolloutCanarySoak]: '1h' } },
      spec: {
        strategy: { rollingUpdate: { maxSurge: 3 } },
        template: { spec: { class: { name: 'large' } } },
      },
    });
    await world.until(async () => (await world.sizes()) === 'large:1 small:3', 60);
    await world.change({ spec: { paused: true } });
    await world.pass(1_300);
    expect(await world.sizes()).toBe('large:1 small:3');
    await world.change({ spec: { replicas: 4 } });
    await world.until(async () => (await world.sizes()) === 'large:1 small:4', 60);
  });

  test('with feature RolloutAnnotations disabled canaries delay nothing', async () => {
    await using world = await start({ safeguards: { rolloutAnnotations: false } });
    await world.deploy(3);
    await world.until(() => world.complete(), 60);
    await world.change({
      metadata: { annotations: { [Annotations.RolloutCanary]: '1', [Annotations.RolloutCanarySoak]: '1h' } },
      spec: { template: { spec: { class: { name: 'large' } } } },
    });
    await world.until(async () => (await world.sizes()) === 'large:3 small:0', 600);
  });

  test('a rollback restores the previous revision, and a missing revision is reported [R-24]', async () => {
    await using world = await start();
    await world.deploy(2, { revisionHistoryLimit: 10 });
    await world.until(() => world.complete(), 60);
    await world.changeClass('large');
    await world.until(() => world.complete(), 60);
    await world.change({ spec: { rollbackTo: { revision: 0 } } });
    await world.until(() => world.complete(), 60);
    await world.until(async () => (await world.sizes()) === 'large:0 small:2', 60);
    await world.until(() => world.complete(), 60);
    const { spec, metadata } = await world.deployment();
    expect(spec.rollbackTo).toBeUndefined();
    expect(spec.template).toEqual({
      metadata: { labels: { app: 'pool' } },
      spec: { class: { kind: 'MachineClass', name: 'small' } },
    });
    expect(metadata.annotations?.['deployment.kubernetes.io/revision']).toBe('3');
    await world.change({ spec: { rollbackTo: { revision: 9 } } });
    await world.pass(5);
    await world.change({ spec: { rollbackTo: { revision: 3 } } });
    await world.pass(5);
    expect((await world.deployment()).spec.rollbackTo).toBeUndefined();
    expect(await world.sizes()).toBe('large:0 small:2');
    const reasons = (await world.events()).map((event) => event.reason);
    expect(reasons).toContain('DeploymentRollback');
    expect(reasons).toContain('DeploymentRollbackRevisionNotFound');
    expect(reasons).toContain('DeploymentRollbackTemplateUnchanged');
  });

  test('a deployment scales to 0 and back', async () => {
    await using world = await start();
    await world.deploy(5);
    await world.until(() => world.complete(), 60);
    await world.change({ spec: { replicas: 0 } });
    await world.until(() => world.complete(), 60);
    await world.change({ spec: { replicas: 3 } });
    await world.until(() => world.complete(), 60);
    expect((await world.machines()).length).toBe(3);
  });

  test('the machine that the autoscaler named is deleted, and the list is cleared [T-01]', async () => {
    await using world = await start({ deathMs: () => 2_000 });
    await world.deploy(3);
    await world.until(() => world.complete(), 60);
    const [victim] = (await world.machines())
      .map((m) => m.metadata.name)
      .sort()
      .reverse();
    await world.change({
      metadata: {
        annotations: { 'node.machine.sapcloud.io/trigger-deletion-by-mcm': `${victim}~2026-01-01T12:00:30Z` },
      },
      spec: { replicas: 2 },
    });
    await world.until(() => world.complete(), 60);
    await world.pass(3);
    expect((await world.machines()).map((m) => m.metadata.name)).not.toContain(victim);
    const annotations = (await world.deployment()).metadata.annotations;
    expect(annotations).not.toHaveProperty(['node.machine.sapcloud.io/trigger-deletion-by-mcm']);
    expect(annotations).toHaveProperty(['machine.sapcloud.io/last-deployment-replica-change-by-scaler-time']);
  });
});

describe('recreate', () => {
  test('Recreate never has machines of two templates [R-08]', async () => {
    await using world = await start({ deathMs: () => 3_000 });
    await world.deploy(3, { strategy: { type: 'Recreate' } });
    await world.until(() => world.complete(), 60);
    let mixed = false;
    world.context.machines.onChange(() => {
      mixed ||= new Set(world.context.machines.store.list().map((m) => m.spec.class.name)).size > 1;
    });
    await world.changeClass('large');
    await world.until(() => world.complete(), 60);
    expect([mixed, await world.sizes()]).toEqual([false, 'large:3 small:0']);
  });
});

describe('ownership and deletion', () => {
  test('deleting a deployment deletes its machines', async () => {
    await using world = await start();
    await world.deploy(3);
    await world.until(() => world.complete(), 60);
    await world.remove();
    await world.until(async () => (await world.machines()).length + (await world.sets()).length === 0, 60);
    await world.pass(1);
    await expect(world.deployment()).rejects.toMatchObject({ code: 404 });
  });

  test('a machine whose labels no longer match is released and replaced; its reference is removed [BUG-1]', async () => {
    await using world = await start();
    await world.deploy(2);
    await world.until(() => world.complete(), 60);
    const [name = ''] = (await world.machines()).map((m) => m.metadata.name);
    await world.patchMachine(name, { metadata: { labels: { app: 'mine' } } });
    await world.pass(5);
    const machines = await world.machines();
    expect(machines.length).toBe(3);
    expect(machines.find((m) => m.metadata.name === name)?.metadata.ownerReferences ?? []).toEqual([]);
    await world.patchMachine(name, { metadata: { labels: { app: 'pool' } } });
    await world.until(() => world.complete(), 60);
    expect((await world.machines()).length).toBe(2);
  });

  test('a machine that a user deletes is replaced', async () => {
    await using world = await start({ deathMs: () => 20_000 });
    await world.deploy(2);
    await world.until(() => world.complete(), 60);
    const [name = ''] = (await world.machines()).map((m) => m.metadata.name);
    await world.deleteMachine(name);
    await world.until(() => world.available() === 2 && world.context.machines.store.size === 3, 10);
    await world.until(() => world.complete(), 60);
  });

  test('a Failed machine is replaced', async () => {
    await using world = await start();
    await world.deploy(2);
    await world.until(() => world.complete(), 60);
    const [name = ''] = (await world.machines()).map((m) => m.metadata.name);
    await world.setPhase(name, 'Failed', {
      lastOperation: { state: 'Failed', type: 'HealthCheck', description: 'gone silent' },
    });
    await world.until(() => !world.context.machines.store.get(`test/${name}`), 20);
    await world.until(() => world.complete(), 60);
  });
});

describe('overshooting', () => {
  test('a scale-down from 6 to 2 freezes and unfreezes the set once [F-13]', async () => {
    await using world = await start({ deathMs: () => 5_000 });
    await world.deploy(6, { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 2, maxUnavailable: 0 } } });
    await world.until(() => world.complete(), 60);
    await world.change({ spec: { replicas: 2 } });
    await world.pass(2);
    expect(conditions(await world.deployment())).toContain('Frozen=True/OverShootingReplicaCount');
    expect((await world.deployment()).metadata.labels?.freeze).toBe('True');
    await world.until(() => world.complete(), 60);
    await world.pass(2);
    const events = await world.events();
    const reasons = events.map((event) => event.reason);
    expect(events.filter(({ reason }) => reason === 'FrozeMachineSet').map(({ message }) => message)).toEqual([
      expect.stringMatching(
        /^MachineSet ".*" had 6 machines at the start of the freeze, and its limit is 6\. mcm adds no machine until the set has fewer machines$/,
      ),
    ]);
    expect(reasons.filter((reason) => reason === 'UnfrozeMachineSet')).toHaveLength(1);
    expect((await world.deployment()).metadata.labels ?? {}).toEqual({});
    expect(conditions(await world.deployment())).toEqual([
      'Available=True/MinimumReplicasAvailable',
      'Progressing=True/NewMachineSetAvailable',
    ]);
  });
});
