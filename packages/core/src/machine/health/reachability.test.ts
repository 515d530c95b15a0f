import { createMemoryLogger, VirtualClock } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import {
  isFrozen,
  probeIntervalMs,
  REACHABILITY_DEFAULTS,
  ReachabilityCheck,
  stepReachability,
} from './reachability.ts';

const NOW = 1_000_000;
const ago = (ms: number): number => NOW - ms;
const never = undefined;
const { timeoutMs } = REACHABILITY_DEFAULTS;

// "Up" means that both servers are reachable.
test.each<
  [row: string, up: boolean, downSince: number | undefined, wasFrozen: boolean, frozen: boolean, thaw: boolean]
>([
  ['S-F1 Z-01 up', true, never, false, false, false],
  ['S-F1 Z-01 up, failed a moment ago', true, ago(20_000), false, false, false],
  ['S-F1 Z-01 up after a freeze', true, ago(300_000), true, false, true],
  ['S-F1 Z-01 up, after the freeze was due and before a check said so', true, ago(30_001), false, false, true],
  ['S-F2 down for the first time', false, never, false, false, false],
  ['S-F3 down for 5 s', false, ago(5_000), false, false, false],
  ['S-F4 Z-03 down for 5 min', false, ago(300_000), false, true, false],
  ['S-F4 Z-03 down for just the timeout', false, ago(30_000), false, true, false],
  ['S-F4 Z-04 still down', false, ago(300_000), true, true, false],
])('%s', (_row, up, downSince, wasFrozen, frozen, thaw) => {
  const state = { frozen: wasFrozen, ...(downSince ? { downSince } : {}) };
  const step = stepReachability(state, up ? undefined : NOW, NOW, REACHABILITY_DEFAULTS);
  expect(step.state.frozen).toBe(frozen);
  expect(step.thaw).toBe(thaw);
});

test('one successful check resets the time [O-22, Z-06, BUG-10]', () => {
  const down = stepReachability({ frozen: false }, ago(300_000), ago(300_000), REACHABILITY_DEFAULTS);
  const up = stepReachability(down.state, undefined, ago(280_000), REACHABILITY_DEFAULTS);
  expect(stepReachability(up.state, NOW, NOW, REACHABILITY_DEFAULTS).state.frozen).toBe(false);
});

test('an unreachable server is probed every 6 s until the freeze', () => {
  expect(stepReachability({ frozen: false }, NOW, NOW, REACHABILITY_DEFAULTS).nextCheckMs).toBe(6_000);
});

describe('the time from the first failed probe', () => {
  test('a probe that failed late counts from its start', () => {
    const { state } = stepReachability({ frozen: false }, ago(10_000), NOW, REACHABILITY_DEFAULTS);
    expect(state.downSince).toBe(ago(10_000));
  });

  test('the last check before the freeze comes when the freeze is due', () => {
    const step = stepReachability({ frozen: false, downSince: ago(26_000) }, NOW, NOW, REACHABILITY_DEFAULTS);
    expect(step.nextCheckMs).toBe(4_000);
  });

  test('machines are frozen on time while a probe is still under way', () => {
    const state = { frozen: false, downSince: ago(timeoutMs + 1) };
    expect(isFrozen(state, NOW, timeoutMs)).toBe(true);
    expect(isFrozen(state, NOW - 1, timeoutMs)).toBe(false);
  });

  test('probes run every fifth of the timeout, but at most once a second', () => {
    expect(probeIntervalMs({ timeoutMs: 60_000 })).toBe(12_000);
    expect(probeIntervalMs({ timeoutMs: 1 })).toBe(1_000);
  });
});

test('a probe without a response ends after its time limit, and counts as failed', async () => {
  const clock = new VirtualClock();
  const machines = { doubted: false, onDoubt: () => undefined, behindForMs: () => 0, store: { list: () => [] } };
  const silent = {
    get: (_name: string, { signal }: { readonly signal?: AbortSignal }) =>
      new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
  };
  const check = new ReachabilityCheck({
    caches: { machines },
    probes: { control: { resource: () => silent }, target: undefined },
    clock,
    log: createMemoryLogger(),
    timings: REACHABILITY_DEFAULTS,
    namespace: 'ns',
    wake: () => undefined,
    check: () => undefined,
  } as never);
  const ended = check.reconcile().then(() => 'ended');
  await clock.advance(10_000);
  expect(await Promise.race([ended, clock.settle().then(() => 'waits')])).toBe('ended');
  await clock.advance(timeoutMs);
  expect(check.frozen()).toBe(true);
});
