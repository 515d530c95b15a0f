import { Annotations, type Machine, type MachineStatus } from '@mcm/api';
import { expect, test } from 'vitest';
import { at, type MachineParts, machine } from '../machine/testing.ts';
import { isTaken, isUsable, WarmTexts, warmSettingOf } from './warm-machine.ts';

/** If a MachineSet used another warm machine, two sets could own it, or its VM could have an old template. */

const STOPPED = {
  [Annotations.WarmState]: 'Stopped',
  [Annotations.WarmTemplate]: '6f576',
  [Annotations.WarmPower]: 'Stopped',
};
const RUNNING = { [Annotations.WarmState]: 'Running', [Annotations.WarmTemplate]: '6f576' };
const inPhase = (phase: 'Available' | 'Pending' | 'Running', description = ''): MachineStatus => ({
  currentStatus: { phase, lastUpdateTime: at(0) },
  lastOperation: { description, state: 'Processing', type: 'Create', lastUpdateTime: at(0) },
});
const AVAILABLE = inPhase('Available');
const TAKEN = inPhase('Pending', WarmTexts.taken);

const warm = (
  annotations: Readonly<Record<string, string>>,
  status: MachineStatus,
  metadata: MachineParts['metadata'] = {},
): Machine => machine({ metadata: { annotations: { ...annotations }, ...metadata }, status });

test.each<[what: string, one: Machine, isUsable: boolean]>([
  ['a stopped VM', warm(STOPPED, AVAILABLE), true],
  ['a stopped VM of another template', warm({ ...STOPPED, [Annotations.WarmTemplate]: 'old' }, AVAILABLE), false],
  ['a stopped VM whose machine is being deleted', warm(STOPPED, AVAILABLE, { deletionTimestamp: at(0) }), false],
  ['a VM that is being stopped', warm({ ...STOPPED, [Annotations.WarmPower]: `Stopping ${at(0)}` }, AVAILABLE), false],
  ['a stopped VM without the phase Available', warm(STOPPED, inPhase('Running')), false],
  ['a running VM', warm(RUNNING, inPhase('Running')), true],
  ['a running VM that has not joined', warm(RUNNING, inPhase('Pending')), false],
  [
    'a VM that must run but is stopped',
    warm({ ...RUNNING, [Annotations.WarmPower]: 'Stopped' }, inPhase('Running')),
    false,
  ],
  ['a machine that a set is taking', warm(STOPPED, TAKEN), true],
  [
    'a machine of another template that a set is taking',
    warm({ ...STOPPED, [Annotations.WarmTemplate]: 'old' }, TAKEN),
    false,
  ],
  ['a machine of a set', warm({}, inPhase('Running')), false],
])('a set can use a warm machine, or not: %s', (_what, one, usable) => {
  expect(isUsable(one, '6f576')).toBe(usable);
  expect(isUsable(one, undefined)).toBe(false);
});

test('only a warm machine with the phase and the text of the first write is being taken', () => {
  expect(isTaken(warm(STOPPED, TAKEN))).toBe(true);
  expect(isTaken(warm({}, TAKEN))).toBe(false);
  expect(isTaken(warm(STOPPED, inPhase('Pending')))).toBe(false);
  expect(isTaken(warm(STOPPED, inPhase('Available', WarmTexts.taken)))).toBe(false);
});

test('a deployment has at most 500 warm machines', () => {
  const of = (count: string) => warmSettingOf({ metadata: { annotations: { [Annotations.WarmMachines]: count } } });
  expect(of('500')).toEqual({ count: 500, state: 'Stopped' });
  for (const count of ['501', '1000', '-1', '', 'two']) expect(of(count)).toHaveProperty('problem');
});
