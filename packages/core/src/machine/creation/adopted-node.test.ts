import { Labels } from '@mcm/api';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import type { MachineObservation } from '../model/observation.ts';
import { at, condition, hc, machine, node } from '../testing.ts';
import { planAdoptedNode } from './adopted-node.ts';

const VM = 'fake:///zone/a';

interface Case {
  readonly phase?: 'Pending' | 'Running' | 'Unknown' | 'Failed';
  readonly labels?: Record<string, string>;
  readonly deleting?: true;
  readonly conditions?: readonly string[];
}

function planned({ phase = 'Running', labels, deleting, conditions = ['Terminating'] }: Case): string | undefined {
  const o = partial<MachineObservation>({
    machine: machine({
      metadata: { labels: { [Labels.Node]: 'fakeNode-0' }, ...(deleting ? { deletionTimestamp: at(1) } : {}) },
      spec: { providerID: VM },
      status: { currentStatus: { phase } },
    }),
    node: node({
      metadata: { labels: labels ?? {} },
      spec: { providerID: VM, unschedulable: true },
      conditions: [...hc('True'), ...conditions.map((type) => condition(type, 'True'))],
    }),
  });
  return planAdoptedNode(o)?.actions[0]?.do;
}

test.each<[what: string, given: Case, action: string | undefined]>([
  ['of a machine that joins', { phase: 'Pending' }, 'uncordon'],
  ['of a machine that was restored without its deletion', {}, 'uncordon'],
  ['of an unhealthy machine', { phase: 'Unknown' }, 'uncordon'],
  ['of a Failed machine', { phase: 'Failed' }, undefined],
  ['of a machine in deletion', { deleting: true }, undefined],
  ['that an in-place update drains', { labels: { [Labels.SelectedForUpdate]: 'true' } }, undefined],
  ['that a user cordoned', { conditions: [] }, undefined],
])('the cordoned Node %s', (_what, given, action) => {
  expect(planned(given)).toBe(action);
});
