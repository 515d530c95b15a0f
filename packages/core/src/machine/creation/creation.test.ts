import type { Machine, MachineStatus } from '@mcm/api';
import { expect, test } from 'vitest';
import type { MachineCode } from '../../driver/contract/errors.ts';
import { MachineError } from '../../driver/contract/errors.ts';
import { MACHINE_DEFAULTS, type MachineDefaults, settingsOf } from '../../settings/settings.ts';
import type { CallKind, CallMemory, MachineObservation } from '../model/observation.ts';
import type { Action } from '../model/plan.ts';
import { nextStep } from '../next-step.ts';
import { at, hc, machine, NOON, node } from '../testing.ts';
import { mergeAddresses, planCreation, planLateInitialization } from './creation.ts';

const created = { providerId: 'fakeID-0', nodeName: 'fakeNode-0' };
const priority = { 'machinepriority.machine.sapcloud.io': '3' };

const see = (
  m: Machine,
  change: Partial<MachineObservation> = {},
  defaults: MachineDefaults = MACHINE_DEFAULTS,
): MachineObservation => ({
  machine: m,
  settings: settingsOf(m, defaults),
  inputs: 'i',
  asksForToken: false,
  hasTarget: true,
  frozen: false,
  calls: {},
  driver: { initialize: true, status: true },
  replacementsInProgress: 0,
  ...change,
});

const ok = (kind: CallKind): CallMemory => ({
  last: { kind, at: NOON, outcome: { ok: true, instance: created }, failures: 0, inputs: 'i' },
  created,
});
const failed = (kind: CallKind, code: MachineCode, failures = 1, retryAfterMs?: number): CallMemory => {
  const error = new MachineError(code, 'boom', retryAfterMs === undefined ? {} : { retryAfterMs });
  return { last: { kind, at: NOON, outcome: { ok: false, error }, failures, inputs: 'i' } };
};

const recorded = (status?: MachineStatus): Machine =>
  machine({
    metadata: { labels: { node: 'fakeNode-0' }, annotations: priority },
    spec: { providerID: 'fakeID-0' },
    ...(status ? { status } : {}),
  });
const gaveUp: MachineStatus = { currentStatus: { phase: 'Failed', lastUpdateTime: at(0) } };
const set = { apiVersion: 'machine.sapcloud.io/v1alpha1', kind: 'MachineSet', name: 'set', uid: 'set-uid' };
const owned = { ownerReferences: [{ ...set, controller: true }] };
const looping: MachineStatus = { currentStatus: { phase: 'CrashLoopBackOff', lastUpdateTime: at(0) } };

const verb = (actions: readonly Action[]): string => {
  const [first] = actions;
  if (first?.do === 'call') return `call ${first.call}`;
  if (first?.do === 'writeStatus')
    return `${first.status.currentStatus?.phase} ${first.status.lastOperation?.errorCode ?? ''}`.trim();
  return first?.do ?? 'wait';
};

