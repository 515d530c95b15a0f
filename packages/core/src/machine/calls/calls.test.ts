import { createMemoryLogger, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { MachineError } from '../../driver/contract/errors.ts';
import type { CallKind } from '../model/observation.ts';
import { machine } from '../testing.ts';
import { type CallResult, DriverCalls, FAULT_AFTER_FAILURES } from './calls.ts';

const OK: CallResult = { ok: true };
const never = (): Promise<CallResult> => new Promise(() => undefined);

function setUp(limit: number) {
  const clock = new VirtualClock();
  const woken: string[] = [];
  const faults: string[] = [];
  const log = createMemoryLogger();
  const calls = new DriverCalls({
    clock,
    log,
    limit,
    wake: ({ metadata }) => woken.push(metadata.name),
    onFault: ({ metadata }, kind, { code }) => faults.push(`${metadata.name} ${kind} ${code}`),
  });
  const call = async (kind: CallKind, outcome: CallResult | MachineError, of = machine({ name: 'one' })) => {
    calls.start(of, kind, 'i', async () => {
      if (outcome instanceof MachineError) throw outcome;
      return outcome;
    });
    await clock.settle();
    return calls.of(of.metadata.uid);
  };
  return { clock, calls, woken, log, faults, call };
}

test('a call that ignores its signal frees its slot, but still blocks its machine', async () => {
  const { clock, calls, woken, log } = setUp(1);
  const [deaf, next] = [machine({ name: 'deaf' }), machine({ name: 'next' })];
  let overdue: (error: MachineError) => void = () => undefined;
  let end: (result: CallResult) => void = () => undefined;
  calls.start(deaf, 'create', 'i', (onOverdue) => {
    overdue = onOverdue;
    return new Promise((resolve) => {
      end = resolve;
    });
  });
  calls.start(next, 'create', 'i', async () => OK);
  await clock.settle();
  expect(woken).toEqual([]);
  overdue(new MachineError('DeadlineExceeded', 'too long'));
  await clock.settle();
  expect(woken).toEqual(['deaf', 'next']);
  expect(log.lines.find(({ level }) => level === 'warn')).toMatchObject({
    message: 'Driver call ignores its abort signal; the machine waits for the end of the call',
    fields: { machine: 'test/deaf', call: 'create', error: 'too long' },
  });
  expect(calls.of(deaf.metadata.uid).running?.overdue?.outcome).toMatchObject({ ok: false });
  expect(() => calls.start(deaf, 'delete', 'i', never)).toThrow(
    /the driver call delete was requested while the call create is in progress/,
  );
  end(OK);
  await clock.settle();
  expect(calls.of(deaf.metadata.uid)).toMatchObject({ last: { kind: 'create', outcome: { ok: true } } });
  expect(calls.running).toBe(0);
});

test('a change of the reason for waiting wakes the machine, and the end of the call removes the reason', async () => {
  const { clock, calls, woken } = setUp(1);
  const one = machine({ name: 'one' });
  const reported: ((what: string) => void)[] = [];
  let end: (result: CallResult) => void = () => undefined;
  calls.start(one, 'create', 'i', (_, onWaiting) => {
    reported.push(onWaiting);
    return new Promise((resolve) => {
      end = resolve;
    });
  });
  await clock.settle();
  for (const what of ['a disk', 'a disk', 'an address']) reported[0]?.(what);
  expect(woken).toEqual(['one', 'one']);
  expect(calls.of(one.metadata.uid).running?.waitsFor).toBe('an address');
  end(OK);
  await clock.settle();
  reported[0]?.('nothing');
  expect(calls.of(one.metadata.uid).running).toBeUndefined();
  expect(woken).toEqual(['one', 'one', 'one']);
});

test('a slot that was freed is not freed twice', async () => {
  const { clock, calls } = setUp(1);
  const begun: string[] = [];
  const start = (name: string, work: (onOverdue: (error: MachineError) => void) => Promise<CallResult>): void =>
    calls.start(machine({ name }), 'create', 'i', (onOverdue) => {
      begun.push(name);
      return work(onOverdue);
    });
  start('a', async (onOverdue) => {
    onOverdue(new MachineError('DeadlineExceeded', 'too long'));
    return OK;
  });
  start('b', never);
  start('c', never);
  await clock.settle();
  expect(begun).toEqual(['a', 'b']);
});

test('creations and deletions do not wait for each other', async () => {
  const { clock, calls, woken } = setUp(1);
  calls.start(machine({ name: 'a' }), 'create', 'i', never);
  calls.start(machine({ name: 'b' }), 'delete', 'i', async () => OK);
  await clock.settle();
  expect(woken).toEqual(['b']);
});

test('only a creation reports which VM was created, and this stays known after other calls', async () => {
  const { clock, calls } = setUp(1);
  const one = machine({ name: 'one' });
  const instance = (providerId: string): CallResult => ({ ok: true, instance: { providerId, nodeName: 'n' } });
  calls.start(one, 'status', 'i', async () => instance('looked-up'));
  await clock.settle();
  expect(calls.of(one.metadata.uid).created).toBeUndefined();
  calls.start(one, 'create', 'i', async () => instance('made'));
  await clock.settle();
  calls.start(one, 'status', 'i', async () => instance('looked-up'));
  await clock.settle();
  expect(calls.of(one.metadata.uid).created?.providerId).toBe('made');
});

test('NotFound is an answer of status; other errors, and NotFound of a deletion, are failures', async () => {
  const { clock, calls, log } = setUp(9);
  const refusals = [
    ['status', 'NotFound'],
    ['delete', 'NotFound'],
    ['status', 'Unavailable'],
  ] as const;
  for (const [call, code] of refusals)
    calls.start(machine({ name: `${call}-${code}` }), call, 'i', () => Promise.reject(new MachineError(code, 'no')));
  await clock.settle();
  const warned = log.lines.filter(({ level }) => level === 'warn').map(({ fields }) => [fields.call, fields.code]);
  expect(warned).toEqual(refusals.slice(1));
});

test('a late report of a call that has ended changes nothing', async () => {
  const { clock, calls, woken } = setUp(1);
  const one = machine({ name: 'one' });
  let overdue: (error: MachineError) => void = () => undefined;
  calls.start(one, 'create', 'i', async (onOverdue) => {
    overdue = onOverdue;
    return OK;
  });
  await clock.settle();
  overdue(new MachineError('DeadlineExceeded', 'too long'));
  expect([calls.of(one.metadata.uid).running, woken]).toEqual([undefined, ['one']]);
});

test.each([5 * 60_000, -5 * 60_000])(
  'the time since the last call does not change when the system clock jumps by %i ms',
  async (jump) => {
    const { clock, calls, call } = setUp(1);
    const { last } = await call('status', OK);
    await clock.advance(30_000);
    const since = () => clock.now().getTime() - (calls.of('uid-one').last?.at.getTime() ?? 0);
    expect([since(), calls.of('uid-one').last]).toEqual([30_000, last]);
    clock.jump(jump);
    expect(since()).toBe(30_000);
    expect(calls.of('uid-one').last).toMatchObject({ kind: 'status', outcome: OK });
    await clock.advance(10_000);
    expect(since()).toBe(40_000);
  },
);

test('running calls and calls that wait for a slot are counted', async () => {
  const { clock, calls } = setUp(1);
  for (const name of ['a', 'b']) calls.start(machine({ name }), 'create', 'i', never);
  await clock.settle();
  expect(calls.running).toBe(2);
});

test.each(['forget', 'startOver'] as const)('after %s, the result of a running call is ignored', async (method) => {
  const { clock, calls, woken, call } = setUp(2);
  const made = { providerId: 'vm', nodeName: 'n' };
  await call('create', { ok: true, instance: made });
  const two = machine({ name: 'two' });
  let end: (result: CallResult) => void = () => undefined;
  calls.start(two, 'create', 'i', () => new Promise((resolve) => (end = resolve)));
  await clock.settle();
  if (method === 'startOver') calls.startOver();
  else for (const name of ['one', 'two']) calls.forget(`uid-${name}`);
  expect([calls.of('uid-one'), calls.of('uid-two').running?.kind]).toEqual([{}, 'create']);
  expect(() => calls.start(two, 'delete', 'i', never)).toThrow(/while the call create is in progress/);
  woken.length = 0;
  end({ ok: true, instance: made });
  await clock.settle();
  expect([calls.of('uid-two'), woken]).toEqual([{}, ['two']]);
  expect(await call('status', OK, two)).toMatchObject({ last: { kind: 'status' } });
});

test('a machine may have a VM once a creation was sent, with any result', async () => {
  const unsent = new MachineError('InvalidArgument', 'no', { unsent: true });
  const sent = async (...outcomes: readonly (readonly [CallKind, CallResult | MachineError])[]) => {
    const { calls, call } = setUp(1);
    for (const [kind, outcome] of outcomes) await call(kind, outcome);
    return calls.of('uid-one').createSent ?? false;
  };
  expect([
    await sent(['create', unsent]),
    await sent(['status', OK], ['delete', new MachineError('Internal', 'no')]),
    await sent(['create', OK]),
    await sent(['create', new MachineError('Internal', 'no')]),
    await sent(['create', OK], ['create', unsent], ['status', OK]),
  ]).toEqual([false, false, true, true, true]);
});

test('failures of one kind of call in a row are counted', async () => {
  const { call } = setUp(1);
  const no = new MachineError('Internal', 'no');
  const counts: (number | undefined)[] = [];
  for (const [kind, outcome] of [
    ['create', no],
    ['create', no],
    ['status', no],
    ['create', no],
    ['create', OK],
    ['create', no],
  ] as const)
    counts.push((await call(kind, outcome)).last?.failures);
  expect(counts).toEqual([1, 2, 1, 1, 0, 1]);
});

test('a driver that fails unexpectedly in a row is reported once', async () => {
  const { call, faults } = setUp(1);
  const expected = new MachineError('Internal', 'no');
  for (let count = 0; count < FAULT_AFTER_FAILURES; count += 1) await call('create', expected);
  expect(faults).toEqual([]);
  await call('create', OK);
  const unexpected = MachineError.from(new TypeError('x is undefined'));
  for (let count = 1; count < FAULT_AFTER_FAILURES; count += 1) await call('create', unexpected);
  expect(faults).toEqual([]);
  for (let count = 0; count < 3; count += 1) await call('create', unexpected);
  expect(faults).toEqual([`one create ${unexpected.code}`]);
});

test('the log shows the first failure in a row as a warning, with the machine and the error', async () => {
  const { call, log } = setUp(1);
  await call('create', OK);
  for (const message of ['first', 'second']) await call('create', new MachineError('Internal', message));
  const of = { machine: 'test/one', call: 'create' };
  expect(log.lines.map(({ level, message, fields }) => [level, message, fields])).toEqual([
    ['debug', 'Driver call ended', of],
    ['warn', 'Driver call failed', { ...of, code: 'Internal', error: 'first', failures: 1 }],
    ['debug', 'Driver call still fails', { ...of, code: 'Internal', error: 'second', failures: 2 }],
  ]);
});
