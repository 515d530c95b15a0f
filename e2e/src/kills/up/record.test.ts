import type { Pod } from '@mcm/kube';
import { expect, test } from 'vitest';
import { type CloudInstance, FleetRecord } from './record.ts';

const AT = Date.UTC(2026, 0, 1);
const at = (seconds: number): string => new Date(AT + seconds * 1_000).toISOString();
const vm = (more: Partial<CloudInstance> = {}): CloudInstance => ({
  id: 'i-1',
  name: 'node-1',
  clientToken: 'uid-1',
  state: 'running',
  ...more,
});
const ended = vm({ state: 'terminated', terminatedAt: at(60) });
const machine = (isGoing: boolean) => ({ uid: 'uid-1', name: 'node-1', isGoing });
const pod = (metadata: object = {}): Pod =>
  ({ metadata: { name: 'web', uid: 'pod-1', ...metadata }, spec: { nodeName: 'node-1' }, status: {} }) as Pod;

type Seen = (record: FleetRecord) => void;
const seenOn: Seen = (record) => record.pod(pod(), AT);

/** Returns the violations that the verifier reports after the end of a VM whose Machine was deleted. */
function recorded(...seen: readonly Seen[]): readonly string[] {
  const record = new FleetRecord();
  record.machine(machine(true));
  for (const each of seen) each(record);
  record.verify([ended], AT + 120_000);
  return record.violations;
}

test('a VM that is deleted with a pod on it is a violation, unless the pod was evicted before', () => {
  const undrained = ['mcm deleted VM i-1 of node-1 with running pods web'];
  expect(recorded(seenOn)).toEqual(undrained);
  const late = pod({ deletionTimestamp: at(95), deletionGracePeriodSeconds: 30 });
  expect(recorded(seenOn, (record) => record.pod(late, AT + 66_000))).toEqual(undrained);
  expect(recorded(seenOn, (record) => record.podGone(pod(), AT + 90_000))).toEqual(undrained);
  const drained = pod({ deletionTimestamp: at(65), deletionGracePeriodSeconds: 30 });
  expect(recorded(seenOn, (record) => record.pod(drained, AT + 66_000))).toEqual([]);
  expect(recorded(seenOn, (record) => record.podGone(pod(), AT + 50_000))).toEqual([]);
  expect(recorded((record) => record.pod(pod(), AT + 59_000))).toEqual([]);
});

test('a VM that ends although its Machine stays, two VMs of a Machine, and a VM without a Machine are violations', () => {
  expect(recorded((record) => record.machine(machine(false)))).toEqual([
    'mcm deleted VM i-1 of node-1 without a deletion of its Machine',
  ]);
  expect(
    recorded(
      (record) => record.machine(machine(false)),
      (record) => record.machineGone('uid-1'),
    ),
  ).toEqual([]);
  const record = new FleetRecord();
  for (let look = 0; look < 2; look += 1) record.verify([vm(), vm({ id: 'i-2' })], AT);
  expect(record.violations).toEqual(['Machine node-1 has two VMs: i-1 and i-2']);
  record.verifyRest([vm({ clientToken: 'uid-2' })], [machine(false)]);
  expect(record.violations.slice(1)).toEqual(['Machine node-1 has lost its VM', 'VM i-1 of node-1 has no Machine']);
});

test('an end is verified once, and only when the record is complete up to it', () => {
  const record = new FleetRecord();
  record.machine(machine(false));
  record.verify([ended], AT + 59_000);
  expect([record.verified, record.violations]).toEqual([0, []]);
  for (let look = 0; look < 2; look += 1) record.verify([ended], AT + 61_000);
  expect([record.verified, record.violations.length]).toEqual([1, 1]);
});
