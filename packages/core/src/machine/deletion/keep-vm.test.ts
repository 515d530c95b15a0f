import type { MachineClass } from '@mcm/api';
import { expect, test } from 'vitest';
import { look, pod } from '../../drain/testing.ts';
import { mirrored } from '../../settings/conditions.ts';
import type { MachineObservation } from '../model/observation.ts';
import { cordoned, dying, see, T4, terminating } from '../test-dying.ts';
import { at, hc, NOON, node } from '../testing.ts';
import { isVmKept, planKeeping, RECORD_BOUND_MS } from './keep-vm.ts';

/** mcm keeps a VM only if none of its pods can run on two nodes at the same time. */

const small = { metadata: { name: 'small' } } as MachineClass;
const MAY_BE_KEPT: Partial<MachineObservation> = {
  machineClass: small,
  keepsVms: true,
  deletedForHealth: true,
  drain: look([]),
};
const failed = (change: Partial<MachineObservation> = {}, metadata: Parameters<typeof dying>[1] = {}) =>
  see(dying(terminating(T4), metadata), { ...MAY_BE_KEPT, ...change });
const { machineClass: _class, ...withoutClass } = failed();
const { node: _node, ...withoutNode } = failed();
const { drain: _drain, ...withoutDrain } = failed();
const joined = dying({ ...terminating(T4), conditions: mirrored(hc('True')) });
const { providerID: _id, ...withoutVm } = withoutNode.machine.spec;

test.each<[what: string, observation: MachineObservation, kept: boolean]>([
  ['an empty, Ready Node', failed(), true],
  ['only a DaemonSet pod is left', failed({ drain: look([pod('a', { ownerKind: 'DaemonSet' })]) }), true],
  ['it never joined', withoutNode, true],
  ['without the setting', failed({ keepsVms: false }), false],
  ['it was healthy', failed({ deletedForHealth: false }), false],
  ['without a target cluster', { ...withoutNode, hasTarget: false }, false],
  ['force-deletion', failed({}, { labels: { node: 'fakeNode-0', 'force-deletion': 'true' } }), false],
  ['no VM is recorded', { ...withoutNode, machine: { ...withoutNode.machine, spec: withoutVm } }, false],
  ['without a class', withoutClass, false],
  [
    'its class is being deleted',
    failed({ machineClass: { ...small, metadata: { ...small.metadata, deletionTimestamp: at(0) } } }),
    false,
  ],
  ['Nodes cannot be read', { ...withoutNode, nodesUnseen: 'stale' }, false],
  ['it joined, and its Node was deleted', { ...withoutNode, machine: joined }, false],
  ['its pods are unknown', withoutDrain, false],
  ['its volumes are unknown', failed({ drain: look([], { unseen: { volumes: 'no' } }) }), false],
  ['its kubelet does not report', failed({ node: node({ conditions: hc('Unknown') }) }), false],
  ['its drain was forced', failed({ drain: look([], { forced: true }) }), false],
  ['the Node is being deleted', failed({ node: cordoned({ deletionTimestamp: at(0) }) }), false],
  [
    'its Node reports an attached volume',
    failed({ node: node({ status: { volumesAttached: [{ name: 'csi^1', devicePath: '' }] } }) }),
    false,
  ],
  ['its Node reports a volume in use', failed({ node: node({ status: { volumesInUse: ['csi^1'] } }) }), false],
  ['a volume is attached', failed({ drain: look([], { attachments: [{ volume: 'pv', deleting: false }] }) }), false],
  ['a pod is left', failed({ drain: look([pod('a', { ownerKind: 'DaemonSet' }), pod('b')]) }), false],
])('a VM may be kept, or not: %s', (_what, observation, kept) => {
  expect(planKeeping(observation, NOON)?.actions).toEqual(kept ? [{ do: 'keepVm' }] : undefined);
});

test('the VM is deleted if its record is not created in time, or the limit is reached', () => {
  const until = new Date(NOON.getTime() + RECORD_BOUND_MS);
  const being = failed({ keeping: { since: NOON, settled: false } });
  expect(planKeeping(being, new Date(until.getTime() - 1))).toMatchObject({
    actions: [],
    next: { kind: 'waitUntil', instant: until },
  });
  expect(planKeeping(being, until)).toBeUndefined();
  expect(planKeeping(failed({ keeping: { since: NOON, settled: true } }), NOON)).toBeUndefined();
});

test('a recorded VM is named in the status and in an event, and the deletion continues with the Node', () => {
  const kept = {
    machine: 'machine-0',
    uid: 'uid-machine-0',
    providerID: 'fakeID-0',
    until: new Date('2026-01-02T00:00:00Z'),
    configMap: 'kept-vm-1',
  };
  const [action] = planKeeping(failed({ keeping: { since: NOON, settled: true, kept } }), NOON)?.actions ?? [];
  const description =
    'VM fakeID-0 is kept for an investigation until 2026-01-02T00:00:00.000Z (ConfigMap kept-vm-1). Initiate node object deletion';
  expect(action).toMatchObject({
    do: 'writeStatus',
    status: { lastOperation: { description, state: 'Processing', type: 'Delete' } },
    event: { type: 'Normal', reason: 'VMKept', message: description },
  });
  expect(isVmKept(dying(terminating(description)))).toBe(true);
  expect(isVmKept(dying({}))).toBe(false);
});
