import type { Machine, MachineStatus } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { type DrainObservation, NO_DRAIN_MEMORY } from '../../drain/model/observation.ts';
import { budget } from '../../drain/testing.ts';
import type { MachineCode } from '../../driver/contract/errors.ts';
import { MachineError } from '../../driver/contract/errors.ts';
import { mirrored } from '../../settings/conditions.ts';
import type { CallMemory, MachineObservation } from '../model/observation.ts';
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
  T3,
  T4,
  T5,
  T6,
  terminating,
  verbs,
  vmGone,
  vmGoneAt,
} from '../test-dying.ts';
import { at, hc, NOON, node } from '../testing.ts';
import { planDeletion } from './deletion.ts';

test('without the finalizer of mcm nothing is done [S-D1]', () => {
  expect(planDeletion(see(dying({}, { finalizers: [] })), NOON).actions).toEqual([]);
});

test('the phase is written first, and ends a preservation [S-D2]', () => {
  const m = dying({ currentStatus: { phase: 'Running', preserveExpiryTime: at(60) } });
  const [action] = planDeletion(see(m), NOON).actions;
  expect(action).toMatchObject({ do: 'writeStatus', status: terminating(T1) });
  expect(action?.do === 'writeStatus' && action.status.currentStatus).not.toHaveProperty('preserveExpiryTime');
});

test('the node is cordoned with a reason before any pod is evicted [S-D4]', () => {
  expect(planDeletion(see(dying(terminating(T1)), { node: node() }), NOON).actions).toEqual([
    { do: 'cordon', reason: 'Unhealthy', tolerant: false, release: true },
  ]);
  const healthy = dying({ ...terminating(T1), conditions: mirrored(hc('True')) });
  expect(planDeletion(see(healthy, { node: node() }), NOON).actions).toMatchObject([{ reason: 'ScaleDown' }]);
});

test.each<[what: string, observation: Partial<MachineObservation>, reason: string]>([
  ['a Failed machine whose Node is Ready again', { deletedForHealth: true }, 'Unhealthy'],
  ['a machine that a user deletes', { deletedForHealth: false }, 'ScaleDown'],
  ['a machine that a scale-down deletes', {}, 'ScaleDown'],
])('the Node of a deleted machine gets the reason of the deletion: %s', (_what, observation, reason) => {
  const ready = dying({ ...terminating(T1), conditions: mirrored(hc('True')) });
  const { actions } = planDeletion(see(ready, { node: node(), ...observation }), NOON);
  expect(actions).toMatchObject([{ do: 'cordon', reason }]);
});

test.each<[what: string, observation: Partial<MachineObservation>, release: boolean]>([
  ['an empty node', {}, true],
  ['a DaemonSet pod, which stays anyway', { drain: { ...emptyDrain, pods: [pod({ ownerKind: 'DaemonSet' })] } }, true],
  ['a pod to evict', { drain: { ...emptyDrain, pods: [pod({})] } }, false],
  ['a terminating pod', { drain: { ...emptyDrain, pods: [pod({ dueAt: new Date(at(1)) })] } }, false],
  ['an attached volume', { drain: { ...emptyDrain, attachments: [{ volume: 'pv-1', deleting: false }] } }, false],
  [
    'a volume that only the node reports',
    { node: node({ status: { volumesAttached: [{ name: 'csi^1', devicePath: '' }] } }) },
    false,
  ],
  ['a Node that is being deleted', { node: node({ metadata: { deletionTimestamp: at(0) } }) }, false],
])('the finalizer goes with the cordon or stays: %s', (_what, change, release) => {
  const o = see(dying(terminating(T1)), { node: node(), ...change });
  expect(planDeletion(o, NOON).actions).toMatchObject([{ do: 'cordon', release }]);
});

test('a pod that was bound before the cordon is drained, with or without the finalizer', () => {
  const late = see(dying(terminating(T1)), {
    node: cordoned({ finalizers: [] }),
    drain: { ...emptyDrain, pods: [pod({})] },
  });
  expect(verbs(planDeletion(late, NOON).actions)).toEqual(['evict']);
});

