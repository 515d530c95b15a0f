import { expect, test } from 'vitest';
import type { Recorded } from '../recordings/recording.ts';
import { openEndRules } from './open-end-rules.ts';
import { RULES } from './rules.ts';
import type { Course } from './sequences.ts';

/** Tests that the rules excuse only the values that the table describes. */

const HEALTH = '.metadata.annotations.node.machine.sapcloud.io/deleted-for-health';
const REPLACEMENT = '.metadata.annotations.node.machine.sapcloud.io/replacement';
const PROTECT = '.metadata.annotations.deployment.machine.sapcloud.io/protect-new-node';
const NUMBERS = '.metadata.annotations.node.machine.sapcloud.io/next-machine-numbers';
const HISTORY = '.metadata.annotations.deployment.kubernetes.io/revision-history';
const REVISION = '.metadata.annotations.deployment.kubernetes.io/revision';
const PHASE = '.status.currentStatus.phase';
const FINALIZERS = '.metadata.finalizers[0]';
const OPERATION = '.status.lastOperation';
const CLASS_OF_NODE = '.metadata.annotations.node.machine.sapcloud.io/machine-class';
const SELECTED_FOR = '.metadata.annotations.node.machine.sapcloud.io/selected-for-template';
const SYNCED = '.metadata.annotations.node.machine.sapcloud.io/last-applied-anno-labels-taints';
const RECORD = JSON.stringify({
  metadata: { labels: { colour: 'blue' }, annotations: { note: 'x' } },
  spec: { taints: [{ key: 'gpu', effect: 'NoSchedule' }] },
});

const course = (kind: string, lanes: Readonly<Record<string, readonly string[]>>): Course => ({
  name: 'm',
  kind,
  lanes: new Map(
    Object.entries(lanes).map(([lane, values]) => [lane, values.map((value) => ({ value, from: 0, to: 1 }))]),
  ),
});

interface Example {
  readonly kind?: string;
  readonly lane: string;
  readonly mine?: string;
  readonly theirs?: string;
  readonly ours?: Readonly<Record<string, readonly string[]>>;
  readonly original?: Readonly<Record<string, readonly string[]>>;
}

const isExcused = ({ kind = 'Machine', lane, mine, theirs, ours = {}, original = {} }: Example): boolean =>
  RULES.filter(({ kinds }) => kinds.includes(kind)).some((rule) =>
    rule.excusesStep?.({ lane, ours: mine, theirs }, { ours: course(kind, ours), theirs: course(kind, original) }),
  );
const taint = '.spec.taints[gpu/NoSchedule].effect';
const node = { kind: 'Node', ours: { [SYNCED]: [RECORD] } };

test.each<[what: string, excused: Example, other: Example]>([
  [
    'the mark of a failed machine',
    { lane: HEALTH, mine: 'True', ours: { [PHASE]: ['Failed'] } },
    { lane: HEALTH, mine: 'True', ours: { [PHASE]: ['Running'] } },
  ],
  ['the mark of a replacement', { lane: REPLACEMENT, mine: 'unjoined' }, { lane: REPLACEMENT, mine: 'maybe' }],
  ['the mark of a machine in a rollout', { lane: PROTECT, mine: 'true' }, { lane: PROTECT, mine: 'false' }],
  [
    'the count of names',
    { kind: 'MachineSet', lane: NUMBERS, mine: '20003,20001' },
    { kind: 'MachineSet', lane: NUMBERS, mine: '20003x' },
  ],
  [
    'a finalizer of a Node that is being deleted',
    { kind: 'Node', lane: FINALIZERS, mine: 'absent', ours: { '.status.conditions[Terminating]': ['True/ScaleDown'] } },
    { kind: 'Node', lane: FINALIZERS, mine: 'absent' },
  ],
  [
    'a repeated revision',
    { kind: 'MachineSet', lane: HISTORY, theirs: '1,1' },
    { kind: 'MachineSet', lane: HISTORY, theirs: '1', original: { [REVISION]: ['2'] } },
  ],
  [
    'the class of a Node',
    { kind: 'Node', lane: CLASS_OF_NODE, mine: 'garden/small' },
    { kind: 'Node', lane: CLASS_OF_NODE, mine: 'small' },
  ],
  [
    'the template of a selected Node',
    { kind: 'Node', lane: SELECTED_FOR, mine: '6f576' },
    { kind: 'Node', lane: SELECTED_FOR, mine: 'true!' },
  ],
  ['the first phase', { lane: PHASE, mine: 'Pending' }, { lane: OPERATION, mine: 'Pending' }],
  [
    'the first operation',
    { lane: OPERATION, mine: 'Create Processing Creating machine on cloud provider' },
    { lane: PHASE, mine: 'Create Processing Creating machine on cloud provider' },
  ],
  [
    'a failure between an unhealthy phase and the deletion',
    { lane: PHASE, mine: 'Failed', original: { [PHASE]: ['Running', 'Unknown', 'Terminating'] } },
    { lane: PHASE, mine: 'Failed', original: { [PHASE]: ['Unknown', 'Running', 'Terminating'] } },
  ],
  [
    'a failure that the original shows',
    { lane: PHASE, mine: 'Failed', original: { [PHASE]: ['Failed', 'Running'] } },
    { lane: PHASE, mine: 'Failed', original: { [PHASE]: ['Unknown', 'Running'] } },
  ],
  [
    'a failure of a machine that the original removed',
    { lane: PHASE, mine: 'Failed', original: { [PHASE]: ['Unknown'], presence: ['there', 'gone'] } },
    { lane: PHASE, mine: 'Failed', original: { [PHASE]: ['Unknown'], presence: ['there'] } },
  ],
  [
    'a label of the node template',
    { ...node, lane: '.metadata.labels.colour', mine: 'blue' },
    { ...node, lane: '.metadata.labels.shape', mine: 'round' },
  ],
  [
    'an annotation of the node template',
    { ...node, lane: '.metadata.annotations.note', mine: 'x' },
    { ...node, lane: '.metadata.annotations.notes', mine: 'x' },
  ],
  [
    'a taint of the node template',
    { ...node, lane: taint, mine: 'NoSchedule' },
    { ...node, lane: taint, mine: 'NoSchedule', original: { [SYNCED]: [RECORD] } },
  ],
])('%s is excused, but no other value', (_what, excused, other) => {
  expect([isExcused(excused), isExcused(other)]).toEqual([true, false]);
});

test('only an end with a deletion excuses a completed rollout, and only if the rollout of the original continued', () => {
  const path = '.status.conditions[Progressing].reason';
  const ours = new Map([[path, 'NewMachineSetAvailable']]);
  const machine = {
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: 'm', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
  };
  const isOver = (leaving: readonly Recorded[], theirs: string): boolean => {
    const difference = { path, ours: 'NewMachineSetAvailable', theirs };
    return openEndRules(leaving).some((rule) =>
      rule.excuses?.(difference, { ours, theirs: new Map([[path, theirs]]) }),
    );
  };
  expect(isOver([machine], 'MachineSetUpdated')).toBe(true);
  expect(isOver([], 'MachineSetUpdated')).toBe(false);
  expect(isOver([machine], 'ProgressDeadlineExceeded')).toBe(false);
});
