import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { type ControlPlane, startControlPlane } from '../../plane.ts';

type Json = Record<string, unknown>;

let plane: ControlPlane;
async function post(path: string, body: Json): Promise<ApiObject> {
  const headers = { 'content-type': 'application/json' };
  const request = new Request(`https://plane${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  return (await (await plane.fetch(request)).json()) as ApiObject;
}

beforeAll(async () => {
  plane = await startControlPlane({ controllers: false });
  await post('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
});
afterAll(() => plane.close());

const exists = { key: 'b', operator: 'Exists' };
const spec = {
  automountServiceAccountToken: false,
  containers: [{ name: 'c', image: 'i' }],
  affinity: {
    podAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: 'z', labelSelector: {}, matchLabelKeys: ['a', 'unknown'], mismatchLabelKeys: ['b'] },
      ],
    },
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 1,
          podAffinityTerm: {
            topologyKey: 'z',
            labelSelector: { matchExpressions: [exists] },
            mismatchLabelKeys: ['a', 'b'],
          },
        },
      ],
    },
  },
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'z',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { a: '9' } },
      matchLabelKeys: ['b'],
    },
  ],
};

test('label keys of a pod are added to its selectors; templates are unchanged', async () => {
  const labels = { a: '1', b: '2' };
  const { affinity, topologySpreadConstraints } = spec;
  const pod = await post('/api/v1/namespaces/default/pods', { metadata: { name: 'p', labels }, spec });
  expect(pod.spec).toMatchObject({
    affinity: {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          {
            labelSelector: {
              matchExpressions: [
                { key: 'a', operator: 'In', values: ['1'] },
                { key: 'b', operator: 'NotIn', values: ['2'] },
              ],
            },
            matchLabelKeys: ['a', 'unknown'],
          },
        ],
      },
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          {
            podAffinityTerm: {
              labelSelector: {
                matchExpressions: [
                  exists,
                  { key: 'a', operator: 'NotIn', values: ['1'] },
                  { key: 'b', operator: 'NotIn', values: ['2'] },
                ],
              },
            },
          },
        ],
      },
    },
    topologySpreadConstraints: [
      {
        labelSelector: { matchLabels: { a: '9' }, matchExpressions: [{ key: 'b', operator: 'In', values: ['2'] }] },
        matchLabelKeys: ['b'],
      },
    ],
  });

  const template = { metadata: { labels }, spec };
  const selector = { matchLabels: labels };
  const set = await post('/apis/apps/v1/namespaces/default/replicasets', {
    metadata: { name: 'r' },
    spec: { selector, template },
  });
  expect(set.spec).toMatchObject({ template: { spec: { affinity, topologySpreadConstraints } } });
});

test('a key that the selector already contains is refused', async () => {
  const [constraint] = spec.topologySpreadConstraints;
  const twice = { ...spec, topologySpreadConstraints: [{ ...constraint, matchLabelKeys: ['a'] }] };
  const refused = await post('/api/v1/namespaces/default/pods', {
    metadata: { name: 'q', labels: { a: '1' } },
    spec: twice,
  });
  expect(refused.message).toBe(
    'Pod "q" is invalid: spec.topologySpreadConstraints[0][0]: Invalid value: "a": exists in both matchLabelKeys and labelSelector',
  );
});
