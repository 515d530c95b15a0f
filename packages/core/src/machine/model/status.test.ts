import type { MachineStatus } from '@mcm/api';
import { DELETION_STEPS, STEP_TEXTS } from '@mcm/api';
import { expect, test } from 'vitest';
import { at } from '../testing.ts';
import { hasReached, isSimilarStatus, similarity, stepOf } from './status.ts';

const status = (description: string, minutes = 0, change: MachineStatus['lastOperation'] = {}): MachineStatus => ({
  lastOperation: { description, state: 'Failed', type: 'Create', lastUpdateTime: at(minutes), ...change },
  currentStatus: { phase: 'CrashLoopBackOff', lastUpdateTime: at(minutes) },
});

const refused = (id: string) =>
  `Cloud provider message - machine codes error: code = [Internal] message = [AuthFailure: AWS was not able to validate the provided access credentials status code: 401, request id: ${id}]`;

test.each<[row: string, previous: MachineStatus, next: MachineStatus, similar: boolean]>([
  ['S-S1 identical, both now', status('a'), status('a'), true],
  ['S-S2 identical, one 1 h old', status('a', -60), status('a'), false],
  ['S-S3 identical, one 1 min old', status('a', -1), status('a'), true],
  ['S-S4 another request id', status(refused('d3bf-1')), status(refused('77aa-9')), true],
  ['another step is never similar', status(STEP_TEXTS.drain), status(STEP_TEXTS.deleteVm), false],
  [
    'another code is never similar',
    status('a', 0, { errorCode: 'Internal' }),
    status('a', 0, { errorCode: 'Unknown' }),
    false,
  ],
  [
    'another last known state is written',
    { ...status('a'), lastKnownState: 'x' },
    { ...status('a'), lastKnownState: 'y' },
    false,
  ],
])('%s', (_row, previous, next, similar) => {
  expect(isSimilarStatus(previous, next)).toBe(similar);
});

test('ratio(kitten, sitting) is 0.538 [S-S7]', () => {
  expect(similarity('kitten', 'sitting')).toBeCloseTo(0.538, 3);
});

test.each(DELETION_STEPS)('%s is found at the end of a description, after any text of the provider', (step) => {
  const text = `VM deletion failed due to - Initiate node drain, says the cloud. ${STEP_TEXTS[step]}`;
  expect(stepOf(text)).toBe(step);
  const terminating: MachineStatus = {
    currentStatus: { phase: 'Terminating' },
    lastOperation: { description: text },
  };
  expect(hasReached(terminating, step)).toBe(true);
  expect(hasReached({ ...terminating, currentStatus: { phase: 'Running' } }, step)).toBe(false);
});

test('a description without a step starts the deletion again', () => {
  expect(stepOf('Deleting machine from cloud provider')).toBeUndefined();
});
