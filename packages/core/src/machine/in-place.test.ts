import { Labels } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { describe, expect, it } from 'vitest';
import { conditionFromLabels } from './in-place.ts';

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

describe('condition from labels', () => {
  it.each([
    ['no candidate: nothing', ['s', 'ok'], undefined, undefined],
    ['S-I9 candidate without a condition', ['c'], undefined, 'CandidateForUpdate'],
    ['a node selected at once is a candidate first', ['c', 's'], undefined, 'CandidateForUpdate'],
    ['S-I10 candidate that is one', ['c'], 'CandidateForUpdate', undefined],
    ['S-I11, P-27 a new round after a success', ['c'], 'UpdateSuccessful', 'CandidateForUpdate'],
    ['P-26 selected', ['c', 's'], 'CandidateForUpdate', 'SelectedForUpdate'],
    ['selected and still draining', ['c', 's'], 'SelectedForUpdate', undefined],
    ['S-I14 successful', ['c', 's', 'ok'], 'ReadyForUpdate', 'UpdateSuccessful'],
    ['successful and said', ['c', 's', 'ok'], 'UpdateSuccessful', undefined],
    ['P-26 failed', ['c', 's', 'bad'], 'ReadyForUpdate', 'UpdateFailed'],
    ['failed and said', ['c', 's', 'bad'], 'UpdateFailed', undefined],
    ['failed, and then successful after all', ['c', 's', 'ok'], 'UpdateFailed', 'UpdateSuccessful'],
    ['failed, and somebody took result and selection away', ['c'], 'UpdateFailed', 'CandidateForUpdate'],
  ] as const)('%s', (_name, labels, reason, expected) => {
    expect(conditionFromLabels(node(labels, reason))?.reason).toBe(expected);
  });

  it('names the reason of a failure', () => {
    expect(conditionFromLabels(node(['c', 's', 'bad'], 'ReadyForUpdate'))?.message).toBe(
      'Node in-place update failed: disk full',
    );
  });
});
