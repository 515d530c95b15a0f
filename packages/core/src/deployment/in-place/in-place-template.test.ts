import { Annotations, Labels } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { set } from '../../set/test-objects.ts';
import { machineIn, nodeIn, type UpdateState } from '../testing/updated-machine.ts';
import {
  beganFor,
  isOutdated,
  leftoverOf,
  restarts,
  schedulable,
  selectedFor,
  startedFor,
} from './in-place-template.ts';

const CURRENT = set('new', 3);

const CHANGES = {
  nothing: undefined,
  'select for the current template': selectedFor(CURRENT),
  'select for the current template, if unchanged': { ...selectedFor(CURRENT), onlyIfUnchanged: true },
  'end the selection': {
    metadata: {
      labels: { [Labels.SelectedForUpdate]: null, [Labels.UpdateResult]: null },
      annotations: { [Annotations.UpdateFailedReason]: null, [Annotations.SelectedForTemplate]: '' },
    },
  },
  'no candidate': { metadata: { labels: { [Labels.CandidateForUpdate]: null } } },
  'call off': {
    metadata: {
      labels: { [Labels.CandidateForUpdate]: null, [Labels.SelectedForUpdate]: null },
      annotations: { [Annotations.SelectedForTemplate]: null },
    },
    spec: { unschedulable: false },
    decidedBy: [Annotations.ConfigDaemonDrain],
    onlyIfUnchanged: true,
  },
  'not selected': { metadata: { labels: { [Labels.SelectedForUpdate]: null } } },
  'not selected, no template': {
    metadata: {
      labels: { [Labels.SelectedForUpdate]: null },
      annotations: { [Annotations.SelectedForTemplate]: null },
    },
  },
} as const;
type Change = keyof typeof CHANGES;
type Row = readonly [state: UpdateState, change: Change];

const SELECTED = ['candidate', 'selected'] as const;
const SUCCESSFUL = ['candidate', 'selected', 'successful'] as const;
const FAILED = ['candidate', 'selected', 'failed'] as const;
const CANDIDATE = ['candidate'] as const;

describe('a node of an old machine', () => {
  test.each<Row>([
    [{ marks: CANDIDATE }, 'nothing'],
    [{ marks: CANDIDATE, template: 'other' }, 'nothing'],
    [{ marks: SELECTED, template: 'new' }, 'nothing'],
    [{ marks: SELECTED }, 'select for the current template'],
    [{ marks: SELECTED, reason: 'DrainSuccessful' }, 'select for the current template'],
    [{ marks: SELECTED, template: '' }, 'select for the current template'],
    [{ marks: SELECTED, template: 'other' }, 'select for the current template, if unchanged'],
    [
      { marks: SELECTED, template: 'other', reason: 'CandidateForUpdate' },
      'select for the current template, if unchanged',
    ],
    [
      { marks: SELECTED, template: 'other', reason: 'SelectedForUpdate' },
      'select for the current template, if unchanged',
    ],
    [{ marks: SELECTED, template: 'other', reason: 'SelectedForUpdate', phase: 'InPlaceUpdating' }, 'nothing'],
    [{ marks: SELECTED, template: 'other', reason: 'DrainSuccessful' }, 'nothing'],
    [{ marks: SELECTED, template: 'other', reason: 'SelectedForUpdate', nodeReason: 'ReadyForUpdate' }, 'nothing'],
    [{ marks: SELECTED, template: 'other', reason: 'ReadyForUpdate', phase: 'InPlaceUpdating' }, 'nothing'],
    [{ marks: SUCCESSFUL, template: 'new', reason: 'UpdateSuccessful' }, 'nothing'],
    [{ marks: SUCCESSFUL, reason: 'UpdateSuccessful' }, 'nothing'],
    [{ marks: SUCCESSFUL, template: '', reason: 'UpdateSuccessful' }, 'nothing'],
    [{ marks: SUCCESSFUL, template: 'other', reason: 'UpdateSuccessful' }, 'end the selection'],
    [{ marks: FAILED, template: 'other', reason: 'UpdateFailed', phase: 'InPlaceUpdateFailed' }, 'end the selection'],
    [{ marks: FAILED, template: 'other', reason: 'UpdateFailed', phase: 'InPlaceUpdating' }, 'nothing'],
    [{ marks: SUCCESSFUL, template: 'other', reason: 'UpdateSuccessful', phase: 'InPlaceUpdating' }, 'nothing'],
    [{ marks: SUCCESSFUL, template: 'other' }, 'nothing'],
    [{ marks: SUCCESSFUL, template: 'other', reason: 'SelectedForUpdate' }, 'nothing'],
  ])('%o: %s', (state, change) => {
    expect(startedFor(machineIn(state), nodeIn(state), CURRENT)).toEqual(CHANGES[change]);
  });
});

