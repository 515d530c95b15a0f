import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { NODES, PODS } from '../client/resources.ts';
import { projectionOf } from './projections.ts';

const pod = (name: string, status: Record<string, unknown> = {}): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace: 'default',
    labels: { app: 'a' },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'a', uid: 'u' }],
    managedFields: [{ manager: 'kubectl' }],
    finalizers: ['x'],
  },
  spec: {
    nodeName: name,
    containers: [{ name: 'main', image: 'a:1', resources: { requests: { cpu: '1' } } }],
    tolerations: [{ key: 'k', operator: 'Exists' }],
    volumes: [{ name: 'token', projected: {} }],
  },
  status: { phase: 'Running', ...status },
});

test('pods share their equal parts, and keep their own parts', () => {
  const [one, other] = ['a', 'b'].map((name) => projectionOf(PODS)(pod(name)));
  expect(one).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'a',
      namespace: 'default',
      labels: { app: 'a' },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'a', uid: 'u' }],
      finalizers: ['x'],
    },
    spec: {
      nodeName: 'a',
      containers: [{ name: 'main', resources: { requests: { cpu: '1' } } }],
      tolerations: [{ key: 'k', operator: 'Exists' }],
      volumes: [],
    },
    status: { phase: 'Running' },
  });
  expect(other).toMatchObject({ metadata: { name: 'b' }, spec: { nodeName: 'b' } });
  for (const field of ['labels', 'ownerReferences', 'finalizers'] as const)
    expect(one?.metadata[field]).toBe(other?.metadata[field]);
  expect(one?.status).toBe(other?.status);
  const [spec, otherSpec] = [one, other].map((object) => object?.spec as Record<string, unknown>);
  for (const field of ['containers', 'tolerations', 'volumes']) expect(spec?.[field]).toBe(otherSpec?.[field]);
});

test('a status with addresses stays outside of the shared parts', () => {
  const [one, other] = ['a', 'b'].map((name) => projectionOf(PODS)(pod(name, { podIP: '10.0.0.1' })));
  expect(one?.status).toEqual(other?.status);
  expect(one?.status).not.toBe(other?.status);
});

test('caches contain no managed fields', () => {
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a', managedFields: [{ manager: 'kubelet' }] } };
  expect(projectionOf(NODES)(node)).toEqual({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } });
});
