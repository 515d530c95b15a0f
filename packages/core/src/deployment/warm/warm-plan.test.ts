import { Annotations, type Machine, type MachineDeployment, type MachineSet, type MachineStatus } from '@mcm/api';
import { expect, test } from 'vitest';
import { at, machine } from '../../machine/testing.ts';
import { WarmTexts } from '../../warm/warm-machine.ts';
import { planWarmPool, type WarmSnapshot } from './warm-plan.ts';

const HASH = 'machine-template-hash';

const deployment = (annotations: Readonly<Record<string, string>>, change: object = {}): MachineDeployment =>
  ({ metadata: { name: 'pool', uid: 'uid-pool', annotations }, spec: { replicas: 1, ...change } }) as never;
const set = (hash: string, replicas = 1): MachineSet =>
  ({ metadata: { name: `pool-${hash}`, labels: { [HASH]: hash } }, spec: { replicas } }) as never;

const AVAILABLE: MachineStatus = { currentStatus: { phase: 'Available', lastUpdateTime: at(0) } };
const warm = (name: string, change: Partial<Machine['metadata']> = {}, status: MachineStatus = AVAILABLE): Machine =>
  machine({
    name,
    metadata: {
      annotations: {
        [Annotations.WarmState]: 'Stopped',
        [Annotations.WarmTemplate]: 'new',
        [Annotations.WarmPower]: 'Stopped',
      },
      ...change,
    },
    status,
  });
const TAKEN: MachineStatus = {
  currentStatus: { phase: 'Pending', lastUpdateTime: at(0) },
  lastOperation: { description: WarmTexts.taken, state: 'Processing', type: 'Create', lastUpdateTime: at(0) },
};
const failed = warm('failed', {}, { currentStatus: { phase: 'Failed', lastUpdateTime: at(0) } });
const old = warm('old', {
  annotations: {
    [Annotations.WarmState]: 'Stopped',
    [Annotations.WarmTemplate]: 'old',
    [Annotations.WarmPower]: 'Stopped',
  },
});
const starting = warm('starting', {
  annotations: { [Annotations.WarmState]: 'Stopped', [Annotations.WarmTemplate]: 'new' },
});

const KEEPS_TWO = deployment({ [Annotations.WarmMachines]: '2' });
const KEEPS_ONE = deployment({ [Annotations.WarmMachines]: '1' });
const REST: WarmSnapshot = { deployment: KEEPS_TWO, current: set('new'), old: [], warm: [], alive: 1 };

test.each<[what: string, change: Partial<WarmSnapshot>, create: number, removed: readonly string[]]>([
  ['the pool is empty', {}, 2, []],
  ['the pool is full', { warm: [warm('a'), warm('b')] }, 0, []],
  ['a machine is missing', { warm: [warm('a')] }, 1, []],
  [
    'the newest machine is surplus',
    { deployment: KEEPS_ONE, warm: [warm('a'), warm('b', { creationTimestamp: at(1) })] },
    0,
    ['b'],
  ],
  [
    'an unusable machine is surplus first',
    { deployment: KEEPS_ONE, warm: [warm('b', { creationTimestamp: at(1) }), starting] },
    0,
    ['starting'],
  ],
  ['no setting', { deployment: deployment({}), warm: [warm('a')] }, 0, ['a']],
  [
    'an invalid setting changes nothing',
    { deployment: deployment({ [Annotations.WarmMachines]: 'two' }), warm: [warm('a')] },
    0,
    [],
  ],
  ['a terminating machine does not count', { warm: [warm('a'), warm('b', { deletionTimestamp: at(0) })] }, 1, []],
  [
    'a machine that a set is taking is not deleted',
    { deployment: deployment({}), warm: [warm('a', {}, TAKEN)] },
    0,
    [],
  ],
  ['a machine that a set is taking is replaced', { warm: [warm('a'), warm('b', {}, TAKEN)] }, 1, []],
  ['a failed machine is replaced', { warm: [warm('a'), failed] }, 1, ['failed']],
  ['a machine of the old template is replaced', { warm: [warm('a'), old] }, 1, ['old']],
  ['a rollout keeps the old template and creates nothing', { old: [set('old')], warm: [old] }, 0, []],
  ['an old set without replicas is no rollout', { old: [set('old', 0)], warm: [old] }, 2, ['old']],
  ['without a current set', { current: undefined, warm: [old] }, 0, []],
  ['the current set lacks machines', { alive: 0 }, 0, []],
  ['a paused deployment', { deployment: deployment({ [Annotations.WarmMachines]: '2' }, { paused: true }) }, 0, []],
  [
    'another state',
    {
      deployment: deployment({ [Annotations.WarmMachines]: '1', [Annotations.WarmState]: 'Running' }),
      warm: [warm('a')],
    },
    1,
    ['a'],
  ],
  ['at most 100 at once', { deployment: deployment({ [Annotations.WarmMachines]: '300' }) }, 100, []],
])('the pool of warm machines: %s', (_what, change, create, removed) => {
  const plan = planWarmPool({ ...REST, ...change });
  expect([plan.create, plan.remove.map(({ metadata }) => metadata.name)]).toEqual([create, removed]);
});

test('a frozen deployment creates no warm machine', () => {
  const frozen = { ...KEEPS_TWO, metadata: { ...KEEPS_TWO.metadata, labels: { freeze: 'True' } } };
  expect(planWarmPool({ ...REST, deployment: frozen }).create).toBe(0);
});
