import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { truncate } from './endpoints.ts';
import { TRIGGER_TIME, TriggerTimes, triggerAnnotation, withoutNulls } from './trigger-times.ts';

const service: ApiObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 's', creationTimestamp: '2024-01-01T00:00:00Z' },
};
const pod = (name: string, since: string): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  status: { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: since }] },
});

test('endpoints are annotated with the earliest change since the last sync', () => {
  const times = new TriggerTimes();
  const [a, b, c] = ['2024-01-01T00:01:00Z', '2024-01-01T00:02:00Z', '2024-01-01T00:03:00Z'] as const;
  expect(times.changeOf('s', service, [pod('a', a)])).toEqual(new Date('2024-01-01T00:00:00Z'));
  expect(times.changeOf('s', service, [pod('a', a)])).toBeUndefined();
  expect(times.changeOf('s', service, [pod('a', c), pod('b', b)])).toEqual(new Date(b));
  times.forget('s');
  expect(times.changeOf('s', service, [])).toEqual(new Date('2024-01-01T00:00:00Z'));
});

test('the annotation is removed if no change is known', () => {
  expect(triggerAnnotation(new Date('2024-01-01T00:00:10Z'))).toEqual({ [TRIGGER_TIME]: '2024-01-01T00:00:10Z' });
  expect(triggerAnnotation(undefined)).toEqual({ [TRIGGER_TIME]: null });
  expect(withoutNulls(triggerAnnotation(undefined))).toEqual({});
});

const addresses = (count: number) => Array.from({ length: count }, (_, index) => ({ ip: `10.0.0.${index}` }));
const sizes = (ready: [number, number], unready: [number, number]): { counts: number[][]; isCut: boolean } => {
  const subsets = [0, 1].map((at) => ({
    addresses: addresses(ready[at] ?? 0),
    notReadyAddresses: addresses(unready[at] ?? 0),
    ports: [{ port: at }],
  }));
  const cut = truncate(subsets);
  const length = (value: unknown): number => (Array.isArray(value) ? value.length : 0);
  const counts = cut.subsets.map((subset) => [length(subset.addresses), length(subset.notReadyAddresses)]);
  return { counts, isCut: cut.isCut };
};

test.each<[string, [number, number], [number, number], number[][], boolean]>([
  [
    'a thousand addresses stay',
    [500, 500],
    [0, 0],
    [
      [500, 0],
      [500, 0],
    ],
    false,
  ],
  [
    'unready ones are cut first',
    [600, 300],
    [100, 100],
    [
      [600, 50],
      [300, 50],
    ],
    true,
  ],
  [
    'of too many ready ones each subset keeps its part',
    [1500, 500],
    [7, 0],
    [
      [750, 0],
      [250, 0],
    ],
    true,
  ],
])('over-capacity: %s', (_title, ready, unready, counts, isCut) => {
  expect(sizes(ready, unready)).toEqual({ counts, isCut });
});