test.each<[row: string, observation: MachineObservation, actions: string[]]>([
  ['S-D3 an empty node: its VM is deleted', see(dying(terminating(T1))), ['call delete']],
  [
    'S-D15 the VM no longer exists: its Node is deleted',
    see(dying(terminating(T4)), {
      calls: { last: { kind: 'delete', at: NOON, outcome: { ok: true }, failures: 0, inputs: 'i' } },
    }),
    ['releaseNode'],
  ],
  [
    'S-D16 NotFound: the VM no longer exists either',
    see(dying(terminating(T4)), { calls: failedCall('delete', 'NotFound') }),
    ['releaseNode'],
  ],
  ['take-over at T4: nothing is drained again', see(dying(terminating(T4)), { node: node() }), ['call delete']],
  ['take-over at T5: the VM is not looked up again', see(dying(terminating(T5))), ['releaseNode']],
  [
    'take-over at T5, Node being deleted with a finalizer of another client',
    see(dying(terminating(T5)), { node: cordoned({ finalizers: ['other'], deletionTimestamp: at(0) }) }),
    ['removeFinalizer'],
  ],
  ['S-D20 T5 without a node', { ...nodeless, machine: dying(terminating(T5), { labels: {} }) }, ['removeFinalizer']],
  ['T6', { ...nodeless, machine: dying(terminating(T6)) }, ['removeFinalizer']],
  ['S-D19 without a target cluster, the VM is deleted at once', { ...nodeless, hasTarget: false }, ['call delete']],
  [
    'S-D5 no node name, and a driver without a lookup: the VM is deleted',
    { ...nodeless, driver: { initialize: false, status: false } },
    ['call delete'],
  ],
  ['no node name: the VM is looked up', nodeless, ['call status']],
  [
    'S-D23 the lookup finds no VM: delete is called anyway',
    { ...nodeless, calls: failedCall('status', 'NotFound') },
    ['call delete'],
  ],
  ['S-D28 T3, nothing attached', see(dying(terminating(T3))), ['call delete']],
  [
    'S-D29 T3, an attached volume: the VM is deleted first (incident 20)',
    see(dying(terminating(T3)), { drain: attachedBy('live') }),
    ['call delete'],
  ],
  [
    'incident 20: the VM no longer exists, a volume is attached: the Node is out of service',
    see(dying(terminating(T3)), { drain: attachedBy('live'), calls: vmGone }),
    ['markOutOfService'],
  ],
  [
    'incident 20: then its attachment is deleted',
    see(dying(terminating(T3)), { drain: attachedBy('live'), calls: vmGone, node: cordoned({}, OUT_OF_SERVICE) }),
    ['deleteAttachments'],
  ],
  [
    'incident 20: a terminating attachment is awaited by name',
    see(dying(terminating(T3)), { drain: attachedBy('going'), calls: vmGone, node: cordoned({}, OUT_OF_SERVICE) }),
    ['writeStatus'],
  ],
  [
    'incident 20: the wait for it has a limit',
    see(dying(terminating(T3)), { drain: attachedBy('live'), calls: vmGoneAt(-2), node: cordoned() }),
    ['releaseNode'],
  ],
  [
    'a creation in progress is awaited',
    see(dying(terminating(T1)), { calls: { running: { kind: 'create', since: NOON } } }),
    [],
  ],
  [
    'a creation in progress is reported if it takes long',
    see(dying(terminating(T1)), { calls: { running: { kind: 'create', since: new Date(NOON.getTime() - 4_000) } } }),
    ['writeStatus'],
  ],
])('%s', (_row, observation, actions) => {
  expect(verbs(planDeletion(observation, NOON).actions)).toEqual(actions);
});

test('the reason for which a drain waits is written at once, and again after some seconds if another process changed it', () => {
  const blocked = (reportedAt?: Date): DrainObservation => ({
    ...emptyDrain,
    pods: [pod({ budgets: [budget({ misconfigured: true })] })],
    memory: { ...NO_DRAIN_MEMORY, ...(reportedAt ? { reportedAt, reported: new Set(['budget default/web']) } : {}) },
  });
  const overwritten = terminating(`Waiting: something else. ${T2}`);
  const reported = planDeletion(see(dying(overwritten), { drain: blocked(), node: cordoned() }), NOON);
  expect(reported.actions).toMatchObject([
    { do: 'writeStatus', reportsDrain: true },
    { do: 'reportDrain', causes: ['budget default/web'] },
  ]);
  const soon = planDeletion(
    see(dying(overwritten), { drain: blocked(NOON), node: cordoned() }),
    new Date(NOON.getTime() + 1_000),
  );
  expect(soon).toMatchObject({ actions: [], next: { kind: 'waitUntil', instant: new Date(NOON.getTime() + 5_000) } });
  const due = planDeletion(
    see(dying(overwritten), { drain: blocked(NOON), node: cordoned() }),
    new Date(NOON.getTime() + 5_000),
  );
  expect(verbs(due.actions)).toEqual(['writeStatus']);
  const setBack = planDeletion(
    see(dying(overwritten), { drain: blocked(NOON), node: cordoned() }),
    new Date(NOON.getTime() + -1_000),
  );
  expect(verbs(setBack.actions)).toEqual(['writeStatus']);
});

