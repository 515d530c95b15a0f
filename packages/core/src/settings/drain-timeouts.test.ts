import { Annotations, type Machine, type MachineClass } from '@mcm/api';
import { expect, test } from 'vitest';
import { machine } from '../machine/testing.ts';
import { causeRecord, drainTimeoutProblems } from './drain-timeouts.ts';
import { evictionPeriodMs, MACHINE_DEFAULTS, settingsOf } from './settings.ts';

const MINUTE = 60_000;
const KEY = Annotations.RepairDrainTimeout;
const deletionTimestamp = '2026-01-01T00:00:00Z';
const status: Machine['status'] = {
  currentStatus: { phase: 'Failed', lastUpdateTime: '2026-01-01T00:00:00Z', timeoutActive: false },
};
const annotated = (annotations: Record<string, string>): MachineClass =>
  ({ metadata: { name: 'small', annotations } }) as Partial<MachineClass> as MachineClass;

const drainMs = (m: Machine, machineClass?: MachineClass): number =>
  settingsOf(m, MACHINE_DEFAULTS, machineClass).drainTimeoutMs / MINUTE;

test('the drain timeout of a repair is in the machine, else in its class, else the drain timeout applies', () => {
  const spec = { drainTimeout: '1h' };
  const bare = machine({ spec, status, metadata: { deletionTimestamp } });
  const own = machine({ spec, status, metadata: { deletionTimestamp, annotations: { [KEY]: '5m' } } });
  expect(drainMs(bare)).toBe(60);
  expect(drainMs(bare, annotated({ [KEY]: '15m' }))).toBe(15);
  expect(drainMs(own, annotated({ [KEY]: '15m' }))).toBe(5);
});

test('a longer timeout than the drain timeout is possible, and a very long one has a limit', () => {
  const bare = machine({ status, metadata: { deletionTimestamp } });
  expect(drainMs(bare, annotated({ [KEY]: '5h' }))).toBe(300);
  expect(drainMs(bare, annotated({ [KEY]: '2000000h' }))).toBe(100 * 365 * 24 * 60);
});

test('a machine that was Failed when its deletion started stays a repair after its phase changed', () => {
  const annotations = { [Annotations.DeletedForHealth]: 'True' };
  expect(drainMs(machine({ metadata: { deletionTimestamp, annotations } }), annotated({ [KEY]: '15m' }))).toBe(15);
});

test.each([
  ['a healthy machine in deletion', machine({ metadata: { deletionTimestamp } })],
  ['a Failed machine without deletion', machine({ status })],
])('the timeout of a repair does not apply to %s', (_, m) => {
  expect(drainMs(m, annotated({ [KEY]: '1m' }))).toBe(120);
});

test.each(['soon', '', '-1m', '15'])('the invalid value "%s" has no effect and is reported with the fix', (text) => {
  const annotations = { [KEY]: text };
  const m = machine({ status, metadata: { deletionTimestamp, annotations } });
  expect(drainMs(m, annotated({ [KEY]: '1m' }))).toBe(120);
  expect(drainTimeoutProblems(annotations)).toEqual([
    `metadata.annotations[node.machine.sapcloud.io/repair-drain-timeout]: "${text}" is not a duration, so mcm uses the drain timeout; write a duration such as "15m"`,
  ]);
});

test('a valid or missing value is no problem', () => {
  expect(drainTimeoutProblems({ [KEY]: '0s' })).toEqual([]);
  expect(drainTimeoutProblems(undefined)).toEqual([]);
});

const CAUSES = [
  ['Rollout', Annotations.RolloutDrainTimeout],
  ['ScaleIn', Annotations.ScaleInDrainTimeout],
] as const;

const recorded = (text: string, more: Machine['metadata']['annotations'] = {}): Machine =>
  machine({ metadata: { deletionTimestamp, annotations: { [Annotations.DeletionCause]: text, ...more } } });

test.each(CAUSES)('the timeout of cause %s is in the machine, else in its class', (cause, key) => {
  const record = causeRecord(cause, new Date(deletionTimestamp));
  expect(drainMs(recorded(record), annotated({ [key]: '15m' }))).toBe(15);
  expect(drainMs(recorded(record, { [key]: '5m' }), annotated({ [key]: '15m' }))).toBe(5);
  expect(drainMs(recorded(record))).toBe(120);
  const others = Object.fromEntries(CAUSES.flatMap(([, other]) => (other === key ? [] : [[other, '1m']])));
  expect(drainMs(recorded(record), annotated({ ...others, [KEY]: '1m' }))).toBe(120);
});

test.each([
  ['an earlier deletion that did not happen', 'Rollout 2025-12-31T23:54:59Z'],
  ['a later time', 'Rollout 2026-01-01T00:01:01Z'],
  ['an unknown cause', 'Repair 2026-01-01T00:00:00Z'],
  ['a cause without a time', 'Rollout'],
])('the record of %s has no effect', (_, text) => {
  const all = annotated({ [Annotations.RolloutDrainTimeout]: '1m', [KEY]: '1m' });
  expect(drainMs(recorded(text), all)).toBe(120);
});

test('a machine that is not being deleted has no cause', () => {
  const annotations = { [Annotations.DeletionCause]: causeRecord('Rollout', new Date()) };
  expect(drainMs(machine({ metadata: { annotations } }), annotated({ [Annotations.RolloutDrainTimeout]: '1m' }))).toBe(
    120,
  );
});

test('the timeout of a repair takes precedence, and without it the timeout of the recorded cause applies', () => {
  const record = { [Annotations.DeletionCause]: causeRecord('ScaleIn', new Date(deletionTimestamp)) };
  const failed = machine({ status, metadata: { deletionTimestamp, annotations: record } });
  const ofClass = { [Annotations.ScaleInDrainTimeout]: '7m' };
  expect(drainMs(failed, annotated({ ...ofClass, [KEY]: '3m' }))).toBe(3);
  expect(drainMs(failed, annotated(ofClass))).toBe(7);
});

test.each<[what: string, timeout: string, spec: Partial<Machine['spec']>, flag: number, minutes: number]>([
  ['a longer timeout also extends the evictions', '6h', {}, 360, 360],
  ['a longer timeout takes precedence over a low flag', '6h', {}, 3, 360],
  ['the number of evictions of the machine still applies', '6h', { maxEvictRetries: 90 }, 360, 30],
  ['no evictions of the machine still means no evictions', '6h', { maxEvictRetries: 0 }, 360, 0],
  ['a shorter timeout does not extend the evictions of the flag', '1h', {}, 90, 30],
  ['a longer drain timeout of the machine does not extend the evictions', '6h', { drainTimeout: '6h' }, 360, 120],
])('drain timeout of a rollout: %s', (_, timeout, spec, maxEvictRetries, minutes) => {
  const record = causeRecord('Rollout', new Date(deletionTimestamp));
  const annotations = { [Annotations.DeletionCause]: record };
  const doomed = machine({ spec, metadata: { deletionTimestamp, annotations } });
  const ofClass = annotated({ [Annotations.RolloutDrainTimeout]: timeout });
  const settings = settingsOf(doomed, { ...MACHINE_DEFAULTS, maxEvictRetries }, ofClass);
  expect(evictionPeriodMs(settings) / MINUTE).toBe(minutes);
});
