import { Labels } from '@mcm/api';
import { expect, test } from 'vitest';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { hc, machine, node } from '../../machine/testing.ts';
import { type ListedVm, useOf } from './served.ts';

const vm: ListedInstance = { providerId: 'aws:///eu-west-1/i-1', machineName: 'm' };
const own: ListedInstance = { providerId: 'aws:///eu-west-1/i-2', machineName: 'm' };
const labelled = { [Labels.MachineName]: 'm' };
const ready = { conditions: hc('True') };

const serving = (change: Parameters<typeof node>[0] = {}) =>
  node({ name: 'ip-1.internal', spec: { providerID: 'aws:///eu-west-1a/i-1' }, ...ready, ...change });
const owner = (change: Parameters<typeof machine>[0] = {}) =>
  machine({ name: 'm', spec: { providerID: own.providerId }, ...change });

test.each<[what: string, change: Partial<ListedVm>, use: string]>([
  ['no Node', {}, 'unseen'],
  ['a Ready Node without a known machine', { nodes: [serving()] }, 'unclaimed'],
  ['a Node whose kubelet does not report', { nodes: [serving({ conditions: hc('Unknown') })] }, 'none'],
  ['the Node of another VM', { nodes: [serving({ spec: { providerID: 'aws:///eu-west-1a/i-9' } })] }, 'unseen'],
  [
    'a Node whose label contains the machine',
    { nodes: [serving({ metadata: { labels: labelled } })], machine: owner() },
    'claimed',
  ],
  [
    'a Node that is in the label of the machine',
    { nodes: [serving()], machine: owner({ metadata: { labels: { [Labels.Node]: 'ip-1.internal' } } }) },
    'claimed',
  ],
  [
    'a Node whose label contains a deleted machine',
    { nodes: [serving({ metadata: { labels: labelled } })] },
    'unclaimed',
  ],
  [
    'a Node without an id, under the name of the machine',
    { nodes: [serving({ spec: {}, metadata: { labels: labelled } })], machine: owner() },
    'claimed',
  ],
  [
    'the same, and the recorded VM is listed: the Node runs on that VM',
    { nodes: [serving({ spec: {}, metadata: { labels: labelled } })], machine: owner(), listed: [vm, own] },
    'unseen',
  ],
  [
    'a Node with the ID of another VM, under the name of the machine',
    {
      nodes: [serving({ spec: { providerID: 'aws:///eu-west-1a/i-9' }, metadata: { labels: labelled } })],
      machine: owner(),
    },
    'unseen',
  ],
  ['a Node without an id that has the name of the VM', { nodes: [node({ name: 'm', ...ready })] }, 'unclaimed'],
  [
    'a Node with an id of another scheme',
    { nodes: [node({ name: 'm', spec: { providerID: 'k3s://m' }, ...ready })] },
    'unclaimed',
  ],
  [
    'a Node without an ID and with another name, which is in the label of the machine',
    {
      nodes: [node({ name: 'n', ...ready })],
      machine: owner({ metadata: { labels: { [Labels.Node]: 'n' } } }),
    },
    'claimed',
  ],
  [
    'a Node without an ID that has the name of the VM, although the label of the machine has another one',
    {
      nodes: [node({ name: 'm', ...ready })],
      machine: owner({ metadata: { labels: { [Labels.Node]: 'n' } } }),
    },
    'unclaimed',
  ],
  ['a Node without an ID and with another name', { nodes: [node({ name: 'n', ...ready })] }, 'unseen'],
])('%s', (_what, change, use) => {
  const found = useOf({ vm, machine: undefined, listed: [vm], nodes: [], ...change });
  expect(found).toEqual(use === 'claimed' || use === 'unclaimed' ? { use, node: change.nodes?.[0] } : { use });
});
