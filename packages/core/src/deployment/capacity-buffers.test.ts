import { Annotations, type MachineClass, machineClasses } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { events } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { describe, expect, test } from 'vitest';
import { type CapacityBuffer, capacityBuffers, machinesFor, type PodTemplate, podTemplates } from '../warm/buffer.ts';
import crd from './testdata/capacity-buffers-crd.json' with { type: 'json' };
import { NAMESPACE, World, type WorldOptions } from './testing/world.ts';
import { createBufferCaches, createBufferController } from './warm/buffers.ts';

const FOLLOWS = { [Annotations.WarmBuffer]: `${NAMESPACE}/web`, [Annotations.WarmState]: 'Running' };
const HOUR = 3_600;

const containers = (cpu: string) => [{ name: 'app', image: 'app', resources: { requests: { cpu, memory: '1Gi' } } }];

async function start(options: WorldOptions = {}): Promise<World> {
  const world = await World.start(startControlPlane, { buffers: true, moreCrds: [crd], ...options });
  const nodeTemplate = { capacity: { cpu: '4', gpu: '0', memory: '16Gi' }, instanceType: 't', region: 'r', zone: 'z' };
  await world.keeper
    .resource<MachineClass>(machineClasses, NAMESPACE)
    .patch('small', { type: 'merge', body: { nodeTemplate } });
  return world;
}

async function createTemplate(world: World, cpu: string): Promise<void> {
  const template = { metadata: { labels: { app: 'web' } }, spec: { containers: containers(cpu) } };
  await world.keeper
    .resource<PodTemplate>(podTemplates, NAMESPACE)
    .create({ metadata: { name: 'pod' }, template } as never);
}

const buffersOf = (world: World) => world.keeper.resource<CapacityBuffer>(capacityBuffers, NAMESPACE);

const createBuffer = (world: World, spec: CapacityBuffer['spec']) =>
  buffersOf(world).create({ metadata: { name: 'web' }, spec } as never);

const warm = async (world: World): Promise<number> =>
  (await world.machines()).filter(
    ({ metadata }) => metadata.annotations?.[Annotations.WarmState] && metadata.deletionTimestamp === undefined,
  ).length;

const recorded = async (world: World) =>
  (await world.deployment()).metadata.annotations?.[Annotations.WarmBufferMachines];

const reasons = async (world: World): Promise<readonly string[]> => {
  await world.pass(10);
  const { items } = await world.keeper.resource(events, NAMESPACE).list();
  return items.flatMap(({ reason, message }) => (reason?.startsWith('CapacityBuffer') ? [message ?? ''] : []));
};

test('the warm machines follow the buffer, its template and its deletion', async () => {
  await using world = await start();
  await createTemplate(world, '1500m');
  await createBuffer(world, { podTemplateRef: { name: 'pod' }, replicas: 3 });
  await world.deploy(1, {}, { annotations: { ...FOLLOWS, [Annotations.WarmMachines]: '1' } });
  await world.until(async () => (await warm(world)) === 2, HOUR);
  await world.pass(600);
  const body = { spec: { replicas: 7 } };
  await buffersOf(world).patch('web', { type: 'merge', body });
  await world.until(async () => (await warm(world)) === 4, HOUR);
  await world.pass(600);
  const small = { template: { spec: { containers: containers('500m') } } };
  await world.keeper.resource<PodTemplate>(podTemplates, NAMESPACE).patch('pod', { type: 'merge', body: small });
  await world.until(async () => (await warm(world)) === 1, HOUR);
  await buffersOf(world).patch('web', { type: 'merge', body: { spec: { replicas: 20 } } });
  await world.until(async () => (await warm(world)) === 3, HOUR);
  await world.pass(600);
  await buffersOf(world).delete('web');
  await world.until(async () => (await warm(world)) === 1, HOUR);
  expect(await reasons(world)).toContain(`CapacityBuffer ${NAMESPACE}/web needs 4 warm machines`);
});

test('without a change, the manager writes nothing, and a restart keeps the number', async () => {
  await using world = await start();
  await createTemplate(world, '2');
  await createBuffer(world, { podTemplateRef: { name: 'pod' }, replicas: 4 });
  await world.deploy(1, {}, { annotations: FOLLOWS });
  await world.until(async () => (await warm(world)) === 2, HOUR);
  await world.pass(60);
  const before = new Map(world.writes);
  await world.restart();
  await world.pass(HOUR);
  expect(world.writes).toEqual(before);
});

