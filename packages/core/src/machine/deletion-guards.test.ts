import { Annotations, type Machine } from '@mcm/api';
import { expect, test } from 'vitest';
import { NO_DRAIN_MEMORY } from '../drain/model/observation.ts';
import { budget } from '../drain/testing.ts';
import { MachineError } from '../driver/contract/errors.ts';
import { planDeletion } from './deletion/deletion.ts';
import type { CallKind, CallMemory, MachineObservation } from './model/observation.ts';
import {
  attachedBy,
  cordoned,
  described,
  dying,
  emptyDrain,
  nodeless,
  OUT_OF_SERVICE,
  pod,
  see,
  T1,
  T2,
  T5,
  terminating,
  verbs,
  vmGone,
} from './test-dying.ts';
import { at, condition, hc, machine, NOON, node } from './testing.ts';

/** Conditions that prevent a wrong step of a deletion. Each test fails without its condition. */

const FORCED = { 'force-deletion': 'True' };
const later = (ms: number): Date => new Date(NOON.getTime() + ms);
const going = (change: Partial<Machine['metadata']> = {}, description = T1): Machine =>
  machine({ metadata: { deletionTimestamp: at(0), ...change }, status: terminating(description) });
const running = (kind: CallKind, sinceMs: number): CallMemory => ({ running: { kind, since: later(sinceMs) } });
const answered = (nodeName: string): CallMemory => ({
  last: {
    kind: 'status',
    at: NOON,
    outcome: { ok: true, instance: { providerId: 'fakeID-0', nodeName } },
    failures: 0,
    inputs: 'i',
  },
});
const unsent = (kind: CallKind): CallMemory => {
  const error = new MachineError('InvalidArgument', 'spec.region is missing', { unsent: true });
  return { last: { kind, at: NOON, outcome: { ok: false, error }, failures: 1, inputs: 'i' } };
};
const withPod = { ...emptyDrain, pods: [pod()] };
const without = (observation: MachineObservation, ...fields: (keyof MachineObservation)[]): MachineObservation =>
  Object.fromEntries(
    Object.entries(observation).filter(([field]) => !fields.includes(field as keyof MachineObservation)),
  ) as unknown as MachineObservation;

