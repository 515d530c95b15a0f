import { Labels } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { describe, expect, it } from 'vitest';
import { MACHINE_DEFAULTS, settingsOf } from '../../settings/settings.ts';
import { MachineMemories } from '../model/memory.ts';
import type { MachineObservation } from '../model/observation.ts';
import { emptyDrain } from '../test-dying.ts';
import { at, machine, NOON } from '../testing.ts';
import { Wakes } from '../wakes.ts';
import { conditionFromLabels, planInPlace } from './in-place.ts';

const SHORT = {
  c: { [Labels.CandidateForUpdate]: 'true' },
  s: { [Labels.SelectedForUpdate]: 'true' },
  ok: { [Labels.UpdateResult]: 'successful' },
  bad: { [Labels.UpdateResult]: 'failed' },
};

const node = (labels: readonly (keyof typeof SHORT)[], reason?: string): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: 'n',
    uid: 'u',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: Object.assign({}, ...labels.map((key) => SHORT[key])) as Record<string, string>,
    annotations: { 'node.machine.sapcloud.io/update-failed-reason': 'disk full' },
  },
  spec: {},
  status: { conditions: reason ? [{ type: 'InPlaceUpdate', status: 'True', reason }] : [] },
});

describe('the condition from labels', () => {
  it.each([
    ['no candidate: nothing', ['s', 'ok'], undefined, undefined],
    ['S-I9 candidate without a condition', ['c'], undefined, 'CandidateForUpdate'],
    ['a node selected at once is a candidate first', ['c', 's'], undefined, 'CandidateForUpdate'],
    ['S-I10 a candidate with the condition', ['c'], 'CandidateForUpdate', undefined],
    ['S-I11, P-27 a new round after a success', ['c'], 'UpdateSuccessful', 'CandidateForUpdate'],
    ['P-26 selected', ['c', 's'], 'CandidateForUpdate', 'SelectedForUpdate'],
    ['selected and still draining', ['c', 's'], 'SelectedForUpdate', undefined],
    ['selected, with the result of an update before', ['c', 's', 'ok'], 'SelectedForUpdate', undefined],
    ['the selection was withdrawn before the drain', ['c'], 'SelectedForUpdate', 'CandidateForUpdate'],
    ['the selection was withdrawn after the drain', ['c'], 'DrainSuccessful', 'CandidateForUpdate'],
    ['the selection was withdrawn before the agent started', ['c'], 'ReadyForUpdate', 'CandidateForUpdate'],
    ['failed, and a user removed only the selection', ['c', 'bad'], 'UpdateFailed', undefined],
    ['S-I14 successful', ['c', 's', 'ok'], 'ReadyForUpdate', 'UpdateSuccessful'],
    ['successful, and already in the condition', ['c', 's', 'ok'], 'UpdateSuccessful', undefined],
    ['P-26 failed', ['c', 's', 'bad'], 'ReadyForUpdate', 'UpdateFailed'],
    ['failed, and already in the condition', ['c', 's', 'bad'], 'UpdateFailed', undefined],
    ['failed, and successful later', ['c', 's', 'ok'], 'UpdateFailed', 'UpdateSuccessful'],
    ['failed, and a user removed the result and the selection', ['c'], 'UpdateFailed', 'CandidateForUpdate'],
  ] as const)('%s', (_name, labels, reason, expected) => {
    expect(conditionFromLabels(node(labels, reason))?.reason).toBe(expected);
  });

  it('includes the reason of a failure', () => {
    expect(conditionFromLabels(node(['c', 's', 'bad'], 'ReadyForUpdate'))?.message).toBe(
      'Node in-place update failed: disk full',
    );
  });
});

const running = machine({
  metadata: { labels: { node: 'n' } },
  status: { currentStatus: { phase: 'Running', lastUpdateTime: at(0) } },
});

const see = (change: Partial<MachineObservation>): MachineObservation => ({
  machine: running,
  settings: settingsOf(running, MACHINE_DEFAULTS),
  inputs: 'i',
  asksForToken: false,
  hasTarget: true,
  frozen: false,
  calls: {},
  driver: { initialize: false, status: true },
  replacementsInProgress: 0,
  ...change,
});

const empty = { ...emptyDrain, nodeName: 'n' };

const cordoned = (labels: readonly (keyof typeof SHORT)[], reason: string): Node => ({
  ...node(labels, reason),
  spec: { unschedulable: true },
});

const conditionOf = (o: MachineObservation): string | undefined =>
  planInPlace(o, NOON)?.actions.flatMap((action) =>
    action.do === 'setNodeCondition' ? [`${action.condition.reason}: ${action.condition.message}`] : [],
  )[0];

describe('the machine during an update', () => {
  it.each<[row: string, o: MachineObservation]>([
    ['S-I8, S-I16, S-I20 the node is missing', see({})],
    ['S-I16 neither a condition nor a label', see({ node: node([]) })],
    [
      'S-I19 ready for the update: the machine waits for the agent',
      see({ node: cordoned(['c', 's'], 'ReadyForUpdate') }),
    ],
  ])('a machine in the state "%s" needs no action', (_row, o) => {
    expect(planInPlace(o, NOON)?.actions ?? []).toEqual([]);
  });

  it('a machine whose selected node is drained gets the phase and DrainSuccessful [S-I17]', () => {
    const o = see({ node: cordoned(['c', 's'], 'SelectedForUpdate'), drain: empty });
    const [status] = planInPlace(o, NOON)?.actions ?? [];
    expect(status).toMatchObject({
      do: 'writeStatus',
      status: {
        currentStatus: { phase: 'InPlaceUpdating' },
        lastOperation: { description: 'Machine machine-0 is undergoing an in-place update', type: 'InPlaceUpdate' },
      },
    });
    expect(conditionOf(o)).toBe('DrainSuccessful: Node draining successful');
  });

  it('the condition depends on the selection, so a change of the Node is a conflict', () => {
    const o = see({ node: cordoned(['c', 's'], 'DrainSuccessful') });
    expect(planInPlace(o, NOON)?.actions).toMatchObject([{ do: 'setNodeCondition', onlyIfUnchanged: true }]);
  });

  it('the agent may begin when the node is drained [S-I18]', () => {
    expect(conditionOf(see({ node: cordoned(['c', 's'], 'DrainSuccessful') }))).toBe(
      'ReadyForUpdate: Node is ready for in-place update',
    );
  });
});

describe('a change of labels wakes the machine', () => {
  const store = { byIndex: () => [running] };
  const wakes = new Wakes({ machines: { store } } as never, new MachineMemories(), 'test');
  const labelled = (labels: Record<string, string>): Node => ({
    ...node([]),
    metadata: { ...node([]).metadata, labels },
  });
  const other = { a: 'b' };
  const failure = { ...other, [Labels.UpdateResult]: 'failed' };
  it.each<[row: string, before: Record<string, string>, after: Record<string, string>, wakes: boolean]>([
    ['S-I1 no label before and after', {}, {}, false],
    ['S-I2 an unrelated label that stays', other, other, false],
    ['S-I3 candidate', other, { ...other, ...SHORT.c }, true],
    ['S-I4 selected', other, { ...other, ...SHORT.s }, true],
    ['S-I5 a result', other, failure, true],
    ['S-I6 another result', failure, { ...other, ...SHORT.ok }, true],
    ['S-I7 the same result', failure, failure, false],
  ])('%s', (_row, before, after, woken) => {
    const keys = wakes.node({ type: 'updated', key: 'n', old: labelled(before), object: labelled(after) });
    expect(keys).toEqual(woken ? ['test/machine-0'] : []);
  });
});