test('a former blocker is removed from the status only if the remaining pods take long', () => {
  const waited = terminating(`Waiting: pod default/a waits for pod disruption budget default/web. ${T2}`);
  const asked = { at: NOON, result: 'asked', message: '', count: 1, budgets: '' } as const;
  const memory = { ...NO_DRAIN_MEMORY, attempts: new Map([['uid-a', asked]]) };
  const drain = { ...emptyDrain, memory, pods: [pod({ dueAt: new Date(NOON.getTime() + 30_000) })] };
  const o = see(dying(waited), { drain, node: cordoned() });
  const due = new Date(NOON.getTime() + 10_000);
  expect(planDeletion(o, NOON)).toMatchObject({ actions: [], next: { kind: 'waitUntil', instant: due } });
  expect(described(planDeletion(o, due).actions)).toBe(`Evicting default/a. ${T2}`);
  const said = see(dying(terminating(`Evicting default/a. ${T2}`)), { drain, node: cordoned() });
  expect(planDeletion(said, due).actions).toEqual([]);
});

describe('a cloud that fails', () => {
  test('a Node that joins after a failed deletion of its VM is drained before the next call', () => {
    const calls = failedCall('delete', 'ResourceExhausted');
    const alone = { ...nodeless, machine: dying(terminating(T1)), calls };
    const text = described(planDeletion(alone, NOON).actions) ?? '';
    expect(text).toMatch(/^VM deletion failed due to - .* Now, getting VM Status$/);
    const failed = dying({
      ...terminating(text),
      lastOperation: { description: text, state: 'Failed', type: 'Delete', lastUpdateTime: at(0) },
    });
    expect(planDeletion({ ...alone, machine: failed }, NOON).actions).toEqual([]);
    const later = new Date(NOON.getTime() + 600_000);
    expect(verbs(planDeletion({ ...alone, machine: failed }, later).actions)).toEqual(['call delete']);
    const running = { ...calls, running: { kind: 'delete' as const, since: NOON } };
    expect(planDeletion({ ...alone, machine: failed, calls: running }, later).actions).toEqual([]);
    expect(verbs(planDeletion(see(failed, { node: node(), calls }), later).actions)).toEqual(['cordon']);
  });

  test.each<[row: string, code: MachineCode, retryMs: number, text: string]>([
    [
      'S-D27',
      'Unavailable',
      5_000,
      'VM deletion failed due to - machine codes error: code = [Unavailable] message = [boom]. However, will re-try in the next resync. Initiate VM deletion',
    ],
    [
      'S-D27',
      'PermissionDenied',
      600_000,
      'VM deletion failed due to - machine codes error: code = [PermissionDenied] message = [boom]. Aborting operation. Initiate VM deletion',
    ],
  ])('%s delete answers %s: tried again after %d ms', (_row, code, retryMs, text) => {
    const o = see(dying(terminating(T4)), { calls: failedCall('delete', code) });
    expect(described(planDeletion(o, NOON).actions)).toBe(text);
    const said = see(
      dying({
        ...terminating(text),
        lastOperation: { description: text, state: 'Failed', type: 'Delete', lastUpdateTime: at(0) },
      }),
      { calls: failedCall('delete', code) },
    );
    expect(planDeletion(said, NOON)).toMatchObject({
      actions: [],
      next: { kind: 'waitUntil', instant: new Date(NOON.getTime() + retryMs) },
    });
    expect(verbs(planDeletion(said, new Date(NOON.getTime() + retryMs)).actions)).toEqual(['call delete']);
    expect(verbs(planDeletion({ ...said, inputs: 'mended' }, NOON).actions)).toEqual(['call delete']);
  });

  test.each<[row: string, code: MachineCode, retryMs: number]>([
    ['S-D25', 'Unavailable', 5_000],
    ['S-D25', 'Internal', 180_000],
  ])('%s the lookup answers %s: still at the lookup', (_row, code, retryMs) => {
    const o = { ...nodeless, calls: failedCall('status', code) };
    const text = described(planDeletion(o, NOON).actions) ?? '';
    const reason =
      code === 'Unavailable'
        ? 'with retry.'
        : 'without retry. machine code: machine codes error: code = [Internal] message = [boom]';
    expect(text).toBe(
      `Error occurred with decoding machine error status while getting VM status, aborting ${reason} ${T1}`,
    );
    const status: MachineStatus = {
      ...terminating(text),
      lastOperation: { description: text, state: 'Failed', type: 'Delete', lastUpdateTime: at(0) },
    };
    const said = { ...o, machine: dying(status, { labels: {} }) };
    expect(planDeletion(said, NOON).next).toEqual({ kind: 'waitUntil', instant: new Date(NOON.getTime() + retryMs) });
  });
});

