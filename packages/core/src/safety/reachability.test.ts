import { expect, test } from 'vitest';
import { NOON } from '../machine/testing.ts';
import { REACHABILITY_DEFAULTS, stepReachability } from './reachability.ts';

const ago = (ms: number): Date => new Date(NOON.getTime() - ms);
const never = undefined;

// "Up" means both servers: rows S-F2 to S-F4 differ only in which one is down.
test.each<[row: string, up: boolean, downSince: Date | undefined, wasFrozen: boolean, frozen: boolean, thaw: boolean]>([
  ['S-F1 Z-01 up', true, never, false, false, false],
  ['S-F1 Z-01 up, failed a while ago', true, ago(300_000), false, false, false],
  ['S-F1 Z-01 up after a freeze', true, ago(300_000), true, false, true],
  ['S-F2 down for the first time', false, never, false, false, false],
  ['S-F3 down for 5 s', false, ago(5_000), false, false, false],
  ['S-F4 Z-03 down for 5 min', false, ago(300_000), false, true, false],
  ['S-F4 Z-04 still down', false, ago(300_000), true, true, false],
])('%s', (_row, up, downSince, wasFrozen, frozen, thaw) => {
  const state = { frozen: wasFrozen, ...(downSince ? { downSince } : {}) };
  const step = stepReachability(state, up, NOON, REACHABILITY_DEFAULTS);
  expect(step.state.frozen).toBe(frozen);
  expect(step.thaw).toBe(thaw);
});

test('O-22 Z-06 BUG-10 one reached check starts the time anew', () => {
  const down = stepReachability({ frozen: false }, false, ago(300_000), REACHABILITY_DEFAULTS);
  const up = stepReachability(down.state, true, ago(200_000), REACHABILITY_DEFAULTS);
  expect(stepReachability(up.state, false, NOON, REACHABILITY_DEFAULTS).state.frozen).toBe(false);
});

test('a server that is down is asked every 6 s until it is frozen', () => {
  expect(stepReachability({ frozen: false }, false, NOON, REACHABILITY_DEFAULTS).nextCheckMs).toBe(6_000);
});