test.each<[what: string, observation: MachineObservation, actions: string[]]>([
  ['Nodes cannot be read: the VM stays', see(dying(terminating(T1)), { nodesUnseen: 'stale' }), ['writeStatus']],
  [
    'the same, and only its VM is recorded',
    { ...nodeless, machine: dying(terminating(T1), { labels: {} }), nodesUnseen: 'stale' },
    ['writeStatus'],
  ],
  [
    'the same, and only its Node is known',
    see(going({ labels: { node: 'fakeNode-0' } }), { nodesUnseen: 'stale' }),
    ['writeStatus'],
  ],
  ['the same, and it has neither', { ...nodeless, machine: going(), nodesUnseen: 'stale' }, ['call status']],
  [
    'the same, and force-deletion continues',
    see(dying(terminating(T1), { labels: { node: 'fakeNode-0', ...FORCED } }), { nodesUnseen: 'stale' }),
    ['call delete'],
  ],
  [
    'the same, and the VM no longer exists',
    see(dying(terminating(T1)), { nodesUnseen: 'stale', calls: vmGone }),
    ['releaseNode'],
  ],
  [
    'the name comes from a Node whose label contains the machine',
    see(dying(terminating(T1), { labels: {} })),
    ['labelNode'],
  ],
  ['no lookup during a delete', { ...nodeless, calls: running('delete', 0) }, []],
  ['nor after it', { ...nodeless, calls: vmGone }, ['removeFinalizer']],
  ['the cloud returns the node name', { ...nodeless, calls: answered('fakeNode-0') }, ['labelNode']],
  [
    'the cloud reports nothing about the VM',
    {
      ...nodeless,
      calls: { last: { kind: 'status', at: NOON, outcome: { ok: true }, failures: 0, inputs: 'i' } },
    },
    ['call delete'],
  ],
  ['the cloud returns no node name', { ...nodeless, calls: answered('') }, ['call delete']],
  ['no delete during a lookup', see(dying(terminating(T1)), { calls: running('status', -4_000) }), []],
  [
    'without a target cluster nothing is drained',
    see(dying(terminating(T1)), { hasTarget: false, drain: withPod }),
    ['call delete'],
  ],
  [
    'without a Node nothing is drained',
    without(see(dying(terminating(T1)), { drain: withPod }), 'node'),
    ['call delete'],
  ],
  [
    'a cordon without a reason is incomplete',
    see(dying(terminating(T1)), { node: node({ spec: { unschedulable: true } }) }),
    ['cordon'],
  ],
  [
    'a reason without a cordon is incomplete',
    see(dying(terminating(T1)), { node: node({ conditions: [...hc('True'), condition('Terminating', 'True')] }) }),
    ['cordon'],
  ],
  [
    'a failed cordon is retried unless the drain is forced',
    see(dying(terminating(T2)), {
      node: node(),
      drain: { ...emptyDrain, memory: { ...NO_DRAIN_MEMORY, cordonFailed: true } },
    }),
    ['cordon'],
  ],
  [
    'a forced drain tries the cordon first',
    see(dying(terminating(T2)), { node: node(), drain: { ...emptyDrain, forced: true } }),
    ['cordon'],
  ],
  [
    'a volume that a stopped kubelet reported as in use does not keep the Node',
    see(dying(terminating(T5)), {
      drain: { ...emptyDrain, attachments: [{ volume: 'pv-1', deleting: false, inUse: true }] },
    }),
    ['releaseNode'],
  ],
  [
    'without a target cluster no volume is awaited',
    see(dying(terminating(T5)), { hasTarget: false, drain: attachedBy('live') }),
    ['releaseNode'],
  ],
  [
    'after a restart the time limit of volumes starts with the status',
    see(dying(terminating(T5)), { drain: attachedBy('live') }),
    ['markOutOfService'],
  ],
  [
    'on a Node that is being deleted, the finalizer of mcm is removed before that of the machine',
    see(dying(terminating(T5)), { node: cordoned({ deletionTimestamp: at(0) }) }),
    ['releaseNode'],
  ],
  [
    'a Node without finalizers is deleted',
    see(dying(terminating(T5)), { node: cordoned({ finalizers: [] }) }),
    ['releaseNode'],
  ],
])('%s', (_what, observation, actions) => {
  expect(verbs(planDeletion(observation, NOON).actions)).toEqual(actions);
});

test('a machine with almost no fields is still deleted', () => {
  const { status: _, ...bare } = machine({ metadata: { deletionTimestamp: at(0) } });
  expect(described(planDeletion({ ...nodeless, machine: bare }, NOON).actions)).toBe(T1);
  const { finalizers: ___, ...metadata } = bare.metadata;
  expect(planDeletion({ ...nodeless, machine: { ...bare, metadata } }, NOON).actions).toEqual([]);
  const noOperation = machine({ status: { currentStatus: { phase: 'Terminating' } } });
  expect(verbs(planDeletion({ ...nodeless, machine: noOperation }, NOON).actions)).toEqual(['call status']);
  const { status: __, ...unspoken } = node();
  expect(planDeletion(see(going({ labels: { node: 'fakeNode-0' } }), { node: unspoken }), NOON).actions).toEqual([
    { do: 'cordon', reason: 'Unhealthy', tolerant: false, release: true },
  ]);
});

test('a deletion without a node name reports that nothing was drained, and then only waits', () => {
  const plan = planDeletion({ ...nodeless, calls: running('delete', -3_000) }, NOON);
  expect(described(plan.actions)).toBe(
    'Skipping drain as nodeName is not a valid one for machine. Initiate VM deletion',
  );
  expect(plan.next).toEqual({ kind: 'wait' });
  const unlabelled = { ...nodeless, machine: going(), calls: running('delete', -3_000) };
  expect(described(planDeletion(unlabelled, NOON).actions)).toMatch(/^Skipping drain/);
});

