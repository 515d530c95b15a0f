import { Labels } from '@mcm/api';
import type { Change, CsiNode, KubeObject, Node, VolumeAttachment } from '@mcm/kube';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { playDrain } from '../drain/play.ts';
import { withVolume } from '../drain/testing.ts';
import { condition, node } from '../machine/testing.ts';
import { AttachLimits } from './attach-limits.ts';

const DRIVER = 'ebs.csi';

function source<T extends KubeObject>() {
  const handlers: ((change: Change<T>) => void)[] = [];
  const known = new Map<string, T>();
  return {
    onChange: (handler: (change: Change<T>) => void) => {
      handlers.push(handler);
      return () => undefined;
    },
    put: (object: T) => {
      const key = object.metadata.name;
      const old = known.get(key);
      known.set(key, object);
      const change = old ? { type: 'updated', key, old, object } : { type: 'added', key, object };
      for (const handler of handlers) handler(change as Change<T>);
    },
    remove: (key: string) => {
      const object = known.get(key);
      known.delete(key);
      if (object) for (const handler of handlers) handler({ type: 'deleted', key, object } as Change<T>);
    },
  };
}

function cluster() {
  const sources = { nodes: source<Node>(), csiNodes: source<CsiNode>(), attachments: source<VolumeAttachment>() };
  const limits = new AttachLimits(sources);
  const metadata = (name: string) => ({ name, uid: name, resourceVersion: '1', creationTimestamp: '' });
  return {
    ...sources,
    limits,
    add: (name: string, count: number | undefined, zone = 'a', change: Parameters<typeof node>[0] = {}): Node => {
      const added = node({ ...change, name, metadata: { labels: { [Labels.Zone]: zone }, ...change.metadata } });
      sources.nodes.put(added);
      const drivers = [{ name: DRIVER, ...(count === undefined ? {} : { allocatable: { count } }) }];
      sources.csiNodes.put({ apiVersion: '', kind: 'CSINode', metadata: metadata(name), spec: { drivers } });
      return added;
    },
    attach: (name: string, nodeName: string) =>
      sources.attachments.put({
        apiVersion: '',
        kind: 'VolumeAttachment',
        metadata: metadata(name),
        spec: { attacher: DRIVER, nodeName, source: { persistentVolumeName: name } },
      }),
  };
}

describe('the room for volumes outside of a node', () => {
  test('the room for other volumes is the limit of the drivers on the other nodes of the zone, minus the attached volumes', () => {
    const c = cluster();
    const leaving = c.add('n-0', 25);
    c.add('n-1', 3);
    c.add('n-2', 2);
    c.add('far', 10, 'b');
    for (const name of ['v-1', 'v-2']) c.attach(name, 'n-1');
    c.attach('v-3', 'n-0');
    expect(c.limits.roomOnOtherNodes(leaving, DRIVER)).toBe(3);
    c.attach('v-2', 'n-0');
    expect(c.limits.roomOnOtherNodes(leaving, DRIVER)).toBe(4);
    c.attachments.remove('v-1');
    expect(c.limits.roomOnOtherNodes(leaving, DRIVER)).toBe(5);
    expect(c.limits.roomOnOtherNodes(leaving, 'other.csi')).toBeUndefined();
  });

  test('the room for volumes does not include nodes that accept no pods', () => {
    const c = cluster();
    const leaving = c.add('n-0', 25);
    c.add('n-1', 3, 'a', { spec: { unschedulable: true } });
    c.add('n-2', 3, 'a', { conditions: [condition('Ready', 'Unknown')] });
    c.add('n-3', 3, 'a', { metadata: { labels: { [Labels.Zone]: 'a' }, deletionTimestamp: 'now' } });
    expect(c.limits.roomOnOtherNodes(leaving, DRIVER)).toBe(0);
    c.add('n-1', 3);
    expect(c.limits.roomOnOtherNodes(leaving, DRIVER)).toBe(3);
    c.nodes.remove('n-1');
    expect(c.limits.roomOnOtherNodes(leaving, DRIVER)).toBe(0);
  });

  test('the room for volumes is unlimited if one driver has no limit, or if no CSINode can be read', () => {
    const c = cluster();
    const leaving = c.add('n-0', 25);
    c.add('n-1', 3);
    c.add('n-2', undefined);
    expect(c.limits.roomOnOtherNodes(leaving, DRIVER)).toBeUndefined();
    for (const name of ['n-0', 'n-1', 'n-2']) c.csiNodes.remove(name);
    c.nodes.put(leaving);
    c.csiNodes.remove('n-0');
    expect(cluster().limits.roomOnOtherNodes(leaving, DRIVER)).toBeUndefined();
  });

  test(`the room for volumes never includes the node's own limit`, () => {
    const c = cluster();
    const leaving = c.add('n-0', undefined);
    c.add('n-1', 3);
    expect(c.limits.roomOnOtherNodes(leaving, DRIVER)).toBe(3);
    c.nodes.put({ ...leaving, spec: { unschedulable: true } });
    expect(c.limits.roomOnOtherNodes(leaving, DRIVER)).toBe(3);
  });
});

test('the room for volumes does not shrink by volumes in another zone', () => {
  const c = cluster();
  const leaving = c.add('n-0', 25);
  c.add('n-1', 3);
  const moved = { ...leaving, metadata: { ...leaving.metadata, labels: { [Labels.Zone]: 'b' } } };
  expect(c.limits.roomOnOtherNodes(leaving, DRIVER)).toBe(3);
  c.add('n-9', 7, 'b');
  expect(c.limits.roomOnOtherNodes(moved, DRIVER)).toBe(7);
});

const PODS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => withVolume(name));
const FAST = { graceMs: 5_000, detachMs: 5_000, attachMs: 10_000 };

describe('pods with volumes are evicted together as far as other nodes can attach their volumes', () => {
  test('with room for all volumes, a drain is as fast as without limits', () => {
    const all = PODS.length;
    expect(playDrain(PODS, { ...FAST, slots: all }, 5)).toEqual(playDrain(PODS, FAST, 5));
  });

  test('with room for three volumes, a drain never moves more volumes than there are free slots', () => {
    const free = playDrain(PODS, FAST, 5);
    const tight = playDrain(PODS, { ...FAST, slots: 3 }, 5);
    expect(free.mostUnderWay).toBeGreaterThan(2);
    expect(tight.mostUnderWay).toBeLessThanOrEqual(2);
    expect(tight.tookMs).toBeGreaterThan(free.tookMs);
    expect(tight.tookMs).toBeLessThan(playDrain(PODS, { ...FAST, slots: 3 }, 1).tookMs);
    expect(tight.order).toEqual(free.order);
  });

  test('without room for volumes, a drain is as fast as a serial drain', () => {
    expect(playDrain(PODS, { ...FAST, slots: 0 }, 5)).toEqual(playDrain(PODS, { ...FAST, slots: 0 }, 1));
  });

  test('with any times and any room for volumes, a drain is never slower than a serial drain', () => {
    const seconds = (max: number) => fc.integer({ min: 0, max }).map((n) => n * 1_000);
    fc.assert(
      fc.property(
        fc.record({
          graceMs: seconds(25),
          detachMs: seconds(150),
          attachMs: seconds(100),
          slots: fc.integer({ min: 0, max: 6 }),
        }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 6 }),
        (times, window, count) => {
          const pods = PODS.slice(0, count);
          expect(playDrain(pods, times, window).tookMs).toBeLessThanOrEqual(playDrain(pods, times, 1).tookMs);
        },
      ),
      { numRuns: 60 },
    );
  });
});
