import { expect, test } from 'vitest';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { type AttachPlan, decide, type NodeView, type Wanted } from './decide.ts';

const NOW = 1_000_000;
const SIX_MINUTES = 360_000;

const node = (ready: string, facts: object = {}): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n' },
  status: { conditions: [{ type: 'Ready', status: ready }], volumesInUse: ['v'], ...facts },
});
const known = (facts: object = {}, unwantedSince?: number) => ({
  attachment: {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: 'a' },
    status: { attached: true },
    ...facts,
  },
  id: 'v',
  unwantedSince,
});
const use = (holders: readonly string[] = [], accessModes = ['ReadWriteOnce']): Wanted => ({
  name: 'a',
  driver: 'd',
  handle: 'h',
  volume: { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'pv' }, spec: { accessModes } },
  pods: [],
  holders,
});
const outOfService = { ...node('False'), spec: { taints: [{ key: 'node.kubernetes.io/out-of-service' }] } };
const dying = { name: 'a', deletionTimestamp: '2024-01-01T00:00:00Z' };

test.each<[string, Partial<NodeView>, Partial<AttachPlan>]>([
  ['a wanted volume is attached', { wanted: [use()] }, { create: [use()] }],
  ['a volume for one node waits for the other node', { wanted: [use(['m'])] }, { refuse: [use(['m'])] }],
  [
    'a shared volume does not wait',
    { wanted: [use(['m'], ['ReadWriteMany'])] },
    { create: [use(['m'], ['ReadWriteMany'])] },
  ],
  ['nothing is attached to a node that is gone', { wanted: [use()], node: undefined }, {}],
  [
    'a new attachment becomes attached',
    { wanted: [use()], attachments: [known({ status: {} })] },
    { attached: [{ name: 'a', use: use() }] },
  ],
  [
    'an attachment in deletion is not created again',
    { wanted: [use()], attachments: [known({ metadata: dying })] },
    {},
  ],
  [
    'an unwanted volume is detached after its unmount',
    { attachments: [known()], node: node('True', { volumesInUse: [] }) },
    { detach: ['a'] },
  ],
  ['a healthy node keeps a mounted volume', { attachments: [known({}, 0)] }, { waiting: new Map([['a', 0]]) }],
  [
    'an unhealthy node keeps a mounted volume for six minutes',
    { attachments: [known()], node: node('Unknown') },
    { waiting: new Map([['a', NOW]]), lookAgainAt: NOW + SIX_MINUTES },
  ],
  [
    'after six minutes it is detached by force',
    { attachments: [known({}, NOW - SIX_MINUTES)], node: node('Unknown') },
    { detach: ['a'] },
  ],
  [
    'a node that is gone keeps every volume for six minutes',
    { attachments: [known({}, NOW - 1)], node: undefined },
    { waiting: new Map([['a', NOW - 1]]), lookAgainAt: NOW - 1 + SIX_MINUTES },
  ],
  [
    'a node out of service loses a mounted volume at once',
    { attachments: [known()], node: outOfService },
    { detach: ['a'] },
  ],
])('%s', (_title, facts, expected) => {
  const plan = decide({ name: 'n', node: node('True'), attachments: [], wanted: [], now: NOW, ...facts });
  const nothing = { attached: [], detach: [], waiting: new Map(), lookAgainAt: undefined, create: [], refuse: [] };
  expect(plan).toEqual({ ...nothing, ...expected });
});