test.each<[row: string, observation: MachineObservation, does: string]>([
  ['a new machine: a VM of its name is looked up', see(machine()), 'call status'],
  ['it has none', see(machine(), { calls: failed('status', 'NotFound') }), 'call create'],
  ['a VM exists: it is recorded', see(machine(), { calls: ok('status') }), 'record'],
  [
    'a driver whose error Uninitialized contains no VM finds it with create',
    see(machine(), { calls: failed('status', 'Uninitialized') }),
    'call create',
  ],
  ['a driver without a lookup', see(machine(), { driver: { initialize: true, status: false } }), 'call create'],
  [
    'the lookup fails: nothing is created',
    see(machine(), { calls: failed('status', 'Internal') }),
    'CrashLoopBackOff Internal',
  ],
  ['S-C14 the VM exists: it is recorded in one write', see(machine(), { calls: ok('create') }), 'record'],
  ['S-C1 the recorded VM is initialized', see(recorded(), { calls: ok('create') }), 'call initialize'],
  ['the initialized machine is Pending', see(recorded(), { calls: ok('initialize') }), 'Pending'],
  [
    'S-C21 a driver that initializes nothing: Pending',
    see(recorded(), { calls: failed('initialize', 'Unimplemented') }),
    'Pending',
  ],
  [
    'a driver without initialize: Pending',
    see(recorded(), { calls: ok('create'), driver: { initialize: false, status: true } }),
    'Pending',
  ],
  [
    'S-C9 CrashLoopBackOff with a recorded VM, in a new process: the VM is looked up',
    see(recorded(looping)),
    'call status',
  ],
  ['S-C9 the lookup finds the VM: Pending', see(recorded(looping), { calls: ok('status') }), 'Pending'],
  [
    'S-C17 the lookup finds no VM: Pending anyway, and no second VM',
    see(recorded(looping), { calls: failed('status', 'NotFound') }),
    'Pending',
  ],
  [
    'the lookup reports that the VM is not initialized',
    see(recorded(looping), { calls: failed('status', 'Uninitialized') }),
    'call initialize',
  ],
  ['S-C4 Internal', see(machine(), { calls: failed('create', 'Internal') }), 'CrashLoopBackOff Internal'],
  [
    'S-C5 ResourceExhausted',
    see(machine(), { calls: failed('create', 'ResourceExhausted') }),
    'CrashLoopBackOff ResourceExhausted',
  ],
  [
    'S-C16 the lookup fails',
    see(recorded(looping), { calls: failed('status', 'Unknown') }),
    'CrashLoopBackOff Unknown',
  ],
  ['S-C12 no target: Available', see(recorded(), { calls: ok('initialize'), hasTarget: false }), 'Available'],
  ['O-10 a Failed machine gets no VM', see(machine({ metadata: owned, status: gaveUp })), 'wait'],
  ['a Failed machine that has no owner is retried', see(machine({ status: gaveUp })), 'call status'],
  ['and has no VM', see(machine({ status: gaveUp }), { calls: failed('status', 'NotFound') }), 'call create'],
  [
    'its creation starts again with a VM of its name',
    see(machine({ status: gaveUp }), { calls: ok('status') }),
    'CrashLoopBackOff',
  ],
  [
    'its creation starts again with its VM',
    see(machine({ status: gaveUp }), { calls: ok('create') }),
    'CrashLoopBackOff',
  ],
  [
    'S-C8 the name belongs to an older Node: the VM is deleted',
    see(machine(), { calls: ok('create'), nodeOfCreated: node({ metadata: { creationTimestamp: at(-60) } }) }),
    'call delete',
  ],
  [
    'a Node without a provider id of the same second may have joined: the VM stays',
    see(machine(), { calls: ok('create'), nodeOfCreated: node({ metadata: { creationTimestamp: at(0) } }) }),
    'record',
  ],
  [
    'a Node one second older than the machine belongs to an earlier VM: the VM is deleted',
    see(machine(), { calls: ok('create'), nodeOfCreated: node({ metadata: { creationTimestamp: at(-1 / 60) } }) }),
    'call delete',
  ],
  [
    'S-C22 the Node is named after the machine',
    see(machine({ name: 'fakeNode-0' }), {
      calls: ok('create'),
      nodeOfCreated: node({ metadata: { creationTimestamp: at(-60) } }),
    }),
    'record',
  ],
  [
    'O-63 the VM joined before the driver answered',
    see(machine(), { calls: ok('create'), nodeOfCreated: node({ metadata: { creationTimestamp: at(1) } }) }),
    'record',
  ],
  [
    'O-63 the Node is that of this VM',
    see(machine(), {
      calls: ok('create'),
      nodeOfCreated: node({ metadata: { creationTimestamp: at(-60) }, spec: { providerID: 'fakeID-0' } }),
    }),
    'record',
  ],
  ['a call is in progress', see(machine(), { calls: { running: { kind: 'create', since: NOON } } }), 'wait'],
])('%s', (_row, observation, does) => {
  expect(verb(planCreation(observation, NOON).actions)).toBe(does);
});

test('the reason for which a creation waits is in the last operation once, and the phase stays empty', () => {
  const calls = { running: { kind: 'create', since: NOON, waitsFor: 'pod x is Pending' } } as const;
  const [action] = planCreation(see(machine(), { calls }), NOON).actions;
  if (action?.do !== 'writeStatus') throw new Error('no status is written');
  const { status } = action;
  expect(status.currentStatus).toBeUndefined();
  expect(status.lastOperation).toMatchObject({
    description: 'Creating machine on cloud provider: pod x is Pending',
    state: 'Processing',
    type: 'Create',
  });
  expect(planCreation(see(machine({ status }), { calls }), NOON).actions).toEqual([]);
  const failing = see(machine({ status: { currentStatus: { phase: 'CrashLoopBackOff' } } }), { calls });
  expect(planCreation(failing, NOON).actions).toEqual([]);
});