test('a template that does not exist keeps the number of warm machines, and an event reports it', async () => {
  await using world = await start();
  await createBuffer(world, { podTemplateRef: { name: 'pod' }, replicas: 4 });
  await world.deploy(1, {}, { annotations: { ...FOLLOWS, [Annotations.WarmBufferMachines]: '2' } });
  await world.until(async () => (await warm(world)) === 2, HOUR);
  expect(await reasons(world)).toEqual([
    `The warm machines do not follow CapacityBuffer ${NAMESPACE}/web: PodTemplate ${NAMESPACE}/pod does not exist`,
  ]);
});

test('a cluster without the API keeps the number, and the number of the user is the minimum', async () => {
  await using world = await start({ moreCrds: [] });
  await world.deploy(
    1,
    {},
    { annotations: { ...FOLLOWS, [Annotations.WarmBufferMachines]: '1', [Annotations.WarmMachines]: '2' } },
  );
  await world.until(async () => (await warm(world)) === 2, HOUR);
  expect(await recorded(world)).toBe('1');
  expect(await reasons(world)).toEqual([
    `The warm machines do not follow CapacityBuffer ${NAMESPACE}/web: the API server has no capacitybuffers`,
  ]);
  await world.change({ metadata: { annotations: { [Annotations.WarmBuffer]: null } } });
  await world.until(async () => (await recorded(world)) === undefined, HOUR);
  expect(await warm(world)).toBe(2);
});

