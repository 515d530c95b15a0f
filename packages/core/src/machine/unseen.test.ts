import { type Machine, type MachineClass, type MachineStatus, STEP_TEXTS } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { look } from '../drain/testing.ts';
import { MACHINE_DEFAULTS, settingsOf } from '../settings/settings.ts';
import { planDeletion } from './deletion/deletion.ts';
import { planKeeping } from './deletion/keep-vm.ts';
import type { MachineObservation } from './model/observation.ts';
import { nextStep } from './next-step.ts';
import { at, machine, NOON, node } from './testing.ts';

const UNSEEN = 'this process does not have the permission to list nodes';

const terminating = (step: keyof typeof STEP_TEXTS): MachineStatus => ({
  currentStatus: { phase: 'Terminating', lastUpdateTime: at(-5) },
  lastOperation: { description: STEP_TEXTS[step], state: 'Processing', type: 'Delete', lastUpdateTime: at(-5) },
});

const dying = (metadata: Partial<Machine['metadata']> = {}, step: keyof typeof STEP_TEXTS = 'drain'): Machine =>
  machine({
    metadata: { deletionTimestamp: at(-5), labels: { node: 'fakeNode-0' }, ...metadata },
    spec: { providerID: 'fakeID-0' },
    status: terminating(step),
  });

const seen = (of: Machine, change: Partial<MachineObservation> = {}): MachineObservation => ({
  machine: of,
  settings: settingsOf(of, MACHINE_DEFAULTS),
  inputs: '',
  asksForToken: false,
  hasTarget: true,
  frozen: false,
  calls: {},
  driver: { initialize: false, status: true },
  replacementsInProgress: 0,
  deletedForHealth: false,
  ...change,
});

const deletion = { kind: 'delete', since: NOON } as const;
const { providerID: _, ...noVm } = dying().spec;

describe('a deletion without access to nodes', () => {
  test('a deletion without access to nodes waits, and reports what it cannot read', () => {
    const plan = planDeletion(seen(dying(), { nodesUnseen: UNSEEN }), NOON);
    expect(plan).toMatchObject({ next: { kind: 'wait' }, because: `the pods of the node cannot be read: ${UNSEEN}` });
    expect(plan.actions).toMatchObject([{ do: 'writeStatus' }]);
  });

  test.each<[string, Machine, Partial<MachineObservation>]>([
    ['it is forced', dying({ labels: { node: 'fakeNode-0', 'force-deletion': 'True' } }), {}],
    ['its VM is already deleted', dying({}, 'deleteVolumeAttachments'), {}],
    ['the deletion of its VM is in progress', dying(), { calls: { running: deletion } }],
    ['it has neither VM nor Node', { ...dying({ labels: {} }), spec: noVm }, {}],
  ])('continues if %s', (_why, of, change) => {
    expect(planDeletion(seen(of, { ...change, nodesUnseen: UNSEEN }), NOON).because).not.toContain(UNSEEN);
  });

  test.each([
    ['only the pods on it cannot be read', { pods: 'this process does not have the permission to list pods' }, false],
    ['all is seen', undefined, true],
  ])('a Node keeps its finalizer at the cordon unless it is known to be empty: %s', (_why, unseen, release) => {
    const drain = look([], unseen && { unseen });
    expect(planDeletion(seen(dying(), { node: node(), drain }), NOON).actions).toMatchObject([
      { do: 'cordon', release },
    ]);
  });
});

test('a machine that has not joined extends its bootstrap token, although its Node cannot be read', () => {
  const pending = machine({
    spec: { providerID: 'fakeID-0' },
    status: { currentStatus: { phase: 'Pending', lastUpdateTime: at(0) } },
  });
  const plan = nextStep(seen(pending, { asksForToken: true, nodesUnseen: UNSEEN }), NOON);
  expect(plan.actions).toMatchObject([{ do: 'extendToken' }]);
});

test('no VM is kept for analysis if its pods are unknown', () => {
  const machineClass = { metadata: { name: 'small' } } as MachineClass;
  const failed = seen(dying(), { machineClass, keepsVms: true, deletedForHealth: true, node: node(), drain: look([]) });
  const { node: _gone, ...nodeless } = failed;
  expect(planKeeping(failed, NOON)?.actions).toEqual([{ do: 'keepVm' }]);
  expect(planKeeping({ ...nodeless, nodesUnseen: UNSEEN }, NOON)).toBeUndefined();
  expect(planKeeping({ ...failed, drain: look([], { unseen: { volumes: 'no' } }) }, NOON)).toBeUndefined();
});