test.each<[row: string, age: number, annotation: string | undefined, phase: string]>([
  ['within the creation timeout', 19, undefined, 'CrashLoopBackOff'],
  ['beyond it', 21, undefined, 'Failed'],
  ['S-C20 an hour old, 2h by annotation', 60, '2h', 'CrashLoopBackOff'],
])('a creation that fails %s', (_row, age, annotation, phase) => {
  const annotations = annotation ? { 'node.machine.sapcloud.io/effective-creation-timeout': annotation } : {};
  const m = machine({ metadata: { creationTimestamp: at(-age), annotations } });
  expect(verb(planCreation(see(m, { calls: failed('create', 'Internal') }), NOON).actions)).toBe(`${phase} Internal`);
});

test.each<[row: string, code: MachineCode, failures: number, retryAfterMs: number | undefined, afterMs: number]>([
  ['S-C4', 'Internal', 1, undefined, 180_000],
  ['S-C5', 'ResourceExhausted', 1, undefined, 600_000],
  ['S-C16', 'Unavailable', 1, undefined, 5_000],
  ['with growing delays', 'Unavailable', 3, undefined, 20_000],
  ['after at most a minute', 'Unavailable', 99, undefined, 60_000],
  ['after the wait that the cloud requests', 'Unavailable', 1, 42_000, 42_000],
])('%s %s (%d in a row): written once, and retried after its delay', (_row, code, failures, retryAfterMs, afterMs) => {
  const o = see(machine(), { calls: failed('create', code, failures, retryAfterMs) });
  const [write] = planCreation(o, NOON).actions;
  if (write?.do !== 'writeStatus') throw new Error('the failure is not written');
  expect(write.status.lastOperation?.description).toBe(
    `Cloud provider message - machine codes error: code = [${code}] message = [boom]`,
  );
  const said = { ...o, machine: machine({ status: write.status }) };
  const due = new Date(NOON.getTime() + afterMs);
  expect(planCreation(said, NOON)).toMatchObject({ actions: [], next: { kind: 'waitUntil', instant: due } });
  expect(verb(planCreation(said, due).actions)).toBe('call create');
  expect(verb(planCreation({ ...said, inputs: 'mended' }, NOON).actions)).toBe('call create');
});

test('the retry after exhausted resources uses the flag [S-C6]', () => {
  const defaults = { ...MACHINE_DEFAULTS, resourceExhaustedRetryMs: 540_000 };
  const o = see(machine(), { calls: failed('create', 'ResourceExhausted') }, defaults);
  const [write] = planCreation(o, NOON).actions;
  const status = write?.do === 'writeStatus' ? write.status : {};
  expect(planCreation({ ...o, machine: machine({ status }) }, NOON).next).toEqual({
    kind: 'waitUntil',
    instant: new Date(NOON.getTime() + 540_000),
  });
});

test('addresses are the union of all reported ones with the node name, sorted [S-C11]', () => {
  const instance = { ...created, addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] };
  expect(
    mergeAddresses(
      [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'ExternalIP', address: '8.8.8.8' },
      ],
      instance,
    ),
  ).toEqual([
    { type: 'ExternalIP', address: '8.8.8.8' },
    { type: 'Hostname', address: 'fakeNode-0' },
    { type: 'InternalIP', address: '10.0.0.1' },
  ]);
});

test('without the finalizer nothing is created, and while frozen no health is checked', () => {
  expect(verb(nextStep(see(machine({ metadata: { finalizers: [] } })), NOON).actions)).toBe('addFinalizer');
  expect(nextStep(see(machine(), { frozen: true }), NOON).actions).toEqual([]);
});

test('if the phase is Pending already, nothing is written, and the machine waits for its node [S-C3]', () => {
  const pending: MachineStatus = {
    currentStatus: { phase: 'Pending', lastUpdateTime: at(0), timeoutActive: true },
    lastOperation: {
      description: 'Creating machine on cloud provider',
      state: 'Processing',
      type: 'Create',
      lastUpdateTime: at(0),
    },
  };
  const plan = nextStep(see(recorded(pending), { calls: ok('initialize') }), NOON);
  expect(plan.actions).toEqual([]);
  expect(plan.next).toEqual({ kind: 'waitUntil', instant: new Date(at(20)) });
});

