import { InPlaceUpdateReasons, Labels, NodeConditions } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { expect, test } from 'vitest';
import { budget, later, MINUTE, pod } from '../drain/testing.ts';
import { inPlaceCondition, planInPlace, wantsInPlaceDrain } from './in-place/in-place.ts';
import type { MachineObservation } from './model/observation.ts';
import { nextAt } from './model/plan.ts';
import { emptyDrain, see } from './test-dying.ts';
import { at, condition, hc, machine, NOON, node } from './testing.ts';

const CANDIDATE = { [Labels.CandidateForUpdate]: 'true' };
const SELECTED = { ...CANDIDATE, [Labels.SelectedForUpdate]: 'true' };

const inPlace = (reason: string) => ({ ...condition(NodeConditions.InPlaceUpdate, 'True'), reason });

const nodeOf = (
  reason: string = InPlaceUpdateReasons.SelectedForUpdate,
  unschedulable = true,
  labels: object = SELECTED,
): Node =>
  node({
    metadata: { labels: { ...labels } },
    spec: { unschedulable },
    conditions: [...hc('True'), inPlace(reason)],
  });

const machineOf = (phase = 'Running', description = '') =>
  machine({
    metadata: { labels: { [Labels.Node]: 'fakeNode-0' } },
    status: {
      currentStatus: { phase: phase as never, lastUpdateTime: at(0) },
      lastOperation: { description, state: 'Processing', type: 'DrainNode', lastUpdateTime: at(0) },
    },
  });

const observed = (change: Partial<MachineObservation> = {}): MachineObservation =>
  see(machineOf(), {
    node: nodeOf(),
    drain: { ...emptyDrain, forceAt: later(120 * MINUTE), evictUntil: later(60 * MINUTE) },
    ...change,
  });

const withPods = (...pods: readonly ReturnType<typeof pod>[]): Partial<MachineObservation> => ({
  drain: { ...emptyDrain, pods, forceAt: later(120 * MINUTE), evictUntil: later(60 * MINUTE) },
});

test('a selected node is cordoned before the first eviction', () => {
  const plan = planInPlace(observed({ ...withPods(pod('a')), node: nodeOf(undefined, false) }), NOON);
  expect(plan?.actions).toEqual([
    { do: 'syncNode', patch: { main: { spec: { unschedulable: true }, onlyIfUnchanged: true } } },
  ]);
});

test('without the pods in the cache the node does not change', () => {
  const { drain: _, ...blind } = observed();
  expect(planInPlace(blind, NOON)).toBeUndefined();
});

test('the pods of a selected node are evicted, and the phase does not change', () => {
  const plan = planInPlace(observed(withPods(pod('a'), pod('b', { dueAt: later(MINUTE) }))), NOON);
  expect(plan?.actions).toMatchObject([{ do: 'evict', pods: [{ name: 'a' }] }]);
});

test('after the eviction timeout its pods are deleted, with the reason', () => {
  const plan = planInPlace(observed(withPods(pod('a'))), later(60 * MINUTE));
  expect(plan?.actions).toMatchObject([
    { do: 'deletePods', pods: [{ name: 'a' }], because: expect.stringContaining('the eviction timeout expired') },
  ]);
});

test('terminating pods are awaited, and the blocking budgets are known', () => {
  const leaving = planInPlace(observed(withPods(pod('a', { dueAt: later(MINUTE) }))), NOON);
  expect(leaving).toMatchObject({ actions: [], budgets: [] });
  expect(leaving?.next).toEqual(nextAt(later(MINUTE + 30_000)));
  const blocked = planInPlace(observed(withPods(pod('a', { budgets: [budget()] }))), NOON);
  expect(blocked).toMatchObject({ actions: [], budgets: ['default/web'] });
});

test('a problem of the drain is written once', () => {
  const stuck = withPods(pod('a', { budgets: [budget({ misconfigured: true, sparesUnready: false })] }));
  const [action] = planInPlace(observed(stuck), NOON)?.actions ?? [];
  const description =
    'Drain failed due to - error while evicting pod "default/a": pod disruption budget default/web is misconfigured and requires zero voluntary evictions. Will retry in next sync. Initiate node drain';
  expect(action).toMatchObject({ do: 'writeStatus', status: { lastOperation: { description, type: 'DrainNode' } } });
  const said = { ...observed(stuck), machine: machineOf('Running', description) };
  expect(planInPlace(said, NOON)).toMatchObject({ actions: [], budgets: ['default/web'] });
  const { lastOperation: _, ...status } = machineOf().status ?? {};
  const untold = { ...observed(stuck), machine: { ...machineOf(), status } };
  expect(planInPlace(untold, NOON)?.actions).toMatchObject([{ status: { lastOperation: { description } } }]);
});