test('an unknown error of the lookup counts as Unknown and is retried soon [S-D24, O-2 corrected]', () => {
  const error = MachineError.from(new Error('boom'));
  const calls: CallMemory = {
    last: { kind: 'status', at: NOON, outcome: { ok: false, error }, failures: 1, inputs: 'i' },
  };
  const [said] = planDeletion({ ...nodeless, calls }, NOON).actions;
  const text = `Error occurred with decoding machine error status while getting VM status, aborting with retry. ${T1}`;
  expect(said).toMatchObject({
    do: 'writeStatus',
    status: { lastOperation: { description: text, state: 'Failed', type: 'Delete' } },
  });
  const reported = dying(
    {
      ...terminating(text),
      lastOperation: { description: text, state: 'Failed', type: 'Delete', lastUpdateTime: at(0) },
    },
    { labels: {} },
  );
  const waiting = { ...nodeless, machine: reported, calls };
  expect(planDeletion(waiting, NOON).next).toEqual({ kind: 'waitUntil', instant: new Date(NOON.getTime() + 5_000) });
  expect(verbs(planDeletion(waiting, new Date(NOON.getTime() + 5_000)).actions)).toEqual(['call status']);
});

test('a deletion that takes long in the cloud is reported once, after 3 s', () => {
  const o = see(dying(terminating(T1)), { calls: { running: { kind: 'delete', since: NOON } } });
  expect(planDeletion(o, NOON)).toMatchObject({ actions: [], next: { instant: new Date(NOON.getTime() + 3_000) } });
  const later = new Date(NOON.getTime() + 3_000);
  expect(described(planDeletion(o, later).actions)).toBe(T4);
  expect(planDeletion(see(dying(terminating(T4)), { calls: o.calls }), later)).toMatchObject({
    actions: [],
    next: { kind: 'wait' },
  });
});

test('a forced drain continues after a failed cordon [S-D6]', () => {
  const drain = { ...emptyDrain, forced: true, memory: { ...NO_DRAIN_MEMORY, cordonFailed: true } };
  expect(verbs(planDeletion(see(dying(terminating(T2)), { node: node(), drain }), NOON).actions)).toEqual([
    'call delete',
  ]);
});

test.each([
  ['create', T1, "Waiting: the driver's create call is in progress and may still create a VM."],
  ['status', T1, "Waiting: the driver's status call, which returns the name of the Node, is in progress."],
] as const)('a %s that takes long is reported once, with its name', (kind, said, reported) => {
  const since = new Date(NOON.getTime() - 4_000);
  const { node: _none, ...rest } = see(dying(terminating(said)), { calls: { running: { kind, since } } });
  const machineOf = (text: string): Machine => {
    const machine = dying(terminating(text));
    return { ...machine, metadata: { ...machine.metadata, labels: {} } };
  };
  const look = (text: string, at = NOON) => planDeletion({ ...rest, machine: machineOf(text) }, at);
  const [write] = look(said).actions;
  const description = write?.do === 'writeStatus' ? write.status.lastOperation?.description : undefined;
  expect(description).toBe(`${reported} ${T1}`);
  expect(look(description ?? '').actions).toEqual([]);
  const soon = look(said, new Date(NOON.getTime() - 2_000));
  expect(soon.actions).toEqual([]);
  expect(soon.next).toEqual({ kind: 'waitUntil', instant: new Date(NOON.getTime() - 1_000) });
});
