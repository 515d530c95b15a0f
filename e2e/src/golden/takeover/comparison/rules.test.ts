import { expect, test } from 'vitest';
import type { Recorded } from '../recordings/recording.ts';
import { openEndRules } from './open-end-rules.ts';
import { RULES } from './rules.ts';
import type { Course } from './sequences.ts';

/** Tests that the rules excuse only the values that the table describes. */

const HEALTH = '.metadata.annotations.node.machine.sapcloud.io/deleted-for-health';
const REPLACEMENT = '.metadata.annotations.node.machine.sapcloud.io/replacement';
const NUMBERS = '.metadata.annotations.node.machine.sapcloud.io/next-machine-numbers';
const HISTORY = '.metadata.annotations.deployment.kubernetes.io/revision-history';
const REVISION = '.metadata.annotations.deployment.kubernetes.io/revision';
const PHASE = '.status.currentStatus.phase';
const FINALIZERS = '.metadata.finalizers[0]';

const course = (lanes: Readonly<Record<string, readonly string[]>>): Course => ({
  name: 'm',
  kind: 'Machine',
  lanes: new Map(
    Object.entries(lanes).map(([lane, values]) => [lane, values.map((value) => ({ value, from: 0, to: 1 }))]),
  ),
});

interface Example {
  readonly lane: string;
  readonly mine?: string;
  readonly theirs?: string;
  readonly ours?: Readonly<Record<string, readonly string[]>>;
  readonly original?: Readonly<Record<string, readonly string[]>>;
}

const isExcused = ({ lane, mine, theirs, ours = {}, original = {} }: Example): boolean =>
  RULES.some((rule) =>
    rule.excusesStep?.({ lane, ours: mine, theirs }, { ours: course(ours), theirs: course(original) }),
  );

test.each<[what: string, excused: Example, other: Example]>([
  [
    'the mark of a failed machine',
    { lane: HEALTH, mine: 'True', ours: { [PHASE]: ['Failed'] } },
    { lane: HEALTH, mine: 'True', ours: { [PHASE]: ['Running'] } },
  ],
  ['the mark of a replacement', { lane: REPLACEMENT, mine: 'unjoined' }, { lane: REPLACEMENT, mine: 'maybe' }],
  ['the count of names', { lane: NUMBERS, mine: '20003' }, { lane: NUMBERS, mine: 'x' }],
  [
    'a finalizer of a Node that is being deleted',
    { lane: FINALIZERS, mine: 'absent', ours: { '.status.conditions[Terminating]': ['True/ScaleDown'] } },
    { lane: FINALIZERS, mine: 'absent' },
  ],
  [
    'a repeated revision',
    { lane: HISTORY, theirs: '1,1' },
    { lane: HISTORY, theirs: '1', original: { [REVISION]: ['2'] } },
  ],
])('%s is excused, but no other value', (_what, excused, other) => {
  expect([isExcused(excused), isExcused(other)]).toEqual([true, false]);
});

test('an end without a deletion excuses no completed rollout', () => {
  const path = '.status.conditions[Progressing].reason';
  const ours = new Map([[path, 'NewMachineSetAvailable']]);
  const difference = { path, ours: 'NewMachineSetAvailable', theirs: 'ReplicaSetUpdated' };
  const machine = {
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: 'm', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
  };
  const isOver = (leaving: readonly Recorded[]): boolean =>
    openEndRules(leaving).some((rule) => rule.excuses?.(difference, { ours, theirs: new Map() }));
  expect([isOver([machine]), isOver([])]).toEqual([true, false]);
});
