import { Annotations } from '@mcm/api';
import { expect, test } from 'vitest';
import { type MachineCode, MachineError } from '../../driver/contract/errors.ts';
import type { CallMemory, ObservedOffering, Shortage } from '../model/observation.ts';
import { machine, NOON } from '../testing.ts';
import { planOffering } from './offering.ts';

const minutes = (count: number): Date => new Date(NOON.getTime() + count * 60_000);
const shortUntil = (count: number, free = true): Shortage => ({
  error: new MachineError('ResourceExhausted', 'no cores'),
  retryAt: minutes(count),
  free,
});
const first: ObservedOffering = { record: '{}', text: 'the first choice' };
const second: ObservedOffering = { record: '{"zone":"b"}', text: 'zone b' };
const short = (offering: ObservedOffering, until = 10, free = true): ObservedOffering => ({
  ...offering,
  shortage: shortUntil(until, free),
});

const failed = (code: MachineCode): CallMemory => ({
  last: {
    kind: 'create',
    at: NOON,
    outcome: { ok: false, error: new MachineError(code, 'no') },
    failures: 1,
    inputs: 'i',
  },
  createSent: true,
});

interface Case {
  readonly record?: string;
  readonly calls?: CallMemory;
  readonly inherited?: boolean;
  readonly offerings: readonly ObservedOffering[];
}

function decide({ record, calls = {}, inherited = false, offerings }: Case): string {
  const annotations = record === undefined ? {} : { [Annotations.CapacityOffering]: record };
  const plan = planOffering(
    { machine: machine({ metadata: { annotations } }), calls, inherited } as never,
    offerings,
    NOON,
  );
  if (plan === undefined) return 'call';
  if ('waitsFor' in plan) {
    const until = plan.waitsFor.shortage?.retryAt ?? plan.waitsFor.until;
    return `wait ${((until?.getTime() ?? 0) - NOON.getTime()) / 60_000}`;
  }
  const [action] = plan.actions;
  return action?.do === 'annotate' ? `record ${action.annotations[Annotations.CapacityOffering] ?? 'nothing'}` : '';
}

test.each<[title: string, given: Case, does: string]>([
  ['a new machine records the first choice', { offerings: [first, second] }, 'record {}'],
  ['after the record, create is called', { record: '{}', offerings: [first, second] }, 'call'],
  ['the first choice is known to be empty: the next one', { offerings: [short(first), second] }, 'record {"zone":"b"}'],
  [
    'a recorded offering that became empty before the call is not used',
    { record: '{}', offerings: [short(first), second] },
    'record {"zone":"b"}',
  ],
  [
    'after a refusal the next one',
    { record: '{}', calls: failed('ResourceExhausted'), offerings: [short(first), second] },
    'record {"zone":"b"}',
  ],
  [
    'after its record the call follows',
    { record: '{"zone":"b"}', calls: failed('ResourceExhausted'), offerings: [short(first), second] },
    'call',
  ],
  [
    'after an unknown result the machine keeps its offering, even if that has no capacity',
    { record: '{}', calls: failed('Unavailable'), offerings: [short(first), second] },
    'wait 10',
  ],
  [
    'a machine with a record of an earlier process keeps its offering',
    { record: '{}', inherited: true, offerings: [short(first), second] },
    'wait 10',
  ],
  [
    'a machine that keeps its offering is the probe at the time of the retry',
    { record: '{}', inherited: true, offerings: [short(first, 0), second] },
    'call',
  ],
  [
    'a machine keeps a recorded offering that is no longer in the list',
    { record: '{"zone":"z"}', inherited: true, offerings: [short(first), second] },
    'call',
  ],
  [
    'a machine of an earlier process without a record may choose',
    { inherited: true, offerings: [short(first), second] },
    'record {"zone":"b"}',
  ],
  [
    'after a call from before the alternatives, the machine keeps the first choice',
    { calls: failed('Unavailable'), offerings: [short(first), second] },
    'record {}',
  ],
  [
    'all are empty: the record is removed, so a later process is free',
    { record: '{"zone":"b"}', calls: failed('ResourceExhausted'), offerings: [short(first), short(second)] },
    'record nothing',
  ],
  [
    'all are empty: wait for the earliest',
    { calls: failed('ResourceExhausted'), offerings: [short(first, 30), short(second, 20)] },
    'wait 20',
  ],
  ['the first choice is probed when its wait is over', { offerings: [short(first, 0), second] }, 'record {}'],
  [
    'the first choice is probed by only one machine',
    { offerings: [short(first, 0, false), second] },
    'record {"zone":"b"}',
  ],
  [
    'another machine makes the first call: wait for its result',
    { offerings: [{ ...first, awaitsFirstCall: minutes(1) }, second] },
    'wait 1',
  ],
  [
    'the wait for the first call has a limit',
    { offerings: [{ ...first, awaitsFirstCall: minutes(0) }, second] },
    'record {}',
  ],
])('%s', (_, given, does) => {
  expect(decide(given)).toBe(does);
});

test('the event names both offerings, and the first choice has none', () => {
  const plan = planOffering({ machine: machine(), calls: {}, inherited: false } as never, [short(first), second], NOON);
  expect(plan).toMatchObject({
    intends: '{"zone":"b"}',
    actions: [
      { do: 'annotate' },
      {
        event: {
          reason: 'AlternativeChosen',
          message: 'The cloud has no capacity for the first choice, so mcm creates the VM of machine-0 with zone b',
        },
      },
    ],
  });
  const preferred = planOffering({ machine: machine(), calls: {}, inherited: false } as never, [first, second], NOON);
  expect(preferred).toMatchObject({ intends: '{}' });
  expect(JSON.stringify(preferred)).not.toContain('event');
});
