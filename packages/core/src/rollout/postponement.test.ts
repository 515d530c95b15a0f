import { Labels } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { expect, test } from 'vitest';
import { machine } from '../set/test-objects.ts';
import { firstEnd, isPostponement, postponedAmong, postponementOf, whyPostponed } from './postponement.ts';

const now = new Date('2026-01-01T12:00:00Z');
const seconds = now.getTime() / 1000;
const node = (value?: string): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: 'one',
    uid: 'uid',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: value === undefined ? {} : { [Labels.RolloutPostpone]: value },
  },
  spec: {},
});

test.each<[string | undefined, boolean]>([
  [undefined, false],
  ['true', true],
  ['false', false],
  ['', false],
  ['True', false],
  ['soon', false],
  ['-1', false],
  [`${seconds}`, false],
  [`${seconds + 1}`, true],
  ['999999999999', false],
])('the value %s postpones: %s', (value, want) => {
  expect(postponementOf(node(value), now) !== undefined).toBe(want);
});

test('a time in seconds is the end', () => {
  expect(postponementOf(node(`${seconds + 60}`), now)).toEqual({ until: new Date('2026-01-01T12:01:00Z') });
  expect(postponementOf(node('true'), now)).toEqual({ until: undefined });
});

test.each([
  ['true', true],
  ['false', true],
  ['0', true],
  ['1790000000', true],
  ['maybe', false],
  ['2026-01-01', false],
  ['999999999999', false],
])('%s is a value of the label: %s', (value, want) => {
  expect(isPostponement(value)).toBe(want);
});

test('the label of a node counts only while its machine is available', () => {
  const nodeOf = () => node('true');
  const phases = (['Running', 'Unknown', 'Failed', 'Pending'] as const).filter(
    (phase) => postponedAmong([machine('one', { phase })], { nodeOf, now }).length > 0,
  );
  expect(phases).toEqual(['Running']);
  expect(postponedAmong([machine('one', { phase: 'Running' })], { nodeOf: undefined, now })).toEqual([]);
});

test('the message names three machines, and the first end is the next look', () => {
  const all = ['d', 'c', 'b', 'a'].map((name, index) => ({
    machine: machine(name, { phase: 'Running', labels: { [Labels.Node]: `node-${name}` } }),
    until: index === 0 ? undefined : new Date((seconds + index * 60) * 1000),
  }));
  expect(whyPostponed(all)).toBe(
    'waiting: the label rollout.machine.sapcloud.io/postpone postpones the update of a (Node node-a, until 2026-01-01T12:03:00Z), b (Node node-b, until 2026-01-01T12:02:00Z), c (Node node-c, until 2026-01-01T12:01:00Z) and 1 more',
  );
  expect(firstEnd(all)).toEqual(new Date('2026-01-01T12:01:00Z'));
});
