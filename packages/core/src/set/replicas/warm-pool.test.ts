import { Annotations, type Machine, type MachineSet, type MachineStatus, Taints } from '@mcm/api';
import { createMemoryLogger, KubeError, type OwnerReference, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { at, machine, NOON } from '../../machine/testing.ts';
import { WarmTexts } from '../../warm/warm-machine.ts';
import { WarmPool } from './warm-pool.ts';

/** A warm machine has one owner at any time, so both writes need the observed version. */

const { signal } = new AbortController();
const DEPLOYMENT: OwnerReference = {
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineDeployment',
  name: 'pool',
  uid: 'uid-pool',
  controller: true,
};
const SET = {
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineSet',
  metadata: {
    name: 'pool-6f576',
    namespace: 'test',
    uid: 'uid-set',
    labels: { 'machine-template-hash': '6f576' },
    ownerReferences: [DEPLOYMENT],
  },
  spec: {
    template: { metadata: { labels: { app: 'pool' } }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
  },
} as unknown as MachineSet;

const inPhase = (phase: 'Available' | 'Pending', description = ''): MachineStatus => ({
  currentStatus: { phase, lastUpdateTime: at(0) },
  lastOperation: { description, state: 'Processing', type: 'Create', lastUpdateTime: at(0) },
});
const KEEPER: OwnerReference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'keeper', uid: 'uid-keeper' };
const warm = (name: string, change: Partial<Machine['metadata']> = {}, status = inPhase('Available')): Machine =>
  machine({
    name,
    metadata: {
      annotations: {
        [Annotations.WarmState]: 'Stopped',
        [Annotations.WarmTemplate]: '6f576',
        [Annotations.WarmPower]: 'Stopped',
      },
      ownerReferences: [KEEPER, DEPLOYMENT],
      ...change,
    },
    spec: { providerID: `fake:///zone/${name}`, nodeTemplate: { spec: { taints: [{ ...Taints.Warm }] } } },
    status,
  });

interface Patch {
  readonly metadata: Machine['metadata'];
  readonly spec?: Machine['spec'];
  readonly status?: MachineStatus;
}

function poolOf(machines: readonly Machine[], refuse: (patch: Patch) => KubeError | undefined = () => undefined) {
  const patches: (Patch & { readonly name: string; readonly subresource: string | undefined })[] = [];
  const stored: Machine[] = [];
  const made: unknown[] = [];
  const said: string[] = [];
  let underWay = 0;
  const context = {
    namespace: 'test',
    clock: new VirtualClock({ start: NOON }),
    log: createMemoryLogger(),
    recorder: { event: (_set: unknown, _type: string, _reason: string, message: string) => said.push(message) },
    creations: {
      during: async (_uid: string, work: () => Promise<unknown>) => {
        underWay += 1;
        return work().finally(() => {
          underWay -= 1;
        });
      },
    },
    deployments: { store: { get: () => ({ metadata: { name: 'pool', uid: 'uid-pool' } }) } },
    machines: { store: { byIndex: () => machines }, recordWrite: (one: Machine) => stored.push(one) },
    client: {
      resource: () => ({
        patch: async (name: string, { body }: { body: Patch }, { subresource }: { subresource?: string }) => {
          expect(underWay).toBeGreaterThan(0);
          patches.push({ name, subresource, ...body });
          const refusal = refuse(body);
          if (refusal) throw refusal;
          const old = machines.find(({ metadata }) => metadata.name === name) as Machine;
          return { ...old, metadata: { ...old.metadata, resourceVersion: '2' } };
        },
      }),
    },
  };
  const pool = new WarmPool(context as never);
  const lost = { made: (one: Machine) => made.push(one.metadata.name) };
  const take = (...chosen: readonly Machine[]) =>
    pool.take(SET, chosen, { lost: lost as never, replace: ['served'] }, signal);
  return { pool, take, patches, stored, made, said };
}

test('only usable machines of the template are used, and running ones first', () => {
  const running = warm('running', {
    annotations: { [Annotations.WarmState]: 'Running', [Annotations.WarmTemplate]: '6f576' },
  });
  const ready = { ...running, status: { currentStatus: { phase: 'Running', lastUpdateTime: at(0) } } } as Machine;
  const old = warm('old', { annotations: { [Annotations.WarmState]: 'Stopped', [Annotations.WarmTemplate]: 'old' } });
  const { pool } = poolOf([warm('newer', { creationTimestamp: at(1) }), old, warm('stopped'), ready]);
  expect(pool.usable(SET).map(({ metadata }) => metadata.name)).toEqual(['running', 'stopped', 'newer']);
  const other = { ...SET, metadata: { ...SET.metadata, ownerReferences: [] } };
  expect(pool.usable(other)).toEqual([]);
});

test('a machine leaves the pool with its status, and then gets its new owner, labels and spec', async () => {
  const one = warm('m-0');
  const { take, patches, stored, made, said } = poolOf([one]);
  expect(await take(one)).toEqual({ count: 1, changed: false });
  const [first, second] = patches;
  expect(patches).toHaveLength(2);
  expect(first).toMatchObject({ subresource: 'status', metadata: { uid: 'uid-m-0', resourceVersion: '1' } });
  expect(first?.status).toMatchObject({
    currentStatus: { phase: 'Pending' },
    lastOperation: { description: WarmTexts.taken },
  });
  expect(second).toMatchObject({ subresource: undefined, metadata: { uid: 'uid-m-0', resourceVersion: '2' } });
  expect(second?.metadata.labels).toMatchObject({ app: 'pool' });
  expect(second?.metadata.annotations).toMatchObject({
    [Annotations.WarmState]: null,
    [Annotations.WarmTemplate]: null,
  });
  const owners = second?.metadata.ownerReferences?.map(({ uid, controller = false }) => [uid, controller]);
  expect(owners).toEqual([
    ['uid-keeper', false],
    ['uid-set', true],
  ]);
  expect(second?.spec).toEqual({ nodeTemplate: null });
  expect([stored.length, made, said]).toEqual([2, ['m-0'], ['Used a warm Machine: m-0']]);
});

test('after a crash between both writes, only the second write is sent', async () => {
  const one = warm('m-0', {}, inPhase('Pending', WarmTexts.taken));
  const { take, patches } = poolOf([one]);
  expect(await take(one)).toEqual({ count: 1, changed: false });
  expect(patches.map(({ subresource, metadata }) => [subresource, metadata.resourceVersion])).toEqual([
    [undefined, '1'],
  ]);
});

test.each<[what: string, error: KubeError, result: object | 'throws']>([
  ['a changed machine', new KubeError('changed', { code: 409, reason: 'Conflict' }), { count: 0, changed: true }],
  ['a machine that is gone', new KubeError('gone', { code: 404, reason: 'NotFound' }), { count: 0, changed: true }],
  ['a missing permission', new KubeError('no', { code: 403, reason: 'Forbidden' }), { count: 0, changed: false }],
  ['an unknown result', new KubeError('no answer', { code: 0 }), 'throws'],
])('%s is not used', async (_what, error, result) => {
  const one = warm('m-0');
  const { take, made, said } = poolOf([one], ({ status }) => (status ? undefined : error));
  if (result === 'throws') await expect(take(one)).rejects.toThrow('no answer');
  else expect(await take(one)).toEqual(result);
  expect([made, said]).toEqual([[], []]);
});
