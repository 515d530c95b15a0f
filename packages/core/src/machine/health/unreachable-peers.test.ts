import type { Machine } from '@mcm/api';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { MachineError } from '../../driver/contract/errors.ts';
import type { CallMemory, FailedCall } from '../model/observation.ts';
import { confirm } from './unreachable-peers.ts';

const MINUTE = 60_000;
const now = new Date('2026-01-01T00:11:00Z');
const peers = { scope: 'cluster', unreachable: 2, joined: 2 };
const machine = partial<Machine>({
  metadata: { name: 'm', annotations: {} },
  spec: {},
  status: { currentStatus: { phase: 'Unknown', lastUpdateTime: '2026-01-01T00:00:00Z' } },
});

const failed: FailedCall = {
  kind: 'status',
  at: now,
  outcome: { ok: false, error: new MachineError('DeadlineExceeded', 'the call ignores its signal') },
  failures: 1,
  inputs: '',
};

const decide = (calls: CallMemory, more: Partial<Parameters<typeof confirm>[0]> = {}, at = now) =>
  confirm({ machine, settings: { healthTimeoutMs: 10 * MINUTE }, calls, canLookUp: true, ...more }, at);

test('without a lookup in the driver an unreachable machine is replaced, also with unreachable peers', () => {
  expect(decide({}, { canLookUp: false })).toEqual({ replace: true });
  expect(decide({}, { canLookUp: false, peers })).toEqual({ replace: true });
});

test('an answer from before the health timeout does not count', () => {
  const before = { ...failed, at: new Date('2026-01-01T00:09:00Z') };
  expect(decide({ last: before })).toEqual({ ask: true });
});

test('a lookup that never ends blocks no machine forever', () => {
  const running = { kind: 'status', since: now } as const;
  expect(decide({ running }, { peers })).toEqual({ waitUntil: undefined });
  const overdue = { running: { ...running, overdue: failed } };
  const answer = 'The cloud did not return the state of the VM of the machine: DeadlineExceeded.';
  expect(decide(overdue)).toEqual({ replace: true, answer });
  const giveUpAt = new Date('2026-01-01T00:20:00Z');
  expect(decide(overdue, { peers })).toEqual({ waitUntil: giveUpAt });
  expect(decide(overdue, { peers }, giveUpAt)).toEqual({ replace: true, answer });
});
