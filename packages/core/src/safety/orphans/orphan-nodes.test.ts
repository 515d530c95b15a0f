import { Annotations, Labels } from '@mcm/api';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import type { Journal } from '../../journal/journal.ts';
import { at, condition, hc, machine, NOON, node } from '../../machine/testing.ts';
import type { Listing } from './listings.ts';
import { claims, decideOrphanNode, keepsOrphanNode, type NodeEvidence } from './orphan-nodes.ts';

const minute = 60_000;
const CLASS = 'test/small';

const orphan = (change: Parameters<typeof node>[0] = {}) =>
  node({
    metadata: {
      creationTimestamp: at(-60),
      labels: { [Labels.MachineName]: 'machine-0' },
      annotations: { [Annotations.MachineClassOfNode]: CLASS },
    },
    spec: { providerID: 'aws:///eu-west-1/i-1' },
    conditions: hc('Unknown'),
    ...change,
  });

const listed = (minutes: number, ...vms: Listing['vms']): Listing => ({ startedAt: new Date(at(minutes)), vms });

const evidence = (change: Partial<NodeEvidence> = {}): NodeEvidence => ({
  namespace: 'test',
  minAgeMs: 20 * minute,
  firstSeen: new Date(at(-10)),
  confirmAfterMs: 5 * minute,
  listings: new Map([[CLASS, listed(-1)]]),
  ...change,
});

test('a Node without a reporting kubelet and without a machine, whose VM no cloud lists, is an orphan', () => {
  expect(keepsOrphanNode(orphan(), NOON, evidence())).toBeUndefined();
});

test.each<[what: string, node: ReturnType<typeof node>, change: Partial<NodeEvidence>]>([
  ['it is just old enough', orphan(), { minAgeMs: 60 * minute }],
  ['it has been in this state for just long enough', orphan(), { confirmAfterMs: 10 * minute }],
  ['another condition is True', orphan({ conditions: [...hc('Unknown'), condition('MemoryPressure', 'True')] }), {}],
  [
    'other instances are listed',
    orphan(),
    { listings: new Map([[CLASS, listed(-1, { providerId: 'aws:///eu-west-1/i-2', machineName: 'machine-1' })]]) },
  ],
])('a Node is an orphan: %s', (_what, n, change) => {
  expect(keepsOrphanNode(n, NOON, evidence(change))).toBeUndefined();
});

test.each<[guard: string, node: ReturnType<typeof node>, change: Partial<NodeEvidence>, because: RegExp]>([
  ['of another controller: no label', orphan({ metadata: { creationTimestamp: at(-60) } }), {}, /does not belong/],
  ['of another controller: a class, and no label', orphan({ metadata: { creationTimestamp: at(-60), annotations: { [Annotations.MachineClassOfNode]: CLASS } } }), {}, /does not belong/], // biome-ignore format: a row
  ['of another controller: another namespace', orphan(), { namespace: 'other' }, /does not belong/],
  ['Ready', orphan({ conditions: hc('True') }), {}, /is Ready/],
  ['no provider ID', orphan({ spec: {} }), {}, /spec\.providerID/],
  ['young', orphan(), { minAgeMs: 61 * minute }, /younger than the minimum age/],
  ['seen for the first time', orphan(), { firstSeen: undefined }, /minimum time/],
  ['seen a moment ago', orphan(), { firstSeen: new Date(at(-4)) }, /minimum time/],
  [
    'its class is deleted',
    orphan(),
    { listings: new Map([['test/other', listed(-1)]]) },
    /test\/small of the Node no longer exists/,
  ],
  ['a class was never listed', orphan(), { listings: new Map([[CLASS, listed(-1)], ['test/b', undefined]]) }, /listed the VMs of MachineClass test\/b since/], // biome-ignore format: a row
  [
    'a class was only listed before',
    orphan(),
    { listings: new Map([[CLASS, listed(-11)]]) },
    /listed the VMs of MachineClass test\/small since/,
  ],
  ['a class was listed just as it was first seen', orphan(), { listings: new Map([[CLASS, listed(-10)]]) }, /listed the VMs of MachineClass test\/small since/], // biome-ignore format: a row
  [
    'its instance is listed',
    orphan(),
    { listings: new Map([[CLASS, listed(-1, { providerId: 'aws:///eu-west-1a/i-1', machineName: 'renamed' })]]) },
    /still in the list of/,
  ],
  [
    'an instance of its machine is listed',
    orphan(),
    { listings: new Map([[CLASS, listed(-1, { providerId: 'aws:///eu-west-1/i-2', machineName: 'machine-0' })]]) },
    /still in the list of/,
  ],
])('a Node is kept: %s', (_guard, n, change, because) => {
  expect(keepsOrphanNode(n, NOON, evidence(change))?.because).toMatch(because);
});