test('an empty node of an updated machine needs only the condition', () => {
  const o = observed({ machine: machineOf('InPlaceUpdating') });
  expect(planInPlace(o, NOON)?.actions.map((action) => action.do)).toEqual(['setNodeCondition']);
  expect(planInPlace(observed(), NOON)?.actions.map((action) => action.do)).toEqual([
    'writeStatus',
    'setNodeCondition',
  ]);
});

test('a condition is written with the time of its change', () => {
  const [action] = planInPlace(observed({ machine: machineOf('InPlaceUpdating') }), NOON)?.actions ?? [];
  expect(action).toMatchObject({ condition: { lastHeartbeatTime: at(0), lastTransitionTime: at(0), status: 'True' } });
});

test('the condition shows a label before the first eviction', () => {
  const plan = planInPlace(
    observed({ ...withPods(pod('a')), node: nodeOf(InPlaceUpdateReasons.CandidateForUpdate) }),
    NOON,
  );
  expect(plan?.actions).toMatchObject([{ do: 'setNodeCondition', condition: { reason: 'SelectedForUpdate' } }]);
});

test.each<[what: string, wants: boolean, machine: ReturnType<typeof machine>, node: Node | undefined]>([
  ['selected, and its machine runs', true, machineOf(), nodeOf()],
  ['whose kubelet does not report', true, machineOf('Unknown'), nodeOf()],
  ['of a machine that is being deleted', false, machineOf('Terminating'), nodeOf()],
  ['of a machine that has failed', false, machineOf('Failed'), nodeOf()],
  ['of a machine without a status', false, machine(), nodeOf()],
  ['of a machine without a phase', false, machine({ status: {} }), nodeOf()],
  ['that is gone', false, machineOf(), undefined],
  [
    'whose kubelet has reported nothing',
    false,
    machineOf(),
    { ...node({ metadata: { labels: SELECTED } }), status: undefined } as never,
  ],
  [
    'that is no longer a candidate',
    false,
    machineOf(),
    nodeOf(undefined, true, { [Labels.SelectedForUpdate]: 'true' }),
  ],
  [
    'without labels',
    false,
    machineOf(),
    { ...nodeOf(), metadata: { name: 'n', uid: 'u', resourceVersion: '1', creationTimestamp: at(0) } },
  ],
  ['that is a candidate', false, machineOf(), nodeOf(InPlaceUpdateReasons.CandidateForUpdate)],
  ['without a condition', false, machineOf(), node({ metadata: { labels: SELECTED } })],
  ['without a status', false, machineOf(), { ...node({ metadata: { labels: SELECTED } }), status: {} }],
  [
    'whose result the condition does not show yet',
    false,
    machineOf(),
    nodeOf(undefined, true, { ...CANDIDATE, [Labels.UpdateResult]: 'successful' }),
  ],
])('a node is emptied for an update: one %s', (_what, wants, given, its) => {
  expect(wantsInPlaceDrain(given, its)).toBe(wants);
});

test('a failed update without a reason is reported without one', () => {
  const its = nodeOf(InPlaceUpdateReasons.ReadyForUpdate, true, { ...SELECTED, [Labels.UpdateResult]: 'failed' });
  expect(planInPlace(observed({ node: its }), NOON)?.actions).toMatchObject([
    { condition: { reason: 'UpdateFailed', message: 'Node in-place update failed: ' } },
  ]);
});

test('a removed result of a node that is ready changes nothing', () => {
  const ready = nodeOf(InPlaceUpdateReasons.ReadyForUpdate, true, SELECTED);
  expect(planInPlace(observed({ node: ready }), NOON)).toBeUndefined();
});

test('the node of a machine without a phase does not change', () => {
  for (const status of [{}, undefined]) {
    const { status: _, ...bare } = machineOf();
    const o = observed({ machine: { ...bare, ...(status ? { status } : {}) } });
    expect(planInPlace(o, NOON)).toBeUndefined();
  }
  expect(inPlaceCondition(undefined)).toBeUndefined();
});
