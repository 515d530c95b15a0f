import type { Machine } from '@mcm/api';
import { expect, test } from 'vitest';
import { drainBudget } from '../drain/model/budgets.ts';
import { MachineError } from '../driver/contract/errors.ts';
import { MACHINE_DEFAULTS, settingsOf } from '../settings/settings.ts';
import { after } from '../values/timestamps.ts';
import { CREATE_RETRY, DELETE_RETRY, INITIALIZE_RETRY, LOOKUP_RETRY, retryAfter } from './model/retry.ts';
import { at, machine, NOON } from './testing.ts';

const MINUTE = 60_000;

test('the spec of a machine overrides the flag, for each setting', () => {
  const spec: Partial<Machine['spec']> = {
    creationTimeout: '1m',
    healthTimeout: '2m',
    drainTimeout: '3m',
    inPlaceUpdateTimeout: '4m',
    machinePreserveTimeout: '5m',
    maxEvictRetries: 6,
    nodeConditions: 'A,B',
    disableHealthTimeout: true,
  };
  expect(settingsOf(machine({ spec }), MACHINE_DEFAULTS)).toMatchObject({
    creationTimeoutMs: MINUTE,
    healthTimeoutMs: 2 * MINUTE,
    drainTimeoutMs: 3 * MINUTE,
    inPlaceUpdateTimeoutMs: 4 * MINUTE,
    preserveTimeoutMs: 5 * MINUTE,
    maxEvictRetries: 6,
    unhealthyConditionTypes: ['A', 'B'],
    healthTimeoutDisabled: true,
  });
  expect(settingsOf(machine(), MACHINE_DEFAULTS)).toEqual({ ...MACHINE_DEFAULTS, healthTimeoutDisabled: false });
});

test('the defaults are those of the original', () => {
  expect(MACHINE_DEFAULTS).toMatchObject({
    creationTimeoutMs: 20 * MINUTE,
    healthTimeoutMs: 10 * MINUTE,
    drainTimeoutMs: 120 * MINUTE,
    inPlaceUpdateTimeoutMs: 20 * MINUTE,
    preserveTimeoutMs: 96 * 60 * MINUTE,
    maxEvictRetries: 360,
    volumeDetachTimeoutMs: 2 * MINUTE,
    volumeReattachTimeoutMs: 90_000,
    resourceExhaustedRetryMs: 10 * MINUTE,
    unresponsiveNodeMs: 5 * MINUTE,
    readOnlyNodeMs: 5 * MINUTE,
    unhealthyConditionTypes: ['KernelDeadlock', 'ReadonlyFilesystem', 'DiskPressure', 'NetworkUnavailable'],
  });
});

const TRANSIENT = ['Unknown', 'DeadlineExceeded', 'Aborted', 'Unavailable'] as const;

test('transient codes are retried from 5 s to one minute, others after 3 min, a deletion after 10 min', () => {
  const first = (table: typeof CREATE_RETRY, code: (typeof TRANSIENT)[number] | 'Internal' | 'ResourceExhausted') =>
    retryAfter(table[code], new MachineError(code, ''), 1);
  for (const code of TRANSIENT) {
    for (const table of [CREATE_RETRY, INITIALIZE_RETRY, LOOKUP_RETRY, DELETE_RETRY]) {
      expect(first(table, code)).toBe(5_000);
      expect(retryAfter(table[code], new MachineError(code, ''), 2)).toBe(10_000);
      expect(retryAfter(table[code], new MachineError(code, ''), 50)).toBe(60_000);
    }
  }
  expect(first(CREATE_RETRY, 'Internal')).toBe(3 * MINUTE);
  expect(first(LOOKUP_RETRY, 'Internal')).toBe(3 * MINUTE);
  expect(first(CREATE_RETRY, 'ResourceExhausted')).toBe(10 * MINUTE);
  expect(first(DELETE_RETRY, 'Internal')).toBe(10 * MINUTE);
  expect(first(INITIALIZE_RETRY, 'Internal')).toBe(5_000);
});

test('a longer wait that the cloud requests applies', () => {
  const error = new MachineError('Unavailable', '', { retryAfterMs: 90_000 });
  expect(retryAfter(CREATE_RETRY.Unavailable, error, 1)).toBe(90_000);
  expect(retryAfter(CREATE_RETRY.Internal, error, 1)).toBe(3 * MINUTE);
});

test('an instant after a stored time is exact; without one it is 1970', () => {
  expect(after(at(0), 1_500)).toEqual(new Date(NOON.getTime() + 1_500));
  expect(after(undefined, 1_000).getTime()).toBeLessThan(NOON.getTime());
});

test('a budget allows evicting pods that are not ready if its policy says so, or if it has enough healthy ones', () => {
  const budget = (unhealthyPodEvictionPolicy: string | undefined, currentHealthy: number) =>
    drainBudget({
      metadata: { name: 'b', namespace: 'n', resourceVersion: '1', generation: 1 },
      spec: unhealthyPodEvictionPolicy === undefined ? {} : { unhealthyPodEvictionPolicy },
      status: { observedGeneration: 1, currentHealthy, desiredHealthy: 2, expectedPods: 3, disruptionsAllowed: 0 },
    } as never).sparesUnready;
  expect(budget('AlwaysAllow', 1)).toBe(true);
  expect(budget('IfHealthyBudget', 1)).toBe(false);
  expect(budget(undefined, 1)).toBe(false);
  expect(budget(undefined, 2)).toBe(true);
});
