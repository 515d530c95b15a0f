import { Annotations, type Machine } from '@mcm/api';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { type DrainObservation, NO_DRAIN_MEMORY } from '../drain/model/observation.ts';
import { budget, look } from '../drain/testing.ts';
import { MachineError } from '../driver/contract/errors.ts';
import { planDeletion } from './deletion/deletion.ts';
import type { CallKind, CallMemory, MachineObservation } from './model/observation.ts';
import {
  attachedBy,
  cordoned,
  described,
  dying,
  emptyDrain,
  failedCall,
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

/** For each row of the tables, a test fails if the code ignores the condition. */

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
const without = (
  observation: MachineObservation,
  ...fields: readonly (keyof MachineObservation)[]
): MachineObservation => {
  const rest: { -readonly [K in keyof MachineObservation]?: MachineObservation[K] } = { ...observation };
  for (const field of fields) delete rest[field];
  return partial<MachineObservation>(rest);
};

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
  ['the same, and its VM is already deleted', see(dying(terminating(T5), { labels: {} })), ['releaseNode']],
  [
    'a drain that began without the name of a Node does not look it up again',
    { ...nodeless, machine: dying(terminating(T2), { labels: {} }) },
    ['call delete'],
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
    'without a Node no volume is awaited',
    without(see(dying(terminating(T5)), { drain: attachedBy('live') }), 'node'),
    ['removeFinalizer'],
  ],
  ['without a view of the drain no volume is awaited', without(see(dying(terminating(T5))), 'drain'), ['releaseNode']],
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

test.each([
  ['the Node refers to the machine', see(dying(terminating(T1), { labels: {} }))],
  ['the cloud returns it', { ...nodeless, calls: answered('fakeNode-0') }],
])('the label gets the name of the Node: %s', (_what, observation) => {
  expect(planDeletion(observation, NOON).actions).toEqual([{ do: 'labelNode', nodeName: 'fakeNode-0' }]);
});

test.each([T1, T2])('a wait for permissions keeps the step in the status, so that no step is repeated: %s', (step) => {
  const o = see(dying(terminating(step)), { nodesUnseen: 'stale' });
  expect(described(planDeletion(o, NOON).actions)).toBe(
    `Drain failed due to - the pods of the node cannot be read: stale. Will retry in next sync. ${step}`,
  );
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
  expect(plan).toMatchObject({ next: { kind: 'wait' }, because: 'the VM is being deleted' });
  const unlabelled = { ...nodeless, machine: going(), calls: running('delete', -3_000) };
  expect(described(planDeletion(unlabelled, NOON).actions)).toMatch(/^Skipping drain/);
  expect(described(planDeletion({ ...unlabelled, hasTarget: false }, NOON).actions)).toMatch(
    /^Running without target cluster/,
  );
});

test('a retry in progress does not overwrite the error of the last deletion in the status', () => {
  const error = 'VM deletion failed due to - quota. However, will re-try in the next resync. Initiate VM deletion';
  const o = see(dying(terminating(error)), { calls: running('delete', -4_000) });
  expect(planDeletion(o, NOON)).toMatchObject({
    actions: [],
    next: { kind: 'wait' },
    because: 'the VM is being deleted',
  });
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

test.each<[what: string, drain: DrainObservation, description: string]>([
  ['a pod to evict', withPod, `Evicting default/a. ${T2}`],
  ['a pod to delete', { ...withPod, forced: true }, `Evicting default/a. ${T2}`],
  ['a terminating pod', { ...emptyDrain, pods: [pod({ dueAt: later(30_000) })] }, `Evicting default/a. ${T2}`],
  ['nothing', emptyDrain, T1],
])('the first status names what the drain must wait for: %s', (_what, drain, description) => {
  const fresh = dying({ currentStatus: { phase: 'Running' } });
  expect(described(planDeletion(see(fresh, { drain }), NOON).actions)).toBe(description);
});

test.each(['create', 'status'] as const)('a %s in progress is reported after exactly 3 s', (kind) => {
  const plan = planDeletion({ ...nodeless, calls: running(kind, -3_000) }, NOON);
  expect(verbs(plan.actions)).toEqual(['writeStatus']);
  expect(plan.next).toEqual({ kind: 'wait' });
  expect(plan.because).toMatch(new RegExp(`the driver's ${kind} call`));
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

/** An invalid class causes no request to the cloud, so only the annotation proves that the machine has no VM. */
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

test.each<[what: string, m: Machine, kind: 'status' | 'delete', actions: string[], hint: boolean]>([
  ['unknown: it is reported', going(), 'status', ['writeStatus'], true],
  ['recorded: it is retried', { ...going(), spec: dying({}).spec }, 'status', ['writeStatus'], false],
  ['known to have none: delete is called', going(NEVER_MADE), 'status', ['call delete'], false],
  ['known to have none: it is deleted', going(NEVER_MADE), 'delete', ['removeFinalizer'], false],
  ['forced: delete is called', going({ labels: FORCED }), 'status', ['call delete'], false],
  ['forced: it is deleted with an event', going({ labels: FORCED }), 'delete', ['writeStatus'], false],
])('credentials that are refused, and a VM: %s', (_what, m, kind, actions, hint) => {
  const plan = planDeletion({ ...nodeless, machine: m, calls: failedCall(kind, 'PermissionDenied') }, NOON);
  expect(verbs(plan.actions)).toEqual(actions);
  expect(described(plan.actions)?.startsWith('mcm cannot determine whether the machine has a VM.') ?? false).toBe(hint);
});

test('an unknown VM is reported with the two possible actions', () => {
  const reported = (m: Machine, calls: CallMemory) => planDeletion({ ...nodeless, machine: m, calls }, NOON).actions;
  expect(described(reported(going(), unsent('status')))).toMatch(
    /^mcm cannot determine whether the machine has a VM\. Correct the class or Secret, or set the label force-deletion=true\. /,
  );
  const left =
    'mcm deletes machine machine-0 because of force-deletion, but its VM may remain. The class is unusable: spec.region is missing';
  expect(reported(going({ labels: FORCED }), unsent('delete'))).toMatchObject([
    {
      do: 'writeStatus',
      status: { lastOperation: { description: `${left} Initiate node object deletion` } },
      event: { type: 'Warning', reason: 'VMUnknown', message: left },
    },
  ]);
  expect(described(reported(going(), unsent('delete')))).toMatch(/^VM deletion failed due to - /);
});

test.each(['status', 'delete'] as const)('force-deletion does not skip a %s that the cloud refused', (kind) => {
  const refused = { ...nodeless, machine: going({ labels: FORCED }), calls: failedCall(kind, 'Internal') };
  const text = described(planDeletion(refused, NOON).actions) ?? '';
  expect(text).toContain('[boom]');
  expect(text).not.toContain('cannot determine');
  const lastOperation = { description: text, state: 'Failed', type: 'Delete', lastUpdateTime: at(0) } as const;
  const said = going({ labels: FORCED });
  const plan = planDeletion({ ...refused, machine: { ...said, status: { ...said.status, lastOperation } } }, NOON);
  expect(plan).toMatchObject({ actions: [], next: { kind: 'waitUntil' } });
});

test.each<[what: string, attachments: typeof emptyDrain.attachments, actions: string[]]>([
  [
    'one with a VolumeAttachment',
    [{ name: 'va', uid: 'uid-va', volume: 'pv', deleting: false }],
    ['deleteAttachments'],
  ],
  ['one that only the node reports', [{ volume: 'pv', deleting: false }], ['writeStatus']],
  ['one without a UID', [{ name: 'va', volume: 'pv', deleting: false }], ['writeStatus']],
  ['one without a name', [{ uid: 'uid-va', volume: 'pv', deleting: false }], ['writeStatus']],
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

test('an attachment that Kubernetes creates again is deleted after 30 s', () => {
  const memory = { ...NO_DRAIN_MEMORY, detachRequested: new Map([['va', { uid: 'uid-first', at: NOON }]]) };
  const o = see(dying(terminating(T5)), {
    drain: { ...attachedBy('live'), memory },
    node: cordoned({}, OUT_OF_SERVICE),
    calls: vmGone,
  });
  const early = planDeletion(o, later(29_999));
  expect([verbs(early.actions), early.next]).toEqual([['writeStatus'], { kind: 'waitUntil', instant: later(30_000) }]);
  expect(verbs(planDeletion(o, later(30_000)).actions)).toEqual(['deleteAttachments']);
});

test('the deletion of an attachment is requested once', () => {
  const memory = { ...NO_DRAIN_MEMORY, detachRequested: new Map([['va', { uid: 'uid-va', at: NOON }]]) };
  const o = see(dying(terminating(T5)), {
    drain: { ...attachedBy('live'), memory },
    node: cordoned({}, OUT_OF_SERVICE),
    calls: vmGone,
  });
  const plan = planDeletion(o, NOON);
  expect(verbs(plan.actions)).toEqual(['writeStatus']);
  expect(plan.because).toBe('VM deletion was successful. Waiting: volumes are still attached: pv.');
  expect(plan.next).toEqual({ kind: 'waitUntil', instant: later(60_000) });
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
  expect(planDeletion(o, NOON).actions).toMatchObject([
    { do: 'deletePods', pods: [{ name: 'a' }], because: 'because of label force-deletion=true' },
  ]);
});

test('a policy that keeps the VM is noted once at the end of the drain timeout', () => {
  const drain = { ...withPod, policy: 'Hold', forceAt: NOON } as const;
  const look = (annotations: Record<string, string>) =>
    planDeletion(see(dying(terminating(T2), { annotations, labels: { node: 'fakeNode-0' } }), { drain }), NOON).actions;
  expect(look({})).toEqual([{ do: 'annotate', annotations: { [Annotations.Undrained]: 'Hold' } }]);
  expect(verbs(look({ [Annotations.Undrained]: 'Hold' }))).not.toContain('annotate');
  expect(verbs(look({ [Annotations.Undrained]: 'Quarantine' }))).toEqual(['annotate']);
  const longer = { ...withPod, policy: 'Hold', forceAt: later(1) } as const;
  const noted = dying(terminating(T2), {
    annotations: { [Annotations.Undrained]: 'Hold' },
    labels: { node: 'fakeNode-0' },
  });
  expect(planDeletion(see(noted, { drain: longer }), NOON).actions).toEqual([{ do: 'evict', pods: longer.pods }]);
  const bare = see(going({ labels: { node: 'fakeNode-0' } }), { drain });
  expect(verbs(planDeletion(bare, NOON).actions)).toEqual(['annotate']);
});

test.each<[what: string, drain: DrainObservation, because: string]>([
  ['its pods', { ...emptyDrain, pods: [pod({ dueAt: later(30_000) })] }, '1 pod is terminating'],
  [
    'an interrupted watch',
    { ...emptyDrain, podsUnproven: true },
    'the pod cache is empty, but the watch of pods is interrupted',
  ],
])('a drain that waits says for what: %s', (_what, drain, because) => {
  expect(planDeletion(see(dying(terminating(T2)), { drain }), NOON).because).toBe(because);
});

test('a drain that ended with attached volumes reports them once', () => {
  const attachments = [{ name: 'va', uid: 'uid-va', volume: 'pv', deleting: false }];
  const drain = look([], { attachments, memory: { ...NO_DRAIN_MEMORY, emptySince: NOON } });
  const plan = planDeletion(see(dying(terminating(T2)), { drain }), later(120_000));
  expect(plan.actions).toMatchObject([{ do: 'reportDrain', event: { reason: 'VolumeStaysAttached' } }]);
  const causes = plan.actions.flatMap((action) => (action.do === 'reportDrain' ? action.causes : []));
  const reported = { ...drain, memory: { ...drain.memory, reported: new Set(causes) } };
  expect(verbs(planDeletion(see(dying(terminating(T2)), { drain: reported }), later(120_000)).actions)).toEqual([
    'call delete',
  ]);
});

test('a drain that waits for a budget names it, so that a change of the budget wakes the machine', () => {
  const drain = { ...emptyDrain, pods: [pod({ budgets: [budget({ misconfigured: true })] })] };
  const plan = planDeletion(see(dying(terminating(T2)), { drain }), NOON);
  expect(plan.budgets).toEqual(['default/web']);
  expect(plan.because).toContain('default/web');
});