test.each<[what: string, parts: Parameters<typeof machine>[0], claimed: boolean]>([
  ['its name', { name: 'machine-0' }, true],
  ['the label', { name: 'm', metadata: { labels: { [Labels.Node]: 'fakeNode-0' } } }, true],
  ['the same VM in another format', { name: 'm', spec: { providerID: 'aws:///eu-west-1a/i-1' } }, true],
  ['another VM', { name: 'm', spec: { providerID: 'aws:///eu-west-1/i-2' } }, false],
  ['another VM, by the first letter', { name: 'm', spec: { providerID: 'aws:///eu-west-1/j-1' } }, false],
  ['nothing', { name: 'm' }, false],
])('a machine claims a Node by %s', (_what, parts, claimed) => {
  expect(claims(machine(parts), orphan())).toBe(claimed);
});

test.each<[what: string, change: Partial<NodeEvidence>, kept: object | undefined, because: string, actions: string[]]>([
  [
    'an orphan',
    {},
    undefined,
    'no machine and no VM belongs to the Node',
    ['checking the Node again before its deletion'],
  ],
  [
    'a Node that is kept',
    { firstSeen: undefined },
    { because: 'the minimum time since the deletion of the Machine has not passed', passing: true },
    'the minimum time since the deletion of the Machine has not passed',
    [],
  ],
])(
  'the journal gets the decision and only the VMs that may be its own: %s',
  (_what, change, kept, because, actions) => {
    const own = { providerId: 'aws:///eu-west-1/i-9', machineName: 'machine-0' };
    const same = { providerId: 'aws:///eu-west-1a/i-1', machineName: 'renamed' };
    const other = { providerId: 'aws:///eu-west-1/i-2', machineName: 'machine-1' };
    const records: object[] = [];
    const journal = partial<Journal>({ record: (entry: object) => ({ ended: () => records.push(entry) }) });
    const given = evidence({ listings: new Map([[CLASS, listed(-1, other)]]), ...change });
    expect(decideOrphanNode(journal, orphan(), NOON, given)).toEqual(kept);
    expect(decideOrphanNode(undefined, orphan(), NOON, given)).toEqual(kept);
    const input = { ...given, node: orphan(), listings: new Map([[CLASS, listed(-1)]]) };
    const subject = { kind: 'Node', name: 'fakeNode-0', uid: 'uid-fakeNode-0' };
    const decision = { orphan: kept === undefined, kept };
    expect(records).toEqual([
      { kind: 'orphannode', subject: expect.objectContaining(subject), at: NOON, input, decision, because, actions },
    ]);
    const several = new Map([
      [CLASS, listed(-1, own, other, same)],
      ['test/b', undefined],
    ]);
    decideOrphanNode(journal, orphan(), NOON, evidence({ ...change, listings: several }));
    expect(records.at(-1)).toMatchObject({
      input: {
        listings: new Map([
          [CLASS, listed(-1, own, same)],
          ['test/b', undefined],
        ]),
      },
      decision: { orphan: false },
    });
  },
);

test('a Node that is kept only for a time needs no event', () => {
  const kept = (n: ReturnType<typeof node>, change: Partial<NodeEvidence>) =>
    keepsOrphanNode(n, NOON, evidence(change))?.passing ?? false;
  expect(kept(orphan(), { firstSeen: undefined })).toBe(true);
  expect(kept(orphan(), { minAgeMs: 61 * minute })).toBe(true);
  expect(kept(orphan(), { listings: new Map([[CLASS, listed(-11)]]) })).toBe(true);
  expect(kept(orphan(), { listings: new Map() })).toBe(false);
  expect(kept(orphan({ spec: {} }), {})).toBe(false);
});
