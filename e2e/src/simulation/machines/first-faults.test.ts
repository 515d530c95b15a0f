import { sampled } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { DEFECTS } from './defects.ts';
import type { FirstFault } from './first-fault.ts';
import { playMachines } from './machine-history.ts';

/**
 * Each history of this file starts with one of these faults, because random histories rarely contain faults of rare
 * calls.
 */
const FIRST_FAULTS: Readonly<Record<string, FirstFault>> = {
  'the cloud refuses': { cloud: { operation: 'instances.create', error: { code: 'InternalError' }, count: 3 } },
  'the cloud executes a call, but reports an error': {
    cloud: { operation: 'instances.create', error: { code: 'InternalError' }, effect: true, count: 2 },
  },
  'the cloud throttles': {
    cloud: {
      operation: 'instances.delete',
      error: { code: 'RequestLimitExceeded', retryAfterSeconds: 20 },
      count: 2,
    },
  },
  'the cloud has no capacity': {
    cloud: { operation: 'instances.create', error: { code: 'InsufficientCapacity' }, zone: 'local-a', count: 2 },
  },
  'the cloud does not answer': { cloud: { operation: 'instances.delete', timeout: {}, count: 1 } },
  'the cloud executes a call, but does not answer': {
    cloud: { operation: 'instances.create', timeout: {}, effect: true, count: 1 },
  },
  'the cloud is slow': { cloud: { operation: 'instances.list', latency: 8_000, count: 4 } },
  'the cloud returns an outdated instance': { cloud: { operation: 'instances.get', stale: 400_000, count: 3 } },
  'the cloud returns an outdated list': { cloud: { operation: 'instances.list', stale: 180_000, count: 4 } },
  'the API server answers 409': { wire: 'conflict' },
  'the API server answers 429': { wire: 'throttled' },
  'the API server answers 500': { wire: 'internal' },
  'a response of the API server does not arrive': { wire: 'lost' },
  'the controller is killed before a write': { wire: 'killed before' },
  'the controller is killed after a write': { wire: 'killed after' },
  'the controller is killed before a cloud call': { wire: 'killed before', toCloud: true },
  'the controller is killed after a cloud call': { wire: 'killed after', toCloud: true },
  'the controller is killed at a random moment': { act: 'killed' },
  'two machine controllers run at the same time': { act: 'two controllers' },
  'the API server ends watches with status 410': { act: 'expired watches' },
  'watches stop delivering': { act: 'silent watches' },
  'the API server is unreachable': { act: 'no API server' },
  'the clock jumps forward': { act: 'clock forward' },
  'the clock jumps back': { act: 'clock back' },
  'a kubelet stops reporting': { act: 'silent kubelet' },
  'a kubelet never joins': { act: 'no kubelet' },
  'a kubelet joins late': { act: 'late kubelet' },
  'the cloud terminates a VM without a request of mcm': { act: 'lost VM' },
  'a Machine object disappears while its VM runs': { act: 'lost machine' },
};

/** A seed that random histories do not use. */
const FIRST = 50_000;
/** A seed with a lost Machine, whose VM has pods that can be evicted. */
const LOST_MACHINE = 50_029;
/** Seeds with lost Machines, whose VMs have pods that a budget blocks until the drain timeout. */
const LOST_AND_HELD = [50_031, 50_030];

test('each fault starts a history', async () => {
  const { faults } = await playMachines({ seed: FIRST });
  expect(Object.keys(FIRST_FAULTS).sort()).toEqual(Object.keys(faults).sort());
});

test.each(sampled(Object.entries(FIRST_FAULTS), 6, 4))(
  '%s: machines, VMs, pods, budgets and volumes have no violation',
  async (name, firstFault) => {
    const isLost = 'act' in firstFault && firstFault.act === 'lost machine';
    const seed = isLost ? LOST_MACHINE : FIRST + Object.keys(FIRST_FAULTS).indexOf(name);
    const { violations, story, faults } = await playMachines({ seed, firstFault });
    expect(violations, story).toEqual([]);
    expect(faults[name], story).toBeGreaterThan(0);
  },
);

test.each(sampled(LOST_AND_HELD, 4, 2))(
  'pods on the VM of a lost Machine are removed after its drain timeout (seed %i)',
  async (seed) => {
    const { violations, story } = await playMachines({ seed, firstFault: { act: 'lost machine' } });
    expect(violations, story).toEqual([]);
    expect(story).toMatch(/machine-controller delete pods\//);
  },
);

test('a controller that deletes the pods of a lost Machine before the drain timeout is reported', async () => {
  const [seed = 0] = LOST_AND_HELD;
  const { violations } = await playMachines({
    seed,
    firstFault: { act: 'lost machine' },
    defect: DEFECTS.deletesPods(),
  });
  expect(violations.join('\n')).toMatch(/\(d\) mcm deletes pod \S+ although it could evict the pod/);
});
