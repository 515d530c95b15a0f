import { Labels, type Machine, type MachineSet } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { deploymentOf } from '../control/caches.ts';
import { controllerReference } from '../objects/claim.ts';
import { fixedContext } from '../set/test-caches.ts';
import { deployment, machine, set } from '../set/test-objects.ts';
import { wakeDeployments } from './wakeups.ts';

const pool = deployment(3);
const POOL = 'test/pool';
const ownedBy = (
  child: MachineSet,
  uid = pool.metadata.uid,
  name = 'pool',
  kind = 'MachineDeployment',
): MachineSet => ({
  ...child,
  metadata: { ...child.metadata, ownerReferences: [{ ...controllerReference(pool), uid, name, kind }] },
});
const owned = ownedBy(set('ms', 3));
const orphan = set('orphan', 3);
const stranger = { ...orphan, metadata: { ...orphan.metadata, labels: {} } };
const deleting = (child: MachineSet): MachineSet => ({
  ...child,
  metadata: { ...child.metadata, deletionTimestamp: '2026-01-01T12:00:00Z' },
});
const world = (...sets: MachineSet[]) => fixedContext(wakeDeployments, { deployments: [pool], sets });

describe('deployments', () => {
  test('created, changed and deleted ones are reconciled; a status write alone is ignored [E-01]', () => {
    const { deployments, woken } = world();
    deployments.add(pool);
    expect(woken()).toEqual([POOL]);
    deployments.update(pool, { ...pool, metadata: { ...pool.metadata, generation: 2 } });
    expect(woken()).toEqual([POOL]);
    deployments.update(pool, { ...pool, status: { replicas: 3 } });
    expect(woken()).toEqual([]);
    deployments.remove(pool);
    expect(woken()).toEqual([POOL]);
  });
});

describe('sets', () => {
  test.each<[string, MachineSet, readonly string[]]>([
    ['E-02 owned', owned, [POOL]],
    ['E-02 an owned set that is being deleted', deleting(owned), [POOL]],
    ['E-02 an orphan that is selected', orphan, [POOL]],
    ['E-05 an orphan without labels', stranger, []],
    ['E-05 of a deployment that does not exist', ownedBy(orphan, 'other', 'elsewhere'), []],
    ['of a deployment with the same name and another UID', ownedBy(orphan, '111-dummy'), []],
  ])('%s, added', (_title, added, want) => {
    const { sets, woken } = world();
    sets.add(added);
    expect(woken()).toEqual(want);
  });

  test('an orphan with unchanged labels and owner wakes no deployment [E-11]', () => {
    const { sets, woken } = world(orphan);
    sets.update(orphan, { ...orphan, status: { replicas: 1 } });
    expect(woken()).toEqual([]);
  });

  test.each<[string, MachineSet, readonly string[]]>([
    ['E-12 owned', owned, [POOL]],
    ['E-12 an orphan', orphan, []],
    ['E-12 of another UID', ownedBy(orphan, '111-dummy'), []],
  ])('%s, deleted', (_title, gone, want) => {
    const { sets, woken } = world(gone);
    sets.remove(gone);
    expect(woken()).toEqual(want);
  });

  test.each<[string, MachineSet]>([
    ['name', ownedBy(owned, pool.metadata.uid, 'renamed')],
    ['kind', ownedBy(owned, pool.metadata.uid, 'pool', 'Dummy')],
  ])('a machine whose owner has another %s concerns the deployment', (_title, renamed) => {
    const { sets, woken } = world(owned);
    sets.update(owned, renamed);
    expect(woken()).toEqual([POOL]);
  });

  test('a machine that changes its owner wakes both', () => {
    const other = deployment(1);
    const second = { ...other, metadata: { ...other.metadata, name: 'second', uid: 'uid-second' } };
    const { sets, woken } = fixedContext(wakeDeployments, { deployments: [pool, second], sets: [owned] });
    sets.update(owned, ownedBy(owned, 'uid-second', 'second'));
    expect([...woken()].sort()).toEqual([POOL, 'test/second']);
  });
});

describe('machines and nodes', () => {
  const updating = (reason: string | undefined): Machine => ({
    ...machine('m', { phase: 'InPlaceUpdating', owner: owned, labels: { [Labels.Node]: 'n' } }),
    status: {
      currentStatus: { phase: 'InPlaceUpdating' },
      ...(reason === undefined ? {} : { conditions: [{ type: 'InPlaceUpdate', status: 'True', reason }] }),
    },
  });
  test.each<[string, string | undefined, string, readonly string[]]>([
    ['E-16 no condition before', undefined, 'UpdateSuccessful', [POOL]],
    ['E-16 ready before', 'ReadyForUpdate', 'UpdateSuccessful', [POOL]],
    ['E-17 successful before', 'UpdateSuccessful', 'UpdateSuccessful', []],
  ])('%s', (_title, before, after, want) => {
    const old = updating(before);
    const { machines, woken } = world(owned);
    machines.update(old, { ...updating(after), metadata: old.metadata });
    expect(woken()).toEqual(want);
  });

  test('a deleted machine reconciles its deployment for every strategy, because the next one may now be created', () => {
    const gone = machine('m', { phase: 'Terminating', owner: owned });
    const { machines, woken } = world(owned);
    machines.remove(gone);
    expect(woken()).toEqual([POOL]);
  });

  test('a node that a user selects, or whose agent has finished, wakes its deployment', () => {
    const node: Node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T12:00:00Z' },
      spec: {},
    };
    const { nodes, machines, woken } = world(owned);
    machines.add(updating(undefined));
    woken();
    nodes.update(node, { ...node, status: {} });
    expect(woken()).toEqual([]);
    nodes.update(node, { ...node, metadata: { ...node.metadata, labels: { [Labels.SelectedForUpdate]: 'true' } } });
    expect(woken()).toEqual([POOL]);
    const status = { conditions: [{ type: 'InPlaceUpdate', status: 'True' as const, reason: 'CandidateForUpdate' }] };
    nodes.update(node, { ...node, status });
    expect(woken()).toEqual([POOL]);
  });
});

test.each<[string, MachineSet, boolean]>([
  ['E-20 all owners exist', owned, true],
  ['E-21 the owner is of another kind', ownedBy(owned, pool.metadata.uid, 'pool', 'MachineDeploymentDummy'), false],
  ['E-21 the owner has another UID', ownedBy(owned, 'other'), false],
  ['E-21 no owner', orphan, false],
])('%s', (_title, child, found) => {
  const { deployments } = world(child);
  expect(deploymentOf(child, { deployments: deployments as never })?.metadata.uid).toBe(
    found ? pool.metadata.uid : undefined,
  );
});

test.each<[string, Partial<MachineSet['metadata']>]>([
  ['another owner', { name: 'elsewhere', uid: 'uid-elsewhere' }],
  ['an owner with the same UID and another name', { name: 'renamed' }],
])('a machine that gets %s concerns the deployment that had it', (_title, change) => {
  const before = machine('m', { phase: 'Running', owner: owned });
  const owner = { ...owned, metadata: { ...owned.metadata, ...change } };
  const { machines, woken } = world(owned);
  machines.update(before, machine('m', { phase: 'Running', owner }));
  expect(woken()).toEqual([POOL]);
});
