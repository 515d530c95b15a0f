import type { KubeObject } from '@mcm/kube';
import { expect, test } from 'vitest';
import { Names } from '../recordings/names.ts';
import { compareEvents } from './event-counts.ts';

/** Tests that the rules excuse only the events that the table describes. */

const event = (kind: string, reason: string, type = 'Warning'): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      name: `${kind}.${reason}`,
      uid: reason,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    involvedObject: { kind, name: 'pool' },
    type,
    reason,
    message: reason,
  }) as KubeObject;

const side = (...events: readonly KubeObject[]) => ({ events, names: new Names([]) });

const problemsOf = (ours: readonly KubeObject[], theirs: readonly KubeObject[], openEnd = false): readonly string[] =>
  compareEvents(side(...ours), side(...theirs), { openEnd }).problems;

test.each<[what: string, ours: KubeObject[], theirs: KubeObject[], isExcused: boolean]>([
  ['a failure of a machine', [event('Machine', 'CreationFailed')], [], true],
  ['an unknown reason of a machine', [event('Machine', 'Surprise')], [], false],
  ['a fault of the driver', [event('Machine', 'DriverFault')], [], false],
  ['a hook, which no history of the original has', [event('Machine', 'HooksBegun', 'Normal')], [], false],
  ['the reason of a machine at another kind', [event('MachineSet', 'CreationFailed')], [], false],
  ['a mark without a deletion', [event('MachineDeployment', 'ScaleInPending', 'Normal')], [], true],
  ['a mark without a deletion at another kind', [event('MachineSet', 'ScaleInPending', 'Normal')], [], false],
  ['an event of the original that mcm lacks', [], [event('Machine', 'CreationFailed')], false],
  ['the same event with another type', [event('MachineSet', 'A')], [event('MachineSet', 'A', 'Normal')], false],
])('%s', (_what, ours, theirs, isExcused) => {
  expect(problemsOf(ours, theirs).length === 0).toBe(isExcused);
});

test('an open end excuses more events of mcm, but no new and no missing event', () => {
  const [one] = [event('MachineSet', 'SuccessfulDelete', 'Normal')];
  expect(problemsOf([one, one], [one], true)).toEqual([]);
  expect(problemsOf([one], [], true)).toHaveLength(1);
  expect(problemsOf([one], [one, one], true)).toHaveLength(1);
});
