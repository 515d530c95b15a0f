import type { Machine } from '@mcm/api';
import { expect, test } from 'vitest';
import { machine } from '../machine/testing.ts';
import { EVICTION_INTERVAL_MS, evictionPeriodMs, MACHINE_DEFAULTS, settingsOf } from './settings.ts';

const minute = 60_000;
const key = 'node.machine.sapcloud.io/effective-creation-timeout';

test.each<[row: string, change: { annotation?: string; spec?: Partial<Machine['spec']> }, ms: number]>([
  ['S-X2 absent: the flag', {}, 20 * minute],
  ['S-X2 15m30s', { annotation: '15m30s', spec: { creationTimeout: '1h' } }, 15 * minute + 30_000],
  [
    'S-X2 an invalid duration: the spec applies',
    { annotation: 'definitely-not-a-duration', spec: { creationTimeout: '1h' } },
    60 * minute,
  ],
  ['a negative duration counts as absent', { annotation: '-5m' }, 20 * minute],
  ['a duration that is too long is a hundred years', { annotation: '2000000h' }, 100 * 365 * 24 * 60 * minute],
  ['a duration above the limit of timers is used as it is', { annotation: '1000h' }, 60_000 * minute],
])('creation timeout: %s', (_row, { annotation, spec }, ms) => {
  const m = machine({ spec: spec ?? {}, metadata: annotation ? { annotations: { [key]: annotation } } : {} });
  expect(settingsOf(m, MACHINE_DEFAULTS).creationTimeoutMs).toBe(ms);
});

test.each([
  ['5m', 15],
  ['50s', 2],
  ['10s', 0],
])('a drain timeout of %s allows %d evictions of a pod with 360 retries [S-D32]', (drainTimeout, tries) => {
  const settings = settingsOf(machine({ spec: { drainTimeout } }), MACHINE_DEFAULTS);
  expect(evictionPeriodMs(settings)).toBe(tries * EVICTION_INTERVAL_MS);
});
