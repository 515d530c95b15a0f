import { KubeError, type Pod, type PodDisruptionBudget } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { at, machine, NOON, node } from '../machine/testing.ts';
import { MACHINE_DEFAULTS, settingsOf } from '../settings/settings.ts';
import { type DrainMemory, NO_DRAIN_MEMORY } from './model/observation.ts';
import { observeDrain } from './observe.ts';
import { fixedCaches, pod } from './testing.ts';

const forbidden = (resource: string): KubeError =>
  new KubeError(`${resource} is forbidden: User "u" cannot list resource "${resource}" in API group ""`, { code: 403 });
const absent = new KubeError('the server could not find the requested resource', { code: 404 });

const metadata = { name: 'a', namespace: 'default', uid: 'uid-a', resourceVersion: '1', creationTimestamp: at(0) };
const onNode = partial<Pod>({ metadata, spec: { nodeName: 'fakeNode-0', containers: [] } });
const every = partial<PodDisruptionBudget>({ metadata, spec: { selector: {} }, status: { disruptionsAllowed: 0 } });

interface Environment {
  readonly refused?: Readonly<Record<string, KubeError>>;
  readonly status?: NonNullable<Parameters<typeof node>[0]>['status'];
  readonly memory?: DrainMemory;
  readonly pods?: readonly Pod[];
  readonly synced?: boolean;
}

function observed(environment: Environment = {}) {
  const { refused = {}, status = {}, memory = NO_DRAIN_MEMORY, pods = [onNode], synced = true } = environment;
  const kind = (resource: string, found: readonly object[] = []) => ({
    resource,
    refused: refused[resource],
    synced,
    store: { byIndex: () => found, get: () => undefined },
  });
  const caches = fixedCaches({
    pods: kind('pods', pods),
    budgets: kind('poddisruptionbudgets', [every]),
    claims: kind('persistentvolumeclaims'),
    volumes: kind('persistentvolumes'),
    attachments: kind('volumeattachments'),
    nodes: kind('nodes'),
  });
  const own = machine({ metadata: { deletionTimestamp: at(0) } });
  return observeDrain({
    machine: own,
    settings: settingsOf(own, MACHINE_DEFAULTS),
    node: node({ status }),
    caches,
    memory,
    volumeIdOf: () => undefined,
    volumeWindow: 1,
    now: NOON,
  });
}

const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }];
const withClaim = partial<Pod>({ metadata, spec: { nodeName: 'fakeNode-0', containers: [], volumes } });
const attached = { volumesAttached: [{ name: 'v', devicePath: '' }] };
const inUse = { volumesInUse: ['v'] };
const moves = new Map([['uid-b', { pod: pod('b'), volumes: ['pv-b'], returns: true }]]);
const no = 'this process does not have the permission to list volumeattachments';

test.each<[string, Environment, object | undefined]>([
  ['pods, before their list is complete', { synced: false }, { pods: 'the list of pods is not complete' }],
  ['all is seen', { status: attached }, undefined],
  [
    'pods',
    { refused: { pods: forbidden('pods') } },
    { pods: 'this process does not have the permission to list pods' },
  ],
  [
    'attachments, of a node without volumes',
    { refused: { volumeattachments: forbidden('volumeattachments') } },
    undefined,
  ],
  [
    'of one that has volumes',
    { refused: { volumeattachments: forbidden('volumeattachments') }, status: attached },
    { volumes: no },
  ],
  [
    'of one that uses some',
    { refused: { volumeattachments: forbidden('volumeattachments') }, status: inUse },
    { volumes: no },
  ],
  [
    'of one whose volumes are being moved',
    { refused: { volumeattachments: forbidden('volumeattachments') }, memory: { ...NO_DRAIN_MEMORY, moves } },
    { volumes: no },
  ],
  [
    'of one with a pod that has a claim',
    { refused: { volumeattachments: forbidden('volumeattachments') }, pods: [onNode, withClaim] },
    { volumes: no },
  ],
  [
    'attachments, if the server does not have the kind',
    { refused: { volumeattachments: absent }, status: attached },
    undefined,
  ],
])('unreadable objects are reported only if there may be some: %s', (_title, environment, unseen) => {
  expect(observed(environment).unseen).toEqual(unseen);
});

test('in a cluster without VolumeAttachments, no volume is tracked', () => {
  expect(observed().tracksVolumes).toBe(true);
  expect(observed({ refused: { volumeattachments: absent } }).tracksVolumes).toBe(false);
});

test('stale budgets are ignored, because the API server decides', () => {
  expect(observed().pods.map(({ budgets }) => budgets.length)).toEqual([1]);
  const refused = { poddisruptionbudgets: forbidden('poddisruptionbudgets') };
  expect(observed({ refused }).pods.map(({ budgets }) => budgets.length)).toEqual([0]);
});
