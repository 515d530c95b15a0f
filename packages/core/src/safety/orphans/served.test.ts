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
  ['a Ready Node of which nobody knows a machine', { nodes: [serving()] }, 'unclaimed'],
  ['a Node that is silent', { nodes: [serving({ conditions: hc('Unknown') })] }, 'none'],
  ['the Node of another VM', { nodes: [serving({ spec: { providerID: 'aws:///eu-west-1a/i-9' } })] }, 'unseen'],
  [
    'a Node that names the machine',
    { nodes: [serving({ metadata: { labels: labelled } })], machine: owner() },
    'claimed',
  ],
  [
    'a Node that the machine names',
    { nodes: [serving()], machine: owner({ metadata: { labels: { [Labels.Node]: 'ip-1.internal' } } }) },
    'claimed',
  ],
  ['a Node that names a machine that is gone', { nodes: [serving({ metadata: { labels: labelled } })] }, 'unclaimed'],
  [
    'a Node without an id, under the name of the machine',
    { nodes: [serving({ spec: {}, metadata: { labels: labelled } })], machine: owner() },
    'claimed',
  ],
  [
    'the same, and the VM on record is listed: the Node runs on that',
    { nodes: [serving({ spec: {}, metadata: { labels: labelled } })], machine: owner(), listed: [vm, own] },
    'unseen',
  ],
  ['a Node without an id that has the name of the VM', { nodes: [node({ name: 'm', ...ready })] }, 'unclaimed'],
  [
    'a Node with an id of another scheme',
    { nodes: [node({ name: 'm', spec: { providerID: 'k3s://m' }, ...ready })] },
    'unclaimed',
  ],
  [
    'a Node without an id and under another name, that the machine names',
    {
      nodes: [node({ name: 'n', ...ready })],
      machine: owner({ metadata: { labels: { [Labels.Node]: 'n' } } }),
    },
    'claimed',
  ],
  [
    'a Node without an id that has the name of the VM, though the machine names another',
    {
      nodes: [node({ name: 'm', ...ready })],
      machine: owner({ metadata: { labels: { [Labels.Node]: 'n' } } }),
    },
    'unclaimed',
  ],
  ['a Node without an id and under another name', { nodes: [node({ name: 'n', ...ready })] }, 'unseen'],
])('%s', (_what, change, use) => {
  // biome-ignore format: rows
  expect(useOf({ vm, machine: undefined, listed: [vm], nodes: [], ...change }).use).toBe(use);
});
