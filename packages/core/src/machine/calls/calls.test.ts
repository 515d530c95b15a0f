import { createMemoryLogger, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { MachineError } from '../../driver/contract/errors.ts';
import { machine } from '../testing.ts';
import { type CallResult, DriverCalls } from './calls.ts';

const OK: CallResult = { ok: true };
const never = (): Promise<CallResult> => new Promise(() => undefined);

function setUp(limit: number) {
  const clock = new VirtualClock();
  const woken: string[] = [];
  const log = createMemoryLogger();
  const calls = new DriverCalls({
    clock,
    log,
    limit,
    wake: ({ metadata }) => woken.push(metadata.name),
  });
  return { clock, calls, woken, log };
}

test('a call that ignores its signal frees its slot, but still blocks its machine', async () => {
  const { clock, calls, woken } = setUp(1);
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
  expect(calls.of(deaf.metadata.uid).running?.overdue?.outcome).toMatchObject({ ok: false });
  expect(() => calls.start(deaf, 'delete', 'i', never)).toThrow(/delete asked for while create is under way/);
  end(OK);
  await clock.settle();
  expect(calls.of(deaf.metadata.uid)).toMatchObject({ last: { kind: 'create', outcome: { ok: true } } });
  expect(calls.running).toBe(0);
});

test('a change of the reason for waiting wakes the machine, and the end of the call removes the reason', async () => {
  const { clock, calls, woken } = setUp(1);
  const one = machine({ name: 'one' });
  const told: ((what: string) => void)[] = [];
  let end: (result: CallResult) => void = () => undefined;
  calls.start(one, 'create', 'i', (_, onWaiting) => {
    told.push(onWaiting);
    return new Promise((resolve) => {
      end = resolve;
    });
  });
  await clock.settle();
  for (const what of ['a disk', 'a disk', 'an address']) told[0]?.(what);
  expect(woken).toEqual(['one', 'one']);
  expect(calls.of(one.metadata.uid).running?.waitsFor).toBe('an address');
  end(OK);
  await clock.settle();
  told[0]?.('nothing');
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