test('without a Node nothing is synchronized, and the next event wakes the machine [S-N10]', () => {
  const spec = { providerID: 'fakeID-0', nodeTemplate: { metadata: { labels: { l: 'x' } } } };
  const status: MachineStatus = { currentStatus: { phase: 'Pending', lastUpdateTime: at(0), timeoutActive: true } };
  const pending = machine({ metadata: { ...recorded().metadata }, spec, status });
  expect(nextStep(see(pending, { calls: ok('initialize') }), NOON)).toMatchObject({
    actions: [],
    next: { kind: 'waitUntil', instant: new Date(at(20)) },
  });
  const there = node({ spec: { providerID: 'fakeID-0' }, conditions: hc('False') });
  const synced = nextStep(see(pending, { calls: ok('initialize'), node: there }), NOON);
  expect(synced.actions).toMatchObject([{ do: 'syncNode', patch: { main: { metadata: { labels: { l: 'x' } } } } }]);
});

test.each([
  ['S-C15 an error without a machine code', 'boom'],
  ['S-C23 an error with more brackets than a code and a message', '[a] [b] [c]'],
])('%s counts as Unknown, and is in the status', (_row, text) => {
  const error = MachineError.from(new Error(text));
  const calls: CallMemory = {
    last: { kind: 'create', at: NOON, outcome: { ok: false, error }, failures: 1, inputs: 'i' },
  };
  const [action] = planCreation(see(machine(), { calls }), NOON).actions;
  expect(action?.do === 'writeStatus' && action.status).toMatchObject({
    currentStatus: { phase: 'CrashLoopBackOff' },
    lastOperation: { errorCode: 'Unknown', state: 'Failed', type: 'Create' },
  });
  expect(JSON.stringify(action)).toContain(text);
});

const runs: MachineStatus = { currentStatus: { phase: 'Running', lastUpdateTime: at(0) } };

test.each<[what: string, calls: CallMemory, minutes: number, does: string | undefined]>([
  ['in a process that knows no call', {}, 5, undefined],
  ['after a creation that failed', failed('create', 'Internal'), 5, undefined],
  ['after a successful creation', ok('initialize'), 5, undefined],
  ['with a driver that has none', failed('initialize', 'Unimplemented'), 5, undefined],
  [
    'while it is in progress',
    { ...failed('initialize', 'Internal'), running: { kind: 'initialize', since: NOON } },
    5,
    undefined,
  ],
  ['that has just failed', failed('initialize', 'Internal'), 0, 'wait'],
  ['that failed', failed('initialize', 'Internal'), 5, 'call initialize'],
])('a Running machine’s initialising %s', (_what, calls, minutes, does) => {
  const plan = planLateInitialization(see(recorded(runs), { calls }), new Date(at(minutes)));
  expect(plan && verb(plan.actions)).toBe(does);
});

test('Pending has an active timeout; Available without nodes has none [S-C9]', () => {
  const written = (change: Partial<MachineObservation>) => {
    const [action] = planCreation(see(recorded(looping), { calls: ok('initialize'), ...change }), NOON).actions;
    return action?.do === 'writeStatus' ? action.status.currentStatus : undefined;
  };
  expect(written({})).toEqual({ phase: 'Pending', timeoutActive: true, lastUpdateTime: at(0) });
  expect(written({ hasTarget: false })).toEqual({ phase: 'Available', lastUpdateTime: at(0) });
});

test('a Failed machine without an owner reports a stale Node once and waits', () => {
  const calls: CallMemory = { ...ok('delete'), created };
  const o = see(machine({ status: gaveUp }), { calls, nodeOfCreated: node() });
  const [reported] = planCreation(o, NOON).actions;
  if (reported?.do !== 'writeStatus') throw new Error('it is not told');
  expect(reported.status.lastOperation?.description).toBe('VM using old node obj');
  expect(planCreation({ ...o, machine: machine({ status: reported.status }) }, NOON)).toMatchObject({
    actions: [],
    next: { kind: 'wait' },
  });
});