describe('a node of a machine that has the current template', () => {
  test.each<Row>([
    [{ marks: ['selected'], template: 'other' }, 'nothing'],
    [{}, 'nothing'],
    [{ marks: CANDIDATE }, 'no candidate'],
    [{ marks: CANDIDATE, template: 'new' }, 'no candidate'],
    [{ marks: CANDIDATE, template: '' }, 'nothing'],
    [{ marks: CANDIDATE, template: 'other' }, 'nothing'],
    [{ marks: CANDIDATE, reason: 'DrainSuccessful' }, 'nothing'],
    [{ marks: CANDIDATE, phase: 'InPlaceUpdating' }, 'nothing'],
    [{ marks: ['candidate', 'successful'] }, 'nothing'],
    [{ marks: SELECTED }, 'nothing'],
    [{ marks: SELECTED, template: 'new' }, 'nothing'],
    [{ marks: SELECTED, template: '' }, 'select for the current template'],
    [{ marks: SUCCESSFUL, template: '' }, 'nothing'],
    [{ marks: SELECTED, template: 'other' }, 'call off'],
    [{ marks: SELECTED, template: 'other', reason: 'SelectedForUpdate' }, 'call off'],
    [{ marks: SELECTED, template: 'other', reason: 'CandidateForUpdate' }, 'call off'],
    [{ marks: SELECTED, template: 'other', reason: 'DrainSuccessful' }, 'nothing'],
    [{ marks: SELECTED, template: 'other', reason: 'SelectedForUpdate', nodeReason: 'ReadyForUpdate' }, 'nothing'],
    [{ marks: SELECTED, template: 'other', phase: 'InPlaceUpdating' }, 'nothing'],
    [{ marks: SUCCESSFUL, template: 'other', reason: 'UpdateSuccessful' }, 'end the selection'],
    [{ marks: SUCCESSFUL, template: 'other', reason: 'ReadyForUpdate' }, 'nothing'],
    [{ marks: SUCCESSFUL, template: 'new', reason: 'UpdateSuccessful' }, 'nothing'],
  ])('%o: %s', (state, change) => {
    expect(restarts(machineIn(state), nodeIn(state), CURRENT)).toEqual(CHANGES[change]);
  });
});

describe('a leftover selection', () => {
  test.each<Row>([
    [{}, 'nothing'],
    [{ template: 'new' }, 'nothing'],
    [{ marks: ['selected'] }, 'not selected'],
    [{ marks: ['selected'], template: 'new' }, 'not selected, no template'],
    [{ marks: ['selected'], template: '' }, 'not selected, no template'],
    [{ marks: ['selected'], phase: 'InPlaceUpdateSuccessful' }, 'not selected'],
    [{ marks: ['selected'], phase: 'InPlaceUpdating' }, 'nothing'],
    [{ marks: ['selected'], phase: 'InPlaceUpdateFailed' }, 'nothing'],
    [{ marks: ['selected', 'successful'] }, 'nothing'],
    [{ marks: SELECTED }, 'nothing'],
  ])('%o: %s', (state, change) => {
    expect(leftoverOf(machineIn(state), nodeIn(state))).toEqual(CHANGES[change]);
  });
});

test.each([
  [CANDIDATE, '', true],
  [CANDIDATE, 'other', true],
  [CANDIDATE, 'new', false],
  [CANDIDATE, undefined, false],
  [SELECTED, 'other', false],
  [[], 'other', false],
] as const)(
  'a node with the labels %o and the template %o was emptied for another template: %o',
  (marks, template, began) => {
    expect(beganFor(nodeIn({ marks, template }), CURRENT)).toBe(began);
  },
);

test.each([
  [undefined, false],
  ['', false],
  ['new', false],
  ['other', true],
] as const)('an update that was selected for the template %o is outdated: %o', (template, outdated) => {
  expect(isOutdated(nodeIn({ template }), CURRENT)).toBe(outdated);
});

test.each([
  [undefined, { unschedulable: false }],
  ['uncordon-1', { unschedulable: false }],
  ['drain-1', {}],
])('a node with the daemon drain %o gets the spec %o', (daemonDrain, spec) => {
  expect(schedulable(nodeIn(daemonDrain === undefined ? {} : { daemonDrain }))).toEqual(spec);
});

test('the selector of a set contains its template too, and a set without both writes no template to the node', () => {
  const { labels, ...metadata } = CURRENT.metadata;
  const templateOf = (set: typeof CURRENT) => selectedFor(set).metadata?.annotations?.[Annotations.SelectedForTemplate];
  expect(templateOf({ ...CURRENT, metadata })).toBe(labels?.[Labels.TemplateHash]);
  expect(templateOf({ ...CURRENT, metadata, spec: { ...CURRENT.spec, selector: { matchLabels: {} } } })).toBe(null);
});
