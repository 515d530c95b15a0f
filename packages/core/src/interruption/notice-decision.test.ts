import { Annotations, type Machine } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import type { InterruptionNotice } from '../driver/contract/driver.ts';
import { at, machine, NOON } from '../machine/testing.ts';
import { interruptionOf, printInterruption } from './notice.ts';
import { decideNotice } from './notice-decision.ts';

const notice = (change: Partial<InterruptionNotice> = {}): InterruptionNotice => ({
  id: 'n-1',
  providerId: 'fake:///zone/vm-0',
  kind: 'Terminate',
  noticedAt: at(0),
  deadline: at(2),
  detail: 'spot',
  ...change,
});
const known = (deadline: string, change: Partial<Machine['metadata']> = {}): Machine =>
  machine({
    metadata: {
      annotations: {
        [Annotations.Interruption]: JSON.stringify({
          kind: 'Terminate',
          id: 'n-0',
          noticedAt: at(0),
          deadline,
          detail: '',
        }),
      },
      ...change,
    },
  });
const minutes = (count: number): Date => new Date(NOON.getTime() + count * 60_000);

describe('a notice', () => {
  test.each<[what: string, told: InterruptionNotice, of: Machine | undefined, now: Date, verdict: string]>([
    ['of the own VM is recorded', notice(), machine(), NOON, 'record'],
    [
      'of a machine in deletion is recorded, because its drain must end before',
      notice(),
      machine({ metadata: { deletionTimestamp: at(0) } }),
      NOON,
      'record',
    ],
    ['with an earlier deadline replaces the known one', notice(), known(at(30)), NOON, 'record'],
    ['that is repeated has no effect', notice(), known(at(2)), NOON, 'duplicate'],
    ['with a later deadline has no effect, in any order', notice({ deadline: at(9) }), known(at(2)), NOON, 'duplicate'],
    ['of an unknown VM waits while the notice is new', notice(), undefined, minutes(1), 'wait'],
    ['of an unknown VM has no effect later', notice(), undefined, minutes(3), 'unknown'],
    ['from before the machine concerns an earlier VM', notice({ noticedAt: at(-1) }), machine(), NOON, 'stale'],
    ['whose deadline has passed is confirmed by the cloud', notice(), machine(), minutes(3), 'confirm'],
    [
      'of the end of a VM is confirmed by the cloud',
      notice({ kind: 'Ended', deadline: at(9) }),
      machine(),
      NOON,
      'confirm',
    ],
    [
      'of the end of a VM in deletion has no effect',
      notice({ kind: 'Ended' }),
      machine({ metadata: { deletionTimestamp: at(0) } }),
      NOON,
      'duplicate',
    ],
    ['of a pause is only reported', notice({ kind: 'Freeze' }), machine(), NOON, 'report'],
    ['of a risk is only reported', notice({ kind: 'Rebalance' }), machine(), NOON, 'report'],
    ['without a valid time has no effect', notice({ deadline: 'soon' }), machine(), NOON, 'invalid'],
    ['without an id has no effect', notice({ id: '' }), machine(), NOON, 'invalid'],
    ['of an unknown kind has no effect', notice({ kind: 'Explode' as never }), machine(), NOON, 'invalid'],
  ])('%s', (_, told, of, now, expected) => {
    const verdict = decideNotice(told, of, now);
    expect(verdict.do === 'drop' ? verdict.because : verdict.do).toBe(expected);
  });

  test('a notice without a deadline ends the VM 30 s after it was sent', () => {
    expect(decideNotice(notice({ deadline: undefined }), machine(), NOON)).toMatchObject({
      do: 'record',
      interruption: { deadline: minutes(0.5) },
    });
  });
});

describe('a notice about an unknown VM, while a Machine has no provider ID', () => {
  const late = notice({ deadline: at(15) });

  test.each<[when: string, told: InterruptionNotice, now: Date, verdict: string]>([
    ['waits until its deadline', late, minutes(15), 'wait'],
    ['has no effect after its deadline', late, minutes(15.1), 'unknown'],
    ['has no effect if the notice is only reported', notice({ kind: 'Rebalance' }), minutes(3), 'unknown'],
  ])('%s', (_, told, now, expected) => {
    const verdict = decideNotice(told, undefined, now, true);
    expect(verdict.do === 'drop' ? verdict.because : verdict.do).toBe(expected);
  });
});

describe('the stored form', () => {
  test('the stored form of a notice is parsed as it was formatted', () => {
    const told = { kind: 'Maintenance', id: 'x', noticedAt: NOON, deadline: minutes(5), detail: 'reboot' } as const;
    const stored = machine({ metadata: { annotations: { [Annotations.Interruption]: printInterruption(told) } } });
    expect(interruptionOf(stored)).toEqual(told);
  });

  test.each([
    '',
    'true',
    '[]',
    '{}',
    '{"kind":"Terminate"}',
    '{"kind":"Freeze","id":"x","noticedAt":"2026-01-01T00:00:00Z"}',
    'null',
    '{"a":',
  ])('an invalid text names no interruption: %s', (text) => {
    expect(
      interruptionOf(machine({ metadata: { annotations: { [Annotations.Interruption]: text } } })),
    ).toBeUndefined();
  });

  test('a forged text is cut', () => {
    const verdict = decideNotice(notice({ detail: 'x'.repeat(10_000) }), machine(), NOON);
    expect(verdict.do === 'record' && verdict.interruption.detail.length).toBe(200);
  });
});
