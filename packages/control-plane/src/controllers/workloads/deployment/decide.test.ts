import { expect, test } from 'vitest';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { type DeploymentView, decide } from './decide.ts';
import { progressFacts, withCondition } from './status.ts';

const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c' }] } };
const PROGRESSING = withCondition([], progressFacts('True', 'ReplicaSetUpdated', ''), new Date(0));

const deployment = (spec: object = {}, metadata: object = {}): ApiObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', ...metadata },
  spec: { replicas: 3, progressDeadlineSeconds: 600, template, ...spec },
  status: { conditions: PROGRESSING },
});

const set = (name: string, revision: number, replicas = 3, desired = '3'): ApiObject => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: {
    name,
    annotations: {
      'deployment.kubernetes.io/revision': String(revision),
      'deployment.kubernetes.io/desired-replicas': desired,
    },
  },
  spec: { replicas },
});

const view = (facts: Partial<DeploymentView> = {}): DeploymentView => ({
  deployment: deployment(),
  fresh: set('new', 2),
  old: [set('old', 1)],
  oldPodsLeft: true,
  ...facts,
});

const ROLLBACK = { annotations: { 'deprecated.deployment.rollback.to': '1' } };
const gone = { deletionTimestamp: '2024-01-01T00:00:00Z' };

test.each<[string, Partial<DeploymentView>, object]>([
  ['a rollout continues', {}, { kind: 'roll out' }],
  ['a deployment in deletion only counts', { deployment: deployment({}, gone) }, { kind: 'count' }],
  [
    'the pause becomes a condition first',
    { deployment: deployment({ paused: true }) },
    { kind: 'note', facts: expect.objectContaining({ reason: 'DeploymentPaused' }) },
  ],
  [
    'a paused deployment without a deadline follows its size',
    { deployment: deployment({ paused: true, progressDeadlineSeconds: undefined }) },
    { kind: 'follow size' },
  ],
  [
    'a new set with an old revision gets the next revision',
    { fresh: set('new', 1), old: [set('old', 2)] },
    expect.objectContaining({ kind: 'refresh' }),
  ],
  [
    'a changed readiness delay goes to the set',
    { deployment: deployment({ minReadySeconds: 5 }) },
    expect.objectContaining({ kind: 'refresh', change: { annotations: {}, minReadySeconds: 5 } }),
  ],
  [
    'a requested rollback comes before the rollout',
    { deployment: deployment({}, ROLLBACK) },
    { kind: 'roll back', revision: 1n },
  ],
  ['a changed size stops the rollout', { old: [set('old', 1, 3, '5')] }, { kind: 'follow size' }],
  ['without a set of the template, one is created', { fresh: undefined }, { kind: 'create', revision: 2n }],
  [
    'Recreate stops the old sets before it creates the new one',
    { fresh: undefined, deployment: deployment({ strategy: { type: 'Recreate' } }) },
    { kind: 'stop old' },
  ],
  [
    'Recreate waits for the last pod of the old sets',
    { fresh: undefined, deployment: deployment({ strategy: { type: 'Recreate' } }), old: [set('old', 1, 0)] },
    { kind: 'stop old' },
  ],
  [
    'Recreate creates the new set when no old pod is left',
    {
      fresh: undefined,
      deployment: deployment({ strategy: { type: 'Recreate' } }),
      old: [set('old', 1, 0)],
      oldPodsLeft: false,
    },
    { kind: 'create', revision: 2n },
  ],
  [
    'an existing set without a progress condition is noted',
    { deployment: { ...deployment(), status: {} } },
    { kind: 'note', facts: expect.objectContaining({ reason: 'FoundNewReplicaSet' }), revision: '2' },
  ],
])('%s', (_title, facts, step) => {
  expect(decide(view(facts))).toEqual(step);
});