test('before the manager has read all buffers, a missing buffer does not change the number', async () => {
  // Simulates the time after a refused watch: the API server allows the watch again, but no event has arrived yet.
  const unread = <T extends object>(cache: T): T =>
    new Proxy(cache, {
      get: (target, key) => {
        const value: unknown = key === 'synced' ? false : Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  await using world = await start({ buffers: false });
  const { context } = world;
  const real = createBufferCaches(context.client, { ...context, freeze: true });
  const caches = { buffers: unread(real.buffers), templates: unread(real.templates) };
  const end = new AbortController();
  const parts = [real.buffers, real.templates, createBufferController(context, caches)];
  const running = parts.map((part) => part.run(end.signal));
  await world.deploy(1, {}, { annotations: { ...FOLLOWS, [Annotations.WarmBufferMachines]: '2' } });
  await world.pass(60);
  expect(await recorded(world)).toBe('2');
  expect(await reasons(world)).toEqual([expect.stringContaining('the manager has not read the buffers yet')]);
  end.abort(new Error('closed'));
  await Promise.allSettled(running);
});

test('an invalid reference is reported, and the deployment has no warm machines', async () => {
  await using world = await start();
  await world.deploy(1, {}, { annotations: { [Annotations.WarmBuffer]: 'web' } });
  await world.until(() => world.complete(), HOUR);
  await world.pass(60);
  const message = (await world.deployment()).status?.conditions?.find(({ type }) => type === 'InputIgnored')?.message;
  expect(message).toContain('write the namespace and the name of a CapacityBuffer');
  expect(await warm(world)).toBe(0);
});

describe('the number of machines for the pods of a buffer', () => {
  const buffer = (spec: CapacityBuffer['spec'], status?: CapacityBuffer['status']) =>
    ({ metadata: { name: 'web', namespace: 'test' }, spec, status }) as CapacityBuffer;
  const template = (spec: NonNullable<PodTemplate['template']>['spec']) => ({ template: { spec } }) as PodTemplate;
  const app = template({ containers: [{ resources: { requests: { cpu: '1', memory: '2Gi' } } }] });
  const machineClass = (capacity: Record<string, string>) =>
    partial<MachineClass>({ metadata: { name: 'small' }, nodeTemplate: { capacity } });
  const byTemplate = { podTemplateRef: { name: 'pod' } };

  test.each<
    [title: string, buffer: CapacityBuffer, pod: PodTemplate, capacity: Record<string, string>, result: unknown]
  >([
    ['the scarcest resource counts', buffer({ ...byTemplate, replicas: 9 }), app, { cpu: '8', memory: '8Gi' }, 3],
    [
      'the number of pods is limited',
      buffer({ ...byTemplate, replicas: 9 }),
      app,
      { cpu: '64', memory: '64Gi', pods: '2' },
      5,
    ],
    ['no replicas', buffer({ ...byTemplate, replicas: 0 }), app, { cpu: '8', memory: '8Gi' }, 0],
    ['the limits', buffer({ ...byTemplate, limits: { cpu: '5' } }), app, { cpu: '2', memory: '8Gi' }, 3],
    [
      'the lower of limits and replicas',
      buffer({ ...byTemplate, replicas: 2, limits: { cpu: '5' } }),
      app,
      { cpu: '2', memory: '8Gi' },
      1,
    ],
    ['at most 500 machines', buffer({ ...byTemplate, replicas: 9_999 }), app, { cpu: '1', memory: '2Gi' }, 500],
    [
      'a workload that another controller resolved',
      buffer({ scalableRef: { kind: 'Deployment', name: 'web' }, percentage: 10 }, { ...byTemplate, replicas: 2 }),
      app,
      { cpu: '1', memory: '2Gi' },
      2,
    ],
    [
      'a workload that no controller resolved',
      buffer({ scalableRef: { kind: 'Deployment', name: 'web' }, replicas: 2 }),
      app,
      { cpu: '1', memory: '2Gi' },
      'its status does not contain a PodTemplate yet',
    ],
    [
      'a pod that is too large',
      buffer({ ...byTemplate, replicas: 2 }),
      app,
      { cpu: '500m', memory: '2Gi' },
      'does not fit',
    ],
    ['a missing resource', buffer({ ...byTemplate, replicas: 2 }), app, { memory: '2Gi' }, 'does not fit'],
    [
      'limits of other resources',
      buffer({ ...byTemplate, limits: { gpu: '1' } }),
      app,
      { cpu: '2', memory: '8Gi' },
      'no replicas',
    ],
    [
      'init containers, sidecars, limits and overhead',
      buffer({ ...byTemplate, replicas: 4 }),
      template({
        containers: [{ resources: { limits: { cpu: '500m' } } }],
        initContainers: [
          { restartPolicy: 'Always', resources: { requests: { cpu: '250m' } } },
          { resources: { requests: { cpu: '750m' } } },
        ],
        overhead: { cpu: '1' },
      }),
      { cpu: '4' },
      2,
    ],
    [
      'an init container next to the sidecar that started before it',
      buffer({ ...byTemplate, replicas: 4 }),
      template({
        containers: [{ resources: { requests: { cpu: '500m' } } }],
        initContainers: [
          { restartPolicy: 'Always', resources: { requests: { cpu: '1' } } },
          { resources: { requests: { cpu: '3500m' } } },
        ],
      }),
      { cpu: '8' },
      4,
    ],
    [
      'an init container before the sidecar',
      buffer({ ...byTemplate, replicas: 4 }),
      template({
        containers: [{ resources: { requests: { cpu: '500m' } } }],
        initContainers: [
          { resources: { requests: { cpu: '3500m' } } },
          { restartPolicy: 'Always', resources: { requests: { cpu: '1' } } },
        ],
      }),
      { cpu: '8' },
      2,
    ],
    [
      'requests of the whole pod',
      buffer({ ...byTemplate, replicas: 4 }),
      template({
        containers: [{ resources: { requests: { cpu: '1' } } }, { resources: { limits: { memory: '1Gi' } } }],
        resources: { requests: { cpu: '4' }, limits: { cpu: '6', memory: '8Gi' } },
      }),
      { cpu: '8', memory: '8Gi' },
      2,
    ],
    [
      'limits of the whole pod, without requests',
      buffer({ ...byTemplate, replicas: 4 }),
      template({ containers: [{}], resources: { limits: { cpu: '4' } } }),
      { cpu: '8' },
      2,
    ],
  ])('%s', (_title, one, pod, capacity, result) => {
    const need = machinesFor({ buffer: one, template: pod, machineClass: machineClass(capacity) });
    if (typeof result === 'number') expect(need).toEqual({ machines: result });
    else expect('unknown' in need && need.unknown).toContain(result);
  });
});
