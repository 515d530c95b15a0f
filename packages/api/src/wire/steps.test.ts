import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { DELETION_STEPS, type DeletionStep, parseStep, printStep, STEP_TEXTS, saysOutOfRange } from './steps.ts';

test.each<[description: string, step: DeletionStep | undefined]>([
  ['Set machine status to termination. Now, getting VM Status', 'getVmStatus'],
  ['Drain successful. Initiate VM deletion', 'deleteVm'],
  ['Initiate node drain', 'drain'],
  ['Skipping drain as nodeName is not a valid one for machine. Initiate VM deletion', 'deleteVm'],
  ['Delete Volume Attachments', 'deleteVolumeAttachments'],
  ['VM deletion was successful. Initiate node object deletion', 'deleteNode'],
  ['Deletion of Node Object "n" is successful. Initiate machine object finalizer removal', 'removeFinalizer'],
  [
    'VM deletion failed due to - machine codes error: code = [Internal] message = [no]. Aborting operation. Initiate VM deletion',
    'deleteVm',
  ],
  ['Deleting machine from cloud provider', undefined],
  ['', undefined],
])('the text of the original is parsed: %s', (description, step) => {
  expect(parseStep(description)).toBe(step);
});

test('of two steps in a text, the one that the original searches for first is returned', () => {
  expect(parseStep(`${STEP_TEXTS.deleteVm} ${STEP_TEXTS.drain}`)).toBe('drain');
});

const notes = fc
  .array(fc.oneof(fc.string(), fc.constantFrom(...Object.values(STEP_TEXTS))), { maxLength: 4 })
  .map((parts) => parts.join(' '));

test.each(DELETION_STEPS)('%s is parsed again, with any note', (step) => {
  expect(printStep(step)).toBe(STEP_TEXTS[step]);
  expect(printStep(step, 'Drain was slow.')).toBe(`Drain was slow. ${STEP_TEXTS[step]}`);
  fc.assert(
    fc.property(notes, (note) => {
      expect(parseStep(printStep(step, note))).toBe(step);
    }),
  );
});

test('an absent description has no step', () => {
  expect(parseStep(undefined)).toBeUndefined();
});

test('OutOfRange is found in a description', () => {
  expect(saysOutOfRange('machine codes error: code = [OutOfRange] message = [two VMs]')).toBe(true);
  expect(saysOutOfRange('machine codes error: code = [NotFound] message = [none]')).toBe(false);
  expect(saysOutOfRange(undefined)).toBe(false);
});
