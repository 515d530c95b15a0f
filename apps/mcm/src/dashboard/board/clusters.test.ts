import type { KubeObject } from '@mcm/kube';
import { createClient, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import type { FleetSource } from '../../members/source.ts';
import { clusterSource } from './clusters.ts';

/**
 * Returns the source of the clusters that `clusterSource` finds. The simulated API server serves the API group only in
 * version `v1`.
 */
async function sourceOf(flag: FleetSource['flag'], plural: string) {
  const transport = async ({ path }: { readonly path: string }) => {
    const body = path.endsWith('/v1')
      ? { kind: 'APIResourceList', resources: [{ name: plural }] }
      : { kind: 'APIGroup', versions: [{ version: 'v1' }] };
    return Response.json(body);
  };
  const client = createClient({ transport, userAgent: 'test', clock: new VirtualClock() });
  const found = await clusterSource(client, { flag, selector: 'fleet=yes' }, 'home', new AbortController().signal);
  if (found === undefined) throw new Error('no source');
  return found;
}

const object = (name: string, namespace: string, more: object = {}): KubeObject =>
  ({ apiVersion: 'v1', kind: 'X', metadata: { name, namespace, uid: name, resourceVersion: '1' }, ...more }) as never;

test('a Cluster of Cluster API is the cluster of its namespace, and a pause is a problem', async () => {
  const { definition, namespace, labelSelector, clusterOf, rowOf } = await sourceOf('fleet-clusters', 'clusters');
  expect([definition.version, namespace, labelSelector]).toEqual(['v1', undefined, 'fleet=yes']);
  const a = object('a', 'shoot--a');
  expect(clusterOf(a)).toBe('shoot--a');
  const row = { key: 'shoot--a', object: 'cluster/a', region: '', deleting: false, unreachable: 'x', elsewhere: false };
  expect(rowOf('shoot--a', [a], 'x')).toEqual({ ...row, problem: '' });
  const paused = object('b', 'shoot--a', { spec: { paused: true } });
  expect(rowOf('shoot--a', [a, paused], 'x')).toEqual({ ...row, problem: '' });
  expect(rowOf('shoot--a', [paused], 'x')).toMatchObject({ object: 'cluster/b', problem: 'The Cluster b is paused.' });
  expect(rowOf('shoot--a', [a, object('c', 'shoot--a')], 'x')?.problem).toBe(
    'The namespace contains the Clusters a, c; select only one Cluster in each namespace.',
  );
  expect(rowOf('shoot--a', [], 'x')).toBeUndefined();
});

test('the machine objects of a ClusterProfile are elsewhere', async () => {
  const { namespace, clusterOf, rowOf } = await sourceOf('fleet-cluster-profiles', 'clusterprofiles');
  const one = object('one', 'home');
  expect([namespace, clusterOf(one)]).toEqual(['home', 'one']);
  expect(rowOf('one', [one], '')).toMatchObject({ key: 'one', elsewhere: true, problem: '', object: '' });
});
