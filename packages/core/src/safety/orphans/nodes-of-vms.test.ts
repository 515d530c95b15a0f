import { Labels } from '@mcm/api';
import { createClient, type Node, type Transport, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { hc, machine, node } from '../../machine/testing.ts';
import { instanceKey } from '../../node/instance.ts';
import { NodesOfVms } from './nodes-of-vms.ts';

const vm = { providerId: 'aws:///eu-west-1/i-1', machineName: 'm' };
const ready = { conditions: hc('True') };
const byId = node({ name: 'x', spec: { providerID: 'aws:///eu-west-1a/i-1' }, ...ready });
const byName = node({ name: 'm', ...ready });
const byLabel = node({ name: 'x', metadata: { labels: { [Labels.MachineName]: 'm' } }, ...ready });
const ofMachine = node({ name: 'x', ...ready });
const owner = machine({ name: 'm', metadata: { labels: { [Labels.Node]: 'x' } } });
const others = [
  node({ name: 'y', ...ready }),
  node({ name: 'z', spec: { providerID: 'aws:///eu-west-1/i-9' }, ...ready }),
];

function search(cached: readonly Node[], pages: readonly (readonly Node[])[] = []) {
  const asked: string[] = [];
  const transport: Transport = ({ path }) => {
    const { searchParams } = new URL(path, 'http://server');
    asked.push(searchParams.get('continue') ?? 'first');
    const index = asked.length - 1;
    const next = index + 1 < pages.length ? { continue: `p${index + 1}` } : {};
    return Promise.resolve(
      Response.json({ kind: 'NodeList', metadata: { resourceVersion: '1', ...next }, items: pages[index] ?? [] }),
    );
  };
  const target = createClient({ transport, userAgent: 'test', clock: new VirtualClock() });
  const store = {
    get: (name: string) => cached.find(({ metadata }) => metadata.name === name),
    byIndex: (index: string, key: string) =>
      cached.filter(({ metadata, spec }) =>
        index === 'instance'
          ? instanceKey(spec.providerID ?? '') === key
          : metadata.labels?.[Labels.MachineName] === key,
      ),
  };
  const nodes = new NodesOfVms({ caches: { target: { nodes: { store } } }, target } as never);
  return { asked, nodes };
}

const FINDS: [what: string, found: Node, machineOf: typeof owner | undefined, use: string][] = [
  ['its provider ID', byId, undefined, 'unclaimed'],
  ['its name', byName, undefined, 'unclaimed'],
  ['the machine in its label', byLabel, undefined, 'unclaimed'],
  ['the label of the machine', ofMachine, owner, 'claimed'],
];

test.each(FINDS)('a Node in the cache is found by %s, without a request', async (_what, found, machineOf, use) => {
  const { asked, nodes } = search([...others, found]);
  expect(await nodes.useOf({ vm, machine: machineOf, listed: [vm] })).toEqual({ use, node: found });
  expect(asked).toEqual([]);
});

test.each(FINDS)('a Node that the cache lacks is found by %s on any page', async (_what, found, machineOf, use) => {
  const { asked, nodes } = search(others, [others, [found]]);
  expect(await nodes.useOf({ vm, machine: machineOf, listed: [vm] })).toEqual({ use, node: found });
  expect(asked).toEqual(['first', 'p1']);
});

test('the Nodes are listed once for all VMs of a search', async () => {
  const { asked, nodes } = search([], [others]);
  for (let i = 0; i < 3; i += 1)
    expect(await nodes.useOf({ vm, machine: undefined, listed: [vm] })).toEqual({ use: 'unseen' });
  expect(asked).toEqual(['first']);
});
