import { Annotations } from '@mcm/api';
import { expect, test } from 'vitest';
import { MachineError } from '../../driver/contract/errors.ts';
import type { CallMemory, MachineObservation } from '../model/observation.ts';
import { act } from '../model/plan.ts';
import { see } from '../test-dying.ts';
import { machine, NOON } from '../testing.ts';
import { isCreation, lastCallWasNotSent, planNote, wasNeverCreated, withoutNote } from './never-created.ts';

const NOTE = { annotations: { [Annotations.NoCreateCall]: 'true' } };
const failed = (unsent: boolean): CallMemory => ({
  last: {
    kind: 'create',
    at: NOON,
    outcome: { ok: false, error: new MachineError('InvalidArgument', 'spec.region is missing', { unsent }) },
    failures: 1,
    inputs: 'i',
  },
});
const succeeded: CallMemory = {
  last: { kind: 'create', at: NOON, outcome: { ok: true }, failures: 0, inputs: 'i' },
};
const born = (parts: Parameters<typeof machine>[0] = {}, change: Partial<MachineObservation> = {}) =>
  see(machine(parts), change);

test.each<[what: string, observation: MachineObservation, neverCreated: boolean]>([
  ['was created while this process is the leader', born({}, { inherited: false }), true],
  ['came before', born({}, { inherited: true }), false],
  ['was created at an unknown time', born(), false],
  ['has the note', born({ metadata: NOTE }, { inherited: true }), true],
  ['has the note and a recorded VM', born({ metadata: NOTE, spec: { providerID: 'fakeID-0' } }), false],
  ['has the note, and a call was sent', born({ metadata: NOTE }, { calls: { createSent: true } }), false],
  [
    'has the note, and a call is in progress',
    born({ metadata: NOTE }, { calls: { running: { kind: 'create', since: NOON } } }),
    false,
  ],
  [
    'has the note, and another call is in progress',
    born({ metadata: NOTE }, { calls: { running: { kind: 'delete', since: NOON } } }),
    true,
  ],
])('for a machine that %s, it is known whether a create call was sent', (_what, observation, neverCreated) => {
  expect(wasNeverCreated(observation)).toBe(neverCreated);
});

test.each<[what: string, calls: CallMemory, unsent: boolean]>([
  ['no call', {}, false],
  ['a call that succeeded', succeeded, false],
  ['a call that the cloud refused', failed(false), false],
  ['a call that was not sent', failed(true), true],
])(
  '%s: it is known whether the class or Secrets were refused before a request to the cloud',
  (_what, calls, unsent) => {
    expect(lastCallWasNotSent(born({}, { calls }))).toBe(unsent);
  },
);

test('the note is written once, after a refusal, for a machine without a VM', () => {
  const note = act('the driver sent no create call for the machine', {
    do: 'annotate',
    annotations: { [Annotations.NoCreateCall]: 'true' },
  });
  expect(planNote(born({}, { calls: failed(true), inherited: false }))).toEqual(note);
  const error = new MachineError('PermissionDenied', 'no');
  const refused: CallMemory = {
    last: { kind: 'create', at: NOON, outcome: { ok: false, error }, failures: 1, inputs: 'i' },
  };
  expect(planNote(born({}, { calls: refused, inherited: false }))).toEqual(note);
  expect(planNote(born({}, { calls: failed(false), inherited: false }))).toBeUndefined();
  expect(planNote(born({}, { calls: failed(true), inherited: true }))).toBeUndefined();
  expect(planNote(born({ metadata: NOTE }, { calls: failed(true), inherited: false }))).toBeUndefined();
});

test('the note is removed before the first call that may create a VM, and only then', () => {
  const create = act('it has no VM yet', { do: 'call', call: 'create' });
  const remove = act('it goes', { do: 'call', call: 'delete' });
  const label = act('the Node points back', { do: 'labelNode', nodeName: 'fakeNode-0' });
  expect([create, remove, label].map(isCreation)).toEqual([true, false, false]);
  const both = act('the Node points back', ...label.actions, ...create.actions);
  expect(isCreation(both)).toBe(true);
  const noted = born({ metadata: NOTE });
  expect(withoutNote(noted, create).actions).toEqual([
    { do: 'annotate', annotations: { [Annotations.NoCreateCall]: null } },
  ]);
  expect(withoutNote(noted, remove)).toBe(remove);
  expect(withoutNote(born(), create)).toBe(create);
});
