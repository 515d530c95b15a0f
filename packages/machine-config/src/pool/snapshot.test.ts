import type { MachineSet } from '@mcm/api';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import type { MachineConfigPool, UpdateStrategy } from '../kinds/machine-config-pool.ts';
import { listedFleet } from '../machines/fleet.ts';
import { poolSnapshot } from './snapshot.ts';

test('Replace over a set without a deployment reports that no controller replaces its machines [10.4]', () => {
  const set = partial<MachineSet>({ metadata: { name: 's', namespace: 'n', uid: 's1' }, spec: { replicas: 1 } });
  const resolved = (updateStrategy: UpdateStrategy, machineRef: object) => {
    const pool = partial<MachineConfigPool>({ metadata: { name: 'p' }, spec: { updateStrategy, machineRef } });
    const sources = {
      pools: [pool],
      nodesNear: () => [],
      node: () => undefined,
      controllerConfig: undefined,
      machineConfig: () => undefined,
      fleet: listedFleet({ machines: [], sets: [set], deployments: [] }),
    };
    return poolSnapshot(pool, sources, { now: '2026-01-01T00:00:00Z' }).memberConditions?.[0];
  };
  const ref = { kind: 'MachineSet', namespace: 'n', name: 's' };
  expect(resolved('InPlace', ref)).toEqual({ type: 'MachineRefResolved', status: 'True', reason: 'Found' });
  expect(resolved('Replace', ref)).toMatchObject({
    status: 'True',
    message: expect.stringContaining(
      'MachineSet n/s replaces no machine: only machines that the MachineSet creates later',
    ),
  });
  expect(resolved('Replace', { ...ref, name: 'x' })).toMatchObject({ status: 'False', reason: 'NotFound' });
});
