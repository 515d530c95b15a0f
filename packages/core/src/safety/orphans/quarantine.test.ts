import { Annotations, type MachineClass } from '@mcm/api';
import { createClient, type Node, type Transport, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { at, NOON } from '../../machine/testing.ts';
import {
  notedIn,
  noteQuarantine,
  type QuarantineView,
  quarantinedVms,
  quarantineReason,
  releasesMore,
  reportingClass,
} from './quarantine.ts';

/** A wrong decision about the quarantine would delete VMs that are in use. */

const vm = (id: string, createdAt?: string): ListedInstance => ({
  providerId: `aws:///eu-west-1/${id}`,
  machineName: id,
  ...(createdAt ? { createdAt } : {}),
});
const classOf = (annotations?: Record<string, string>): MachineClass => ({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineClass',
  metadata: {
    name: 'small',
    namespace: 'test',
    uid: 'uid-small',
    resourceVersion: '7',
    creationTimestamp: at(-60),
    ...(annotations ? { annotations } : {}),
  },
  providerSpec: {},
});
const released = classOf({ [Annotations.ReleaseVMs]: 'aws:///eu-west-1/i-9, aws:///eu-west-1/i-1' });
const quarantined = classOf({ [Annotations.QuarantinedVMs]: 'aws:///eu-west-1/i-1' });

const OLDER = 'the control cluster was restored to an older state';
const ALREADY = 'the VM was already in quarantine';
const many = (count: number): string => `${count} VMs with Nodes lost their Machine objects at the same time`;

test.each<[what: string, createdAt: string | undefined, view: Partial<QuarantineView>, reason: string | undefined]>([
  ['a single VM', at(-9), {}, undefined],
  ['a single VM of a single machine', at(-9), { listed: 1, lost: 1 }, undefined],
  ['two VMs of many', at(-9), { listed: 20, lost: 2 }, undefined],
  ['two VMs of fewer', at(-9), { listed: 19, lost: 2 }, many(2)],
  ['many VMs that an operator has released', at(-9), { machineClass: released, listed: 3, lost: 3 }, undefined],
  ['a VM from before a restore', at(-9), { wentBackAt: NOON }, OLDER],
  ['a VM of the second of a restore', at(0), { wentBackAt: NOON }, OLDER],
  ['a VM of unknown age after a restore', undefined, { wentBackAt: NOON }, OLDER],
  ['a VM from after a restore', at(1), { wentBackAt: NOON }, undefined],
  [
    'a VM from before a restore that an operator has released',
    at(-9),
    { machineClass: released, wentBackAt: NOON },
    undefined,
  ],
  [
    'many VMs that an operator has released on another class',
    at(-9),
    { releasedElsewhere: ['aws:///eu-west-1/i-1'], listed: 3, lost: 3 },
    undefined,
  ],
  ['a VM that an earlier process kept', at(-9), { machineClass: quarantined }, ALREADY],
  ['a VM in quarantine on another class', at(-9), { quarantinedElsewhere: ['aws:///eu-west-1/i-1'] }, ALREADY],
  [
    'a VM in quarantine on another class that an operator has released',
    at(-9),
    { machineClass: released, quarantinedElsewhere: ['aws:///eu-west-1/i-1'] },
    undefined,
  ],
])('%s without a machine is kept for an operator, or not', (_what, createdAt, change, reason) => {
  const view = { machineClass: classOf(), listed: 20, lost: 1, wentBackAt: undefined, ...change };
  expect(quarantineReason(vm('i-1', createdAt), view)).toBe(reason);
});

test('only VMs of the listing that the class names are noted', () => {
  expect(notedIn(quarantined, [vm('i-1'), vm('i-2')])).toEqual(['aws:///eu-west-1/i-1']);
  expect([notedIn(classOf(), [vm('i-1')]), quarantinedVms(classOf()), quarantinedVms(quarantined)]).toEqual([
    [],
    [],
    ['aws:///eu-west-1/i-1'],
  ]);
});

async function noted(machineClass: MachineClass, ids: readonly string[], listed: readonly ListedInstance[]) {
  const bodies: unknown[] = [];
  const transport: Transport = async ({ body, headers }) => {
    expect(new Headers(headers).get('content-type')).toBe('application/merge-patch+json');
    bodies.push(JSON.parse(String(body)));
    return Response.json(machineClass);
  };
  const client = createClient({ transport, userAgent: 'test', clock: new VirtualClock() });
  const written = await noteQuarantine(client, machineClass, ids, listed);
  expect(written !== undefined).toBe(bodies.length > 0);
  return bodies;
}
const preconditions = { uid: 'uid-small', resourceVersion: '7' };
const [one, two] = ['aws:///eu-west-1/i-1', 'aws:///eu-west-1/i-2'] as const;

test.each<[what: string, machineClass: MachineClass, ids: string[], listed: ListedInstance[], annotations?: object]>([
  ['nothing to note', classOf(), [], []],
  ['the same VM', quarantined, [one], [vm('i-1')]],
  ['two VMs, sorted', classOf(), [two, one], [vm('i-1'), vm('i-2')], { [Annotations.QuarantinedVMs]: `${one},${two}` }],
  ['no VM any more', quarantined, [], [vm('i-1')], { [Annotations.QuarantinedVMs]: null }],
  ['a released VM that was deleted', released, [], [vm('i-1')], { [Annotations.ReleaseVMs]: one }],
  ['all released VMs were deleted', released, [], [], { [Annotations.ReleaseVMs]: null }],
])(
  'the class gets only what changed, for the version that was read: %s',
  async (_what, machineClass, ids, listed, annotations) => {
    const expected = annotations ? [{ metadata: { ...preconditions, annotations } }] : [];
    expect(await noted(machineClass, ids, listed)).toEqual(expected);
  },
);

test('a VM in quarantine on another class can be released on this class', async () => {
  const transport: Transport = async () => Promise.reject(new Error('no write is expected'));
  const client = createClient({ transport, userAgent: 'test', clock: new VirtualClock() });
  expect(await noteQuarantine(client, released, [], [vm('i-1')], ['aws:///eu-west-1/i-9'])).toBeUndefined();
});

test('without the class of the Node, the first class by name reports', () => {
  const named = (name: string): MachineClass => ({ ...classOf(), metadata: { ...classOf().metadata, name } });
  const node = (key: string): Node => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { ...classOf().metadata, annotations: { [Annotations.MachineClassOfNode]: key } },
    spec: {},
  });
  const classes = [named('c'), named('a'), named('b')];
  expect(reportingClass(classes, undefined)?.metadata.name).toBe('a');
  expect(reportingClass(classes, node('test/gone'))?.metadata.name).toBe('a');
  expect(reportingClass(classes, node('test/b'))?.metadata.name).toBe('b');
});

test('a release by an operator starts a search', () => {
  expect(releasesMore(classOf(), released)).toBe(true);
  expect(releasesMore(released, released)).toBe(false);
});
