import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { look, type Plain } from '../../apimachinery/objects/plain.ts';
import { podTemplateStrategy, replicationControllerStrategy } from './replication.ts';

const context = { now: new Date(0), subresource: '', userName: 'u', newUid: () => 'uid' };

const object = (kind: string, body: Plain): ApiObject => ({ apiVersion: 'v1', kind, metadata: { name: 'x' }, ...body });

const pod = (labels: Record<string, string>) => ({
  metadata: { labels },
  spec: { containers: [{ name: 'c', image: 'example.dev/c:1' }] },
});

test('the pod of a template gets defaults and is validated at its own path', () => {
  const template = object('PodTemplate', { template: { spec: { containers: [{ image: 'example.dev/c' }] } } });
  podTemplateStrategy.setDefaults?.(template);
  expect(look(template, 'template', 'spec')).toMatchObject({ restartPolicy: 'Always', dnsPolicy: 'ClusterFirst' });
  expect(podTemplateStrategy.validate?.(template, context)).toMatchObject([
    { reason: 'FieldValueRequired', field: 'template.spec.containers[0].name' },
  ]);
});

test('a controller without a selector gets the labels of its template', () => {
  const controller = object('ReplicationController', { spec: { template: pod({ a: 'b' }) } });
  replicationControllerStrategy.setDefaults?.(controller);
  expect(controller).toMatchObject({ metadata: { labels: { a: 'b' } }, spec: { replicas: 1, selector: { a: 'b' } } });
  expect(replicationControllerStrategy.validate?.(controller, context)).toEqual([]);
});

test.each<[string, Plain, string[]]>([
  ['nothing', {}, ['spec.selector', 'spec.template']],
  ['a selector of other pods', { selector: { a: 'c' }, template: pod({ a: 'b' }) }, ['spec.template.metadata.labels']],
  ['negative replicas', { replicas: -1, template: pod({ a: 'b' }) }, ['spec.replicas']],
])('a controller with %s is refused', (_title, spec, fields) => {
  const controller = object('ReplicationController', { spec });
  replicationControllerStrategy.setDefaults?.(controller);
  expect(replicationControllerStrategy.validate?.(controller, context).map(({ field }) => field)).toEqual(fields);
});