test('a failed call keeps the last known state of the VM', () => {
  const m = machine({
    metadata: { deletionTimestamp: at(0) },
    status: { ...terminating(T1), lastKnownState: '{"request":"r-1"}' },
  });
  const [said] = planDeletion({ ...nodeless, machine: m, calls: unsent('status') }, NOON).actions;
  expect(said).toMatchObject({ do: 'writeStatus', status: { lastKnownState: '{"request":"r-1"}' } });
});

test('the wait for volumes has a time limit, also after a restart', () => {
  const o = see(dying(terminating(T5)), { drain: attachedBy('live') });
  expect(verbs(planDeletion(o, later(120_000)).actions)).toEqual(['releaseNode']);
});

test('the first status names what the drain must wait for', () => {
  const fresh = dying({ currentStatus: { phase: 'Running' } });
  expect(described(planDeletion(see(fresh, { drain: withPod }), NOON).actions)).toBe(`Evicting default/a. ${T2}`);
  expect(described(planDeletion(see(fresh), NOON).actions)).toBe(T1);
});

test.each(['create', 'status'] as const)('a %s in progress is reported after exactly 3 s', (kind) => {
  const o = { ...nodeless, calls: running(kind, -3_000) };
  expect(verbs(planDeletion(o, NOON).actions)).toEqual(['writeStatus']);
  expect(planDeletion(o, NOON).next).toEqual({ kind: 'wait' });
});

test.each([
  ['delete', 'Initiate VM deletion'],
  ['status', T1],
] as const)('a %s that does not end is reported once, and no second one is sent', (kind, step) => {
  const error = new MachineError('DeadlineExceeded', 'no answer');
  const overdue = { kind, at: NOON, outcome: { ok: false, error }, failures: 1, inputs: 'i' } as const;
  const calls: CallMemory = { running: { kind, since: later(-60_000), overdue } };
  const text = described(planDeletion(see(dying(terminating(T1)), { calls }), NOON).actions) ?? '';
  expect(text).toContain(
    `The deletion waits for the driver to end its ${kind} call - machine codes error: code = [Deadline`,
  );
  expect(text.endsWith(step)).toBe(true);
  const reported = dying({
    ...terminating(text),
    lastOperation: { description: text, state: 'Failed', type: 'Delete', lastUpdateTime: at(0) },
  });
  expect(planDeletion(see(reported, { calls }), NOON)).toMatchObject({ actions: [], next: { kind: 'wait' } });
});

/**
 * The class is invalid, so the cloud gets no request. The annotation shows that the machine has no VM. Without it, this is
 * unknown.
 */
const NEVER_MADE = { annotations: { [Annotations.NoCreateCall]: 'true' } };
test.each<[what: string, m: Machine, calls: CallMemory, actions: string[]]>([
  ['unknown: it is reported', going(), unsent('status'), ['writeStatus']],
  ['known to have none: delete is called', going(NEVER_MADE), unsent('status'), ['call delete']],
  ['known to have none: it is deleted', going(NEVER_MADE), unsent('delete'), ['removeFinalizer']],
  ['forced: delete is called', going({ labels: FORCED }), unsent('status'), ['call delete']],
  ['forced: it is deleted with an event', going({ labels: FORCED }), unsent('delete'), ['writeStatus']],
  [
    'forced, and a VM is recorded: it stays',
    machine({
      metadata: { deletionTimestamp: at(0), labels: FORCED },
      spec: { providerID: 'fakeID-0' },
      status: terminating(T1),
    }),
    unsent('status'),
    ['writeStatus'],
  ],
])('a class that is refused, and a VM: %s', (_what, m, calls, actions) => {
  expect(verbs(planDeletion({ ...nodeless, machine: m, calls }, NOON).actions)).toEqual(actions);
});

