import { expect, test } from 'vitest';
import { isForceDeletion, isFrozen } from './labels.ts';
import {
  deletionRank,
  isActivePhase,
  isAvailablePhase,
  isReadyPhase,
  type MachinePhase,
  PHASE_METRIC_VALUES,
} from './machine-phases.ts';

test.each<
  [phase: MachinePhase | undefined, rank: number, metric: number, active: boolean, available: boolean, ready: boolean]
>([
  [undefined, 0, 0, true, false, false],
  ['Pending', 4, 0, true, false, false],
  ['Available', 5, 0, true, true, false],
  ['Running', 6, 1, true, true, true],
  ['Unknown', 3, -1, true, false, false],
  ['Failed', 1, -3, false, false, false],
  ['CrashLoopBackOff', 2, -2, true, false, false],
  ['Terminating', 0, -4, false, false, false],
  ['InPlaceUpdating', 0, 0, true, false, false],
  ['InPlaceUpdateSuccessful', 0, 0, true, false, false],
  ['InPlaceUpdateFailed', 0, 0, true, false, false],
])('%s', (phase, rank, metric, active, available, ready) => {
  expect(deletionRank(phase)).toBe(rank);
  expect(phase === undefined ? 0 : (PHASE_METRIC_VALUES[phase] ?? 0)).toBe(metric);
  expect(isActivePhase(phase)).toBe(active);
  expect(isAvailablePhase(phase)).toBe(available);
  expect(isReadyPhase(phase)).toBe(ready);
});

const labelled = (labels: Record<string, string>) => ({ metadata: { labels } });

test('force-deletion accepts the texts that Go parses as true', () => {
  const forced = ['1', 't', 'T', 'TRUE', 'true', 'True', 'yes', 'tRUE', '', '0', 'False'].filter((value) =>
    isForceDeletion(labelled({ 'force-deletion': value })),
  );
  expect(forced).toEqual(['1', 't', 'T', 'TRUE', 'true', 'True']);
  expect(isForceDeletion({ metadata: {} })).toBe(false);
});

test('freeze has an effect only with the value True', () => {
  expect(isFrozen(labelled({ freeze: 'True' }))).toBe(true);
  expect(isFrozen(labelled({ freeze: 'true' }))).toBe(false);
  expect(isFrozen({ metadata: {} })).toBe(false);
});
