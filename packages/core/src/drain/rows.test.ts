import type { Node, Pod } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { at, machine, NOON, node } from '../machine/testing.ts';
import { MACHINE_DEFAULTS, settingsOf } from '../settings/settings.ts';
import { forcedKey, planDrain } from './drain.ts';
import { type Attempt, type DrainPod, NO_DRAIN_MEMORY } from './model/observation.ts';
import { observeDrain } from './observe.ts';
import { playDrain } from './play.ts';
import { budget, fixedCaches, later, look, withVolume } from './testing.ts';

const SECOND = 1_000;
const PACE = { graceMs: 0, detachMs: 5 * SECOND, attachMs: SECOND };

test('two pods with a volume each are evicted one after the other [S-DR4]', () => {
  const { order, tookMs } = playDrain([withVolume('a'), withVolume('b')], PACE);
  expect(order).toEqual(['a', 'b']);
  expect(tookMs).toBeGreaterThanOrEqual(10 * SECOND);
});

function observed(claims: Readonly<Record<string, readonly string[]>>): readonly DrainPod[] {
  const pods = Object.entries(claims).map(
    ([name, volumes]): Pod => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace: 'foo',
        uid: `uid-${name}`,
        resourceVersion: '1',
        creationTimestamp: at(0),
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 's', uid: 's', controller: true }],
      },
      spec: {
        nodeName: 'fakeNode-0',
        containers: [],
        volumes: volumes.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
      },
      status: { phase: 'Running' },
    }),
  );
  const none = { store: { byIndex: () => [], get: () => undefined } };
  const caches = fixedCaches({
    pods: { store: { byIndex: () => pods } },
    claims: { store: { get: (key: string) => ({ spec: { volumeName: key.replace('foo/', 'pv-') } }) } },
    volumes: { store: { get: (name: string) => ({ spec: { csi: { volumeHandle: name } } }) } },
    attachments: none,
    budgets: none,
    nodes: none,
  });
  const m = machine({ metadata: { deletionTimestamp: at(0) } });
  const attached = Object.values(claims).flat();
  const own: Node = node({
    status: { volumesAttached: attached.map((name) => ({ name: `csi^id-pv-${name}`, devicePath: '' })) },
  });
  return observeDrain({
    machine: m,
    settings: settingsOf(m, MACHINE_DEFAULTS),
    node: own,
    caches,
    volumeIdOf: ({ csi }) => `id-${(csi as { volumeHandle: string }).volumeHandle}`,
    memory: NO_DRAIN_MEMORY,
    volumeWindow: 1,
    now: NOON,
  }).pods;
}

const SHARING = { bar0: ['own-0', 'shared'], bar1: ['own-1', 'shared'] };

test('of two pods that share a volume only their own volumes are tracked [S-VI4]', () => {
  expect(observed(SHARING).map(({ name, volumes }) => [name, volumes])).toEqual([
    ['bar0', ['pv-own-0']],
    ['bar1', ['pv-own-1']],
  ]);
});

test('a claim that a pod mounts twice counts once, as its own [O-67]', () => {
  expect(observed({ bar0: ['own-0', 'own-0'] }).map(({ volumes }) => volumes)).toEqual([['pv-own-0']]);
});

test('two pods with an own and a shared volume are evicted one after the other, at the pace of their own [S-DR8]', () => {
  const { order, tookMs } = playDrain(observed(SHARING), PACE);
  expect(order).toEqual(['bar0', 'bar1']);
  expect(tookMs).toBeGreaterThanOrEqual(10 * SECOND);
});

describe('a drain that is forced while evictions would be refused [S-DR11]', () => {
  const pods = [...observed(SHARING), ...['c', 'd'].map((name) => withVolume(name, { budgets: [budget()] }))];
  const blocked: Attempt = {
    at: NOON,
    result: 'blocked',
    message: 'Cannot evict pod',
    count: 3,
    budgets: 'default/web@7',
  };
  const refused = new Map(pods.map(({ uid }) => [uid, blocked]));

  test('no pod is evicted, and all are deleted without grace at once', () => {
    const plan = planDrain(look(pods, { forced: true, memory: { ...NO_DRAIN_MEMORY, attempts: refused } }), NOON);
    expect(plan.evict).toEqual([]);
    expect(plan.remove.map(({ uid }) => uid)).toEqual(pods.map(({ uid }) => uid));
  });

  test('the drain is complete when all requests were sent, with any attached volumes', () => {
    const asked = pods.map(({ uid }): [string, Attempt] => [forcedKey({ uid, name: '', namespace: '' }), blocked]);
    const memory = { ...NO_DRAIN_MEMORY, attempts: new Map([...refused, ...asked]) };
    const attachments = [{ volume: 'pv-c', name: 'va', deleting: false }];
    expect(planDrain(look(pods, { forced: true, memory, attachments }), later(SECOND))).toMatchObject({
      drained: true,
      forced: true,
      evict: [],
    });
  });
});