test('an unknown VM is reported with the two possible actions', () => {
  const reported = (m: Machine, calls: CallMemory) => planDeletion({ ...nodeless, machine: m, calls }, NOON).actions;
  expect(described(reported(going(), unsent('status')))).toMatch(
    /^It is unknown whether the machine has a VM\. Correct the class or Secret, or set the label force-deletion=true\. /,
  );
  expect(reported(going({ labels: FORCED }), unsent('delete'))).toMatchObject([
    { do: 'writeStatus', event: { type: 'Warning', reason: 'VMUnknown' } },
  ]);
  expect(described(reported(going(), unsent('delete')))).toMatch(/^VM deletion failed due to - /);
});

test.each<[what: string, attachments: typeof emptyDrain.attachments, actions: string[]]>([
  [
    'one with a VolumeAttachment',
    [{ name: 'va', uid: 'uid-va', volume: 'pv', deleting: false }],
    ['deleteAttachments'],
  ],
  ['one that only the node reports', [{ volume: 'pv', deleting: false }], ['writeStatus']],
  ['one without a UID', [{ name: 'va', volume: 'pv', deleting: false }], ['writeStatus']],
])('an attachment to a VM that is gone: %s', (_what, attachments, actions) => {
  const o = see(dying(terminating(T5)), {
    drain: { ...emptyDrain, attachments },
    node: cordoned({}, OUT_OF_SERVICE),
    calls: vmGone,
  });
  const plan = planDeletion(o, NOON);
  expect(verbs(plan.actions)).toEqual(actions);
  if (actions.includes('deleteAttachments'))
    expect(plan.actions).toEqual([{ do: 'deleteAttachments', attachments: [{ name: 'va', uid: 'uid-va' }] }]);
});

test('each volume that is still attached is reported once, in order', () => {
  const attachments = ['pv-2', 'pv-1', 'pv-2'].map((volume) => ({ volume, deleting: true }));
  const o = see(dying(terminating(T5)), {
    drain: { ...emptyDrain, attachments },
    node: cordoned({}, OUT_OF_SERVICE),
    calls: vmGone,
  });
  expect(described(planDeletion(o, NOON).actions)).toContain('volumes are still attached: pv-1, pv-2.');
});

test('the Node of a kept VM stays', () => {
  const kept =
    'VM fakeID-0 is kept for an investigation until 2026-01-02T00:00:00Z (ConfigMap c). Initiate node object deletion';
  expect(verbs(planDeletion(see(dying(terminating(kept))), NOON).actions)).toEqual(['removeFinalizer']);
});

test('a forced drain deletes pods that cannot be evicted', () => {
  const o = see(dying(terminating(T2)), { drain: { ...withPod, forced: true } });
  expect(planDeletion(o, NOON).actions).toMatchObject([{ do: 'deletePods', pods: [{ name: 'a' }] }]);
});

test('a policy that keeps the VM is noted once at the end of the drain timeout', () => {
  const drain = { ...withPod, policy: 'Hold', forceAt: NOON } as const;
  const look = (annotations: Record<string, string>) =>
    planDeletion(see(dying(terminating(T2), { annotations, labels: { node: 'fakeNode-0' } }), { drain }), NOON).actions;
  expect(look({})).toEqual([{ do: 'annotate', annotations: { [Annotations.Undrained]: 'Hold' } }]);
  expect(verbs(look({ [Annotations.Undrained]: 'Hold' }))).not.toContain('annotate');
  expect(verbs(look({ [Annotations.Undrained]: 'Quarantine' }))).toEqual(['annotate']);
  const bare = see(going({ labels: { node: 'fakeNode-0' } }), { drain });
  expect(verbs(planDeletion(bare, NOON).actions)).toEqual(['annotate']);
});

test('a drain that waits for a budget names it, so that a change of the budget wakes the machine', () => {
  const drain = { ...emptyDrain, pods: [pod({ budgets: [budget({ misconfigured: true })] })] };
  const plan = planDeletion(see(dying(terminating(T2)), { drain }), NOON);
  expect(plan.budgets).toEqual(['default/web']);
  expect(plan.because).toContain('default/web');
});
