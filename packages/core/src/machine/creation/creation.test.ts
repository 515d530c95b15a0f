import { Annotations, Labels, type Machine, type MachinePhase, type MachineStatus } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import type { MachineCode } from '../../driver/contract/errors.ts';
import { MachineError } from '../../driver/contract/errors.ts';
import { MACHINE_DEFAULTS, type MachineDefaults, settingsOf } from '../../settings/settings.ts';
import type { CallKind, CallMemory, MachineObservation, ObservedOffering, Shortage } from '../model/observation.ts';
import type { Action, Plan } from '../model/plan.ts';
import { nextStep } from '../next-step.ts';
import { at, hc, machine, NOON, node } from '../testing.ts';
import { isBeingCreated, mergeAddresses, planCreation, planLateInitialization } from './creation.ts';

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

const ok = (kind: CallKind, instance = created): CallMemory => ({
  last: { kind, at: NOON, outcome: { ok: true, instance }, failures: 0, inputs: 'i' },
  created: instance,
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
    'the lookup finds the VM and cannot confirm that it is initialized',
    see(recorded(looping), {
      calls: {
        last: { kind: 'status', at: NOON, outcome: { ok: true, incomplete: true }, failures: 0, inputs: 'i' },
      },
    }),
    'call initialize',
  ],
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
  ['initialize fails', see(recorded(), { calls: failed('initialize', 'Internal') }), 'CrashLoopBackOff Internal'],
  [
    'a machine without a status, whose new VM was deleted',
    see(machine(), { calls: ok('delete'), nodeOfCreated: node() }),
    'Failed',
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
  [
    'the Node has the ID of this VM in the form of the cloud controller',
    see(machine(), {
      calls: ok('create', { ...created, providerId: 'aws:///eu-west-1/i-1' }),
      nodeOfCreated: node({ metadata: { creationTimestamp: at(-60) }, spec: { providerID: 'aws:///eu-west-1a/i-1' } }),
    }),
    'record',
  ],
  [
    'the Node has the ID of another VM',
    see(machine(), {
      calls: ok('create', { ...created, providerId: 'aws:///eu-west-1/i-1' }),
      nodeOfCreated: node({ metadata: { creationTimestamp: at(1) }, spec: { providerID: 'aws:///eu-west-1a/i-2' } }),
    }),
    'call delete',
  ],
  [
    'the Node refers to the machine',
    see(machine(), {
      calls: ok('create'),
      nodeOfCreated: node({
        metadata: { creationTimestamp: at(-60), labels: { [Labels.MachineName]: 'machine-0' } },
      }),
    }),
    'record',
  ],
  ['a machine of a set that has not failed is created', see(machine({ metadata: owned })), 'call status'],
  [
    'the lookup returns no VM',
    see(machine(), { calls: { last: { kind: 'status', at: NOON, outcome: { ok: true }, failures: 0, inputs: 'i' } } }),
    'call create',
  ],
  [
    'create returned no VM: it is repeated, and finds the VM',
    see(machine(), { calls: { last: { kind: 'create', at: NOON, outcome: { ok: true }, failures: 0, inputs: 'i' } } }),
    'call create',
  ],
  [
    'the API server was restored after the deletion of the VM: a VM of its name is looked up',
    see(machine(), { calls: { last: { kind: 'delete', at: NOON, outcome: { ok: true }, failures: 0, inputs: 'i' } } }),
    'call status',
  ],
  [
    'a driver that cannot look up a VM after a restart: it is initialized again',
    see(recorded(looping), { driver: { initialize: true, status: false } }),
    'call initialize',
  ],
  [
    'a driver whose lookup is not implemented: Pending',
    see(recorded(looping), { calls: failed('status', 'Unimplemented') }),
    'Pending',
  ],
  [
    'the priority is missing',
    see(machine({ metadata: { labels: { node: 'fakeNode-0' } }, spec: recorded().spec })),
    'record',
  ],
  [
    'the label is missing, and the node name is known',
    see(machine({ metadata: { annotations: priority }, spec: recorded().spec }), { calls: ok('status') }),
    'record',
  ],
  [
    'the label is missing, and the node name is unknown',
    see(machine({ metadata: { annotations: priority }, spec: recorded().spec })),
    'call status',
  ],
  [
    'without a target cluster no label is needed',
    see(machine({ metadata: { annotations: priority }, spec: recorded().spec }), {
      calls: ok('status'),
      hasTarget: false,
    }),
    'Available',
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
  const looking = see(machine(), { calls: { running: { ...calls.running, kind: 'status' } } });
  expect(planCreation(looking, NOON).actions).toEqual([]);
});

test.each<[providerID: string | undefined, phase: MachinePhase | undefined, beingCreated: boolean]>([
  [undefined, undefined, true],
  [undefined, 'Pending', true],
  ['fakeID-0', undefined, true],
  ['fakeID-0', 'CrashLoopBackOff', true],
  ['fakeID-0', 'Pending', false],
  ['fakeID-0', 'Running', false],
])('a machine with the provider ID %s in phase %s is being created: %s', (providerID, phase, beingCreated) => {
  const m = machine({ spec: providerID ? { providerID } : {}, status: phase ? { currentStatus: { phase } } : {} });
  expect(isBeingCreated(see(m))).toBe(beingCreated);
});

test.each([
  ['create', 'Cloud provider message - machine codes error: code = [DeadlineExceeded] message = [late]'],
  [
    'initialize',
    'Provider error: machine codes error: code = [DeadlineExceeded] message = [late]. Initialize VM Instance',
  ],
] as const)('a %s that does not end is reported once with an event, and no second one is sent', (kind, description) => {
  const error = new MachineError('DeadlineExceeded', 'late');
  const overdue = { kind, at: NOON, outcome: { ok: false, error }, failures: 1, inputs: 'i' } as const;
  const o = see(machine(), { calls: { running: { kind, since: NOON, overdue } } });
  const [action] = planCreation(o, NOON).actions;
  expect(action).toMatchObject({
    status: { lastOperation: { description: description, state: 'Failed' } },
    event: { type: 'Warning', reason: 'CreationFailed', message: description },
  });
  const status = action?.do === 'writeStatus' ? action.status : {};
  expect(planCreation({ ...o, machine: machine({ status }) }, NOON)).toMatchObject({
    actions: [],
    next: { kind: 'wait' },
  });
});

test.each<[what: string, code: MachineCode | undefined, minutes: number, does: string]>([
  ['deleted', undefined, 0, 'Failed'],
  ['gone', 'NotFound', 0, 'Failed'],
  ['not deleted', 'Unavailable', 0, 'wait'],
  ['not deleted, for the time of a retry', 'Unavailable', 5 / 60, 'call delete'],
])('the new VM of an existing Node name that is %s', (_what, code, minutes, does) => {
  const calls: CallMemory = code ? { ...failed('delete', code), created } : ok('delete');
  const status: MachineStatus = { ...looping, lastOperation: { description: 'VM using old node obj' } };
  const o = see(machine({ status }), { calls, nodeOfCreated: node() });
  const plan = planCreation(o, new Date(at(minutes)));
  expect(verb(plan.actions)).toBe(does);
  if (does === 'wait') expect(plan.next).toEqual({ kind: 'waitUntil', instant: new Date(NOON.getTime() + 5_000) });
});

test.each(['status', 'create'] as const)('the VM that %s returned is recorded', (kind) => {
  expect(planCreation(see(machine(), { calls: ok(kind) }), NOON).actions).toEqual([
    { do: 'record', instance: created },
  ]);
});

test('a machine whose class is refused gets a note that it has no VM, and loses it before its first create', () => {
  const error = new MachineError('InvalidArgument', 'spec.region is missing', { unsent: true });
  const unsent: CallMemory = {
    last: { kind: 'create', at: NOON, outcome: { ok: false, error }, failures: 1, inputs: 'i' },
  };
  const note = (value: string | null) => [{ do: 'annotate', annotations: { [Annotations.NoCreateCall]: value } }];
  expect(planCreation(see(machine(), { calls: unsent, inherited: false }), NOON).actions).toEqual(note('true'));
  const noted = machine({ metadata: { annotations: { [Annotations.NoCreateCall]: 'true' } } });
  expect(planCreation(see(noted, { calls: failed('status', 'NotFound') }), NOON).actions).toEqual(note(null));
  expect(verb(planCreation(see(noted, { calls: unsent }), NOON).actions)).toBe('CrashLoopBackOff InvalidArgument');
});

test('a missing label and priority are recorded without another lookup', () => {
  const spec = { providerID: 'fakeID-0' };
  expect(planCreation(see(machine({ spec }), { calls: ok('create') }), NOON).actions).toEqual([
    { do: 'record', instance: created },
  ]);
  expect(planCreation(see(machine({ spec })), NOON).actions).toEqual([
    { do: 'record', instance: { providerId: 'fakeID-0', nodeName: '' } },
  ]);
});

const inMinutes = (count: number): Date => new Date(NOON.getTime() + count * 60_000);
const hooked = (timeout: string, status?: MachineStatus): Machine =>
  machine({
    metadata: {
      annotations: {
        [Annotations.Hooks]: `before-create check owner ${timeout} Block`,
        [Annotations.HooksBegun]: `before-create=${at(0)}`,
        [`before-create.${Annotations.HookSuffix}/check`]: 'owner',
      },
    },
    ...(status ? { status } : {}),
  });

test.each<[what: string, minutes: number, timeout: string, until: number | undefined, phase: string]>([
  ['until the timeout of the hook', 1, '10m', 10, 'undefined'],
  ['until the creation timeout, which is earlier', 1, '60m', 20, 'undefined'],
  ['until the creation timeout, although the hook is late', 11, '10m', 20, 'undefined'],
  ['still at the creation timeout', 20, '60m', 20, 'undefined'],
  ['after the creation timeout as a Failed machine', 21, '60m', 60, 'Failed'],
  ['then only for the hook', 61, '60m', undefined, 'Failed'],
])('a machine waits for a before-create hook %s, and reports it once', (_what, minutes, timeout, until, phase) => {
  const o = see(hooked(timeout), { calls: failed('status', 'NotFound') });
  const plan = planCreation(o, inMinutes(minutes));
  const next = until === undefined ? { kind: 'wait' } : { kind: 'waitUntil', instant: inMinutes(until) };
  expect([verb(plan.actions), plan.next]).toEqual([phase, next]);
  const [action] = plan.actions;
  const because = 'waiting for before-create hook check of owner, since 2026-01-01T12:00:00Z';
  const creating = `Creating machine on cloud provider: ${because}`;
  const timedOut = `Creation timeout: ${because}`;
  expect(action).toMatchObject(
    phase === 'Failed'
      ? {
          status: {
            lastOperation: { state: 'Failed', type: 'Create', description: expect.stringContaining(timedOut) },
          },
          event: { type: 'Warning', reason: 'CreationFailed', message: expect.stringContaining(timedOut) },
        }
      : {
          status: {
            lastOperation: { state: 'Processing', type: 'Create', description: expect.stringContaining(creating) },
          },
        },
  );
  const status = action?.do === 'writeStatus' ? action.status : {};
  const later = planCreation({ ...o, machine: hooked(timeout, status) }, inMinutes(minutes));
  expect([later.actions, later.next]).toEqual([[], next]);
});

const shortUntil = (minutes: number, free = true): Shortage => ({
  error: new MachineError('ResourceExhausted', 'no cores'),
  retryAt: inMinutes(minutes),
  free,
});
const none = failed('status', 'NotFound');

const ELSEWHERE =
  'mcm has not called the cloud for the machine, because the cloud refused another machine with the same offering: ';

test('a machine reports whether the cloud refused its own call, also if both texts are similar', () => {
  const error = new MachineError('ResourceExhausted', `no cores ${'in the zone '.repeat(60)}`);
  const description = (plan: Plan): string | undefined => {
    const [action] = plan.actions;
    return action?.do === 'writeStatus' ? action.status.lastOperation?.description : undefined;
  };
  const waits = see(machine(), { calls: none, shortage: { ...shortUntil(10), error } });
  const [said] = planCreation(waits, NOON).actions;
  expect(description(planCreation(waits, NOON))).toMatch(ELSEWHERE);
  const status = said?.do === 'writeStatus' ? said.status : {};
  const last = { kind: 'create', at: NOON, outcome: { ok: false, error }, failures: 1, inputs: 'i' } as const;
  const tried = { ...waits, machine: machine({ status }), calls: { last, createSent: true as const } };
  expect(description(planCreation(tried, NOON))).toMatch(/^Cloud provider message - /);
});

test('after a restart, a machine keeps the report about its own call', () => {
  const description = 'Cloud provider message - machine codes error: code = [ResourceExhausted] message = [my refusal]';
  const lastOperation = {
    description,
    errorCode: 'ResourceExhausted',
    state: 'Failed',
    type: 'Create',
    lastUpdateTime: at(0),
  } as const;
  const reported = machine({ status: { currentStatus: { phase: 'CrashLoopBackOff' }, lastOperation } });
  expect(planCreation(see(reported, { calls: none, shortage: shortUntil(10) }), NOON).actions).toEqual([]);
  const overdue = planCreation(see(reported, { calls: none, shortage: shortUntil(90) }), inMinutes(60));
  expect(overdue.actions[0]).toMatchObject({
    status: { currentStatus: { phase: 'Failed' }, lastOperation: { description } },
  });
});

test('a machine without a VM reports the shortage of its class once, and waits with the others', () => {
  const o = see(machine(), { calls: none, shortage: shortUntil(10) });
  const [action] = planCreation(o, NOON).actions;
  const description = `${ELSEWHERE}Cloud provider message - machine codes error: code = [ResourceExhausted] message = [no cores]`;
  expect(action).toMatchObject({
    status: { currentStatus: { phase: 'CrashLoopBackOff' }, lastOperation: { description, state: 'Failed' } },
    event: { type: 'Warning', reason: 'CreationFailed', message: description },
  });
  const said = { ...o, machine: machine({ status: action?.do === 'writeStatus' ? action.status : {} }) };
  const until = (minutes: number) => ({ kind: 'waitUntil', instant: inMinutes(minutes) });
  expect(planCreation(said, NOON)).toMatchObject({ actions: [], next: until(10), awaitsCapacity: true });
  expect(verb(planCreation(said, inMinutes(10)).actions)).toBe('call create');
  const taken = { ...said, shortage: shortUntil(10, false) };
  expect(planCreation(taken, inMinutes(10))).toMatchObject({ actions: [], next: until(10) });
  expect(planCreation(taken, inMinutes(11))).toMatchObject({ actions: [], next: until(20) });
  expect(planCreation({ ...said, shortage: shortUntil(30) }, NOON).next).toEqual(until(20));
});

test.each<[what: string, calls: CallMemory, message: string]>([
  ['of its own create', failed('create', 'ResourceExhausted'), 'boom'],
  ['of another machine after its lookup failed', none, 'no cores'],
])('during a shortage a machine reports the error %s', (_what, calls, message) => {
  const [action] = planCreation(see(machine(), { calls, shortage: shortUntil(10) }), NOON).actions;
  expect(action).toMatchObject({
    status: { lastOperation: { errorCode: 'ResourceExhausted', description: expect.stringContaining(`[${message}]`) } },
  });
  const status = action?.do === 'writeStatus' ? action.status : {};
  const plan = planCreation(see(machine({ status }), { calls, shortage: shortUntil(3) }), NOON);
  expect(plan).toMatchObject({ actions: [], next: { instant: inMinutes(3) }, awaitsCapacity: true });
});

describe('a machine with several offerings', () => {
  const small: ObservedOffering = { record: '{}', text: 'the first choice' };
  const large: ObservedOffering = { record: '{"zone":"b"}', text: 'zone b' };
  const shortage = shortUntil(10);
  const chosen = (record: string, status?: MachineStatus): Machine =>
    machine({
      metadata: { annotations: { [Annotations.CapacityOffering]: record } },
      ...(status ? { status } : {}),
    });

  test('a machine with several offerings waits for the first call of another machine', () => {
    const offerings = [{ ...small, awaitsFirstCall: inMinutes(1) }, large];
    expect(planCreation(see(machine(), { calls: none, offerings }), NOON)).toMatchObject({
      actions: [],
      next: { kind: 'waitUntil', instant: inMinutes(1) },
      awaitsCapacity: true,
    });
  });

  test('a machine with several offerings reports and awaits the shortage of all offerings', () => {
    const offerings = [
      { ...small, shortage },
      { ...large, shortage },
    ];
    const o = see(machine(), { calls: none, offerings });
    const plan = planCreation(o, NOON);
    expect(verb(plan.actions)).toBe('CrashLoopBackOff ResourceExhausted');
    const [action] = plan.actions;
    const said = { ...o, machine: machine({ status: action?.do === 'writeStatus' ? action.status : {} }) };
    expect(planCreation(said, NOON)).toMatchObject({ actions: [], next: { instant: inMinutes(10) } });
  });

  test('a machine with several offerings reports a refusal, records the next offering, and calls create with it at once', () => {
    const o = see(chosen('{}'), {
      calls: { ...failed('create', 'ResourceExhausted'), createSent: true },
      offerings: [{ ...small, shortage }, large],
    });
    const [action] = planCreation(o, inMinutes(1)).actions;
    expect(action).toMatchObject({
      status: { lastOperation: { errorCode: 'ResourceExhausted', lastUpdateTime: at(1) } },
    });
    const status = action?.do === 'writeStatus' ? action.status : {};
    const said = { ...o, machine: chosen('{}', status) };
    expect(planCreation(said, NOON).actions[0]).toEqual({
      do: 'annotate',
      annotations: { [Annotations.CapacityOffering]: '{"zone":"b"}' },
    });
    expect(verb(planCreation({ ...o, machine: chosen('{"zone":"b"}', status) }, NOON).actions)).toBe('call create');
  });

  test('a machine with several offerings retries another error with the same offering after its delay', () => {
    const o = see(chosen('{}'), {
      calls: { ...failed('create', 'Internal'), createSent: true },
      offerings: [small, large],
    });
    const [action] = planCreation(o, NOON).actions;
    const said = { ...o, machine: chosen('{}', action?.do === 'writeStatus' ? action.status : {}) };
    expect(planCreation(said, NOON)).toMatchObject({ actions: [], next: { instant: inMinutes(3) } });
  });
});

test.each<[row: string, age: number, annotation: string | undefined, phase: string]>([
  ['within the creation timeout', 19, undefined, 'CrashLoopBackOff'],
  ['exactly at it', 20, undefined, 'CrashLoopBackOff'],
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
  const retryMs = (flag: number) => {
    const defaults = { ...MACHINE_DEFAULTS, resourceExhaustedRetryMs: flag };
    const o = see(machine(), { calls: failed('create', 'ResourceExhausted') }, defaults);
    const [write] = planCreation(o, NOON).actions;
    expect(write).toMatchObject({ event: { type: 'Warning', reason: 'CreationFailed' } });
    const status = write?.do === 'writeStatus' ? write.status : {};
    const { next } = planCreation({ ...o, machine: machine({ status }) }, NOON);
    return next.kind === 'waitUntil' ? next.instant.getTime() - NOON.getTime() : undefined;
  };
  expect(retryMs(540_000)).toBe(540_000);
  expect(retryMs(0)).toBe(600_000);
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
  expect(mergeAddresses([], { providerId: 'fakeID-0', nodeName: '' })).toEqual([]);
  expect(mergeAddresses([], undefined)).toEqual([]);
  expect(mergeAddresses([], instance)).toEqual([
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
  ['that failed for the time of a retry', failed('initialize', 'Internal'), 5 / 60, 'call initialize'],
])('a Running machine’s initialising %s', (_what, calls, minutes, does) => {
  const plan = planLateInitialization(see(recorded(runs), { calls }), new Date(at(minutes)));
  expect(plan && verb(plan.actions)).toBe(does);
  expect(planLateInitialization(see(recorded(gaveUp), { calls }), new Date(at(minutes)))).toBeUndefined();
});

test('Pending has an active timeout; Available without nodes has none [S-C9]', () => {
  const written = (change: Partial<MachineObservation>) => {
    const [action] = planCreation(see(recorded(looping), { calls: ok('initialize'), ...change }), NOON).actions;
    return action?.do === 'writeStatus' ? action.status.currentStatus : undefined;
  };
  expect(written({})).toEqual({ phase: 'Pending', timeoutActive: true, lastUpdateTime: at(0) });
  expect(written({ hasTarget: false })).toEqual({ phase: 'Available', lastUpdateTime: at(0) });
});

test.each<[what: string, calls: CallMemory]>([
  ['the lookup', { last: ok('status').last } as CallMemory],
  [
    'create, after initialize returned none',
    { ...ok('create'), last: { kind: 'initialize', at: NOON, outcome: { ok: true }, failures: 0, inputs: 'i' } },
  ],
])('an Available machine has the addresses of %s, and its former ones', (_what, calls) => {
  const known: MachineStatus = { ...looping, addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] };
  const [action] = planCreation(see(recorded(known), { calls, hasTarget: false }), NOON).actions;
  expect(action).toMatchObject({
    do: 'writeStatus',
    status: {
      addresses: [
        { type: 'Hostname', address: 'fakeNode-0' },
        { type: 'InternalIP', address: '10.0.0.1' },
      ],
      lastOperation: { description: 'Created machine on cloud provider', state: 'Successful', type: 'Create' },
    },
  });
});

test('a Failed machine without an owner reports a stale Node once and waits', () => {
  const calls: CallMemory = { ...ok('delete'), created };
  const o = see(machine({ status: gaveUp }), { calls, nodeOfCreated: node() });
  const [reported] = planCreation(o, NOON).actions;
  if (reported?.do !== 'writeStatus') throw new Error('it is not told');
  expect(reported.status.lastOperation).toMatchObject({
    description: 'VM using old node obj',
    state: 'Failed',
    type: 'Create',
  });
  expect(reported.event).toEqual({
    type: 'Warning',
    reason: 'StaleNode',
    message: 'mcm deleted the new VM, because Node fakeNode-0 with the same name belongs to an earlier VM',
  });
  expect(planCreation({ ...o, machine: machine({ status: reported.status }) }, NOON)).toMatchObject({
    actions: [],
    next: { kind: 'wait' },
  });
});
