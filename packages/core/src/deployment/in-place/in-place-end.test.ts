import { Annotations, Labels, type Machine } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { deployment, machine } from '../../set/test-objects.ts';
import type { View } from '../state/view.ts';
import { machineIn, nodeIn, type UpdateState } from '../testing/updated-machine.ts';
import { cleaned } from './in-place.ts';
import { endOfUpdates } from './in-place-end.ts';

function ending(states: readonly UpdateState[], changes: Partial<Pick<View, 'nodeOf'>> & { paused?: boolean } = {}) {
  const { paused = false, ...view } = changes;
  const nodes = new Map(states.map((state, index) => [`m${index}`, nodeIn(state, `m${index}`)]));
  const machines = new Map([['uid-old', states.map((state, index): Machine => machineIn(state, `m${index}`))]]);
  return endOfUpdates({ deployment: deployment(3, { paused }), machines, nodeOf: (name) => nodes.get(name), ...view });
}

const changeOf = (state: UpdateState) => ending([state]).nodes[0]?.change;

const CALLED_OFF = {
  metadata: {
    labels: { [Labels.CandidateForUpdate]: null, [Labels.SelectedForUpdate]: null },
    annotations: { [Annotations.SelectedForTemplate]: null },
  },
  onlyIfUnchanged: true,
};
const UNCORDONED = { ...CALLED_OFF, spec: { unschedulable: false }, decidedBy: [Annotations.ConfigDaemonDrain] };

const SELECTED = ['candidate', 'selected'] as const;
const SUCCESSFUL = ['candidate', 'selected', 'successful'] as const;

describe('after a change of the strategy', () => {
  test.each<[state: UpdateState, change: object]>([
    [{ marks: ['candidate'] }, CALLED_OFF],
    [{ marks: ['candidate'], reason: 'CandidateForUpdate' }, CALLED_OFF],
    [{ marks: ['candidate'], template: '' }, UNCORDONED],
    [{ marks: ['selected'] }, UNCORDONED],
    [{ marks: SELECTED, template: 'new', reason: 'SelectedForUpdate' }, UNCORDONED],
  ])('an update that has not started is canceled: %o', (state, change) => {
    expect(changeOf(state)).toEqual(change);
  });

  test.each<UpdateState>([
    {},
    { marks: ['successful'], reason: 'UpdateSuccessful' },
    { marks: SELECTED, reason: 'DrainSuccessful' },
    { marks: SELECTED, reason: 'SelectedForUpdate', nodeReason: 'ReadyForUpdate' },
    { marks: SELECTED, reason: 'SelectedForUpdate', phase: 'InPlaceUpdating' },
    { marks: ['candidate'], phase: 'Unknown' },
    { marks: SUCCESSFUL, reason: 'UpdateSuccessful', phase: 'InPlaceUpdating' },
    { marks: SUCCESSFUL, reason: 'SelectedForUpdate' },
    { marks: SUCCESSFUL },
    { marks: ['candidate', 'selected', 'failed'], reason: 'UpdateSuccessful' },
    { marks: SELECTED, reason: 'UpdateSuccessful', phase: 'InPlaceUpdateSuccessful' },
    { marks: ['candidate'], deleting: true },
  ])('a node with another state keeps its labels: %o', (state) => {
    expect(changeOf(state)).toBeUndefined();
  });

  test.each(['Running', 'InPlaceUpdateSuccessful'] as const)(
    'the node of a successful update is schedulable again, in the phase %s',
    (phase) => {
      const state = { marks: SUCCESSFUL, reason: 'UpdateSuccessful', phase };
      expect(changeOf(state)).toEqual(cleaned(nodeIn(state, 'm0')));
    },
  );

  test('a moved machine belongs to its set, unless it is being deleted', () => {
    const { machines } = ending([{ moved: true }, { moved: true, deleting: true }, {}]);
    expect(machines.map(({ machine: { metadata }, body }) => [metadata.name, body])).toEqual([
      ['m0', { metadata: { uid: 'uid-m0', labels: { [Labels.UpdateResult]: null } } }],
    ]);
  });

  test('a machine without a Node changes no node', () => {
    const machines = new Map([['uid-old', [machine('m0', { phase: 'Running' })]]]);
    const asked: string[] = [];
    const nodeOf = (name: string) => {
      asked.push(name);
      return undefined;
    };
    expect(endOfUpdates({ deployment: deployment(1), machines, nodeOf }).nodes).toEqual([]);
    expect(asked).not.toContain(undefined);
    expect(endOfUpdates({ deployment: deployment(1), machines }).nodes).toEqual([]);
  });
});

test('a paused deployment, and one with in-place updates, keep their updates', () => {
  const nothing = { machines: [], nodes: [] };
  const states: readonly UpdateState[] = [{ marks: ['candidate'] }, { moved: true }];
  expect(ending(states).nodes).toHaveLength(1);
  expect(ending(states, { paused: true })).toEqual(nothing);
  const inPlace = deployment(3, { strategy: { type: 'InPlaceUpdate' } });
  const machines = new Map([['uid-old', states.map((state, index) => machineIn(state, `m${index}`))]]);
  expect(
    endOfUpdates({ deployment: inPlace, machines, nodeOf: (name) => nodeIn({ marks: ['candidate'] }, name) }),
  ).toEqual(nothing);
});
