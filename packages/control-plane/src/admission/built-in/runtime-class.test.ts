import { expect, test } from 'vitest';
import { TestPlane } from '../../controllers/testing.ts';

const PODS = '/api/v1/namespaces/default/pods';
const CLASSES = '/apis/node.k8s.io/v1/runtimeclasses';

const pod = (spec: Record<string, unknown>) => ({
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});

test('RuntimeClass: a pod gets the overhead, the selector and the tolerations of its runtime', async () => {
  await using plane = await TestPlane.start();
  await plane.must('POST', CLASSES, {
    metadata: { name: 'sandbox' },
    handler: 'sandbox',
    overhead: { podFixed: { cpu: '100m' } },
    scheduling: { nodeSelector: { runtime: 'sandbox' }, tolerations: [{ key: 'sandbox', operator: 'Exists' }] },
  });
  const made = await plane.must('POST', PODS, pod({ runtimeClassName: 'sandbox', nodeSelector: { disk: 'ssd' } }));
  expect(made['spec']).toMatchObject({
    overhead: { cpu: '100m' },
    nodeSelector: { runtime: 'sandbox', disk: 'ssd' },
    tolerations: expect.arrayContaining([{ key: 'sandbox', operator: 'Exists' }]),
  });
});

test.each([
  [{ runtimeClassName: 'none' }, 'pod rejected: RuntimeClass "none" not found'],
  [{ overhead: { cpu: '1' } }, 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead'],
  [
    { runtimeClassName: 'sandbox', overhead: { cpu: '2' } },
    "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
  ],
  [
    { runtimeClassName: 'sandbox', nodeSelector: { runtime: 'other' } },
    'conflict: runtimeClass.scheduling.nodeSelector[runtime] = sandbox; pod.spec.nodeSelector[runtime] = other',
  ],
])('RuntimeClass: %j is refused', async (spec, message) => {
  await using plane = await TestPlane.start();
  await plane.must('POST', CLASSES, {
    metadata: { name: 'sandbox' },
    handler: 'sandbox',
    overhead: { podFixed: { cpu: '100m' } },
    scheduling: { nodeSelector: { runtime: 'sandbox' } },
  });
  const answer = await plane.send('POST', PODS, pod(spec));
  expect(answer).toMatchObject({ code: 403, body: { message: `pods "p" is forbidden: ${message}` } });
});

test('ranges and addresses of services must be in canonical form, and cannot be changed', async () => {
  await using plane = await TestPlane.start();
  const networking = '/apis/networking.k8s.io/v1';
  const range = { metadata: { name: 'r' }, spec: { cidrs: ['10.1.0.0/16'] } };
  await plane.must('POST', `${networking}/servicecidrs`, range);
  const changed = await plane.send('PUT', `${networking}/servicecidrs/r`, {
    ...range,
    spec: { cidrs: ['10.2.0.0/16'] },
  });
  expect(changed.code).toBe(422);
  const grown = { ...range, spec: { cidrs: ['10.1.0.0/16', '2001:db8::/64'] } };
  await plane.must('PUT', `${networking}/servicecidrs/r`, grown);
  const parentRef = { resource: 'services', namespace: 'default', name: 's' };
  await plane.must('POST', `${networking}/ipaddresses`, { metadata: { name: '10.1.0.9' }, spec: { parentRef } });
  const odd = await plane.send('POST', `${networking}/ipaddresses`, {
    metadata: { name: '10.1.0.09' },
    spec: { parentRef },
  });
  expect(odd.code).toBe(422);
});

test('volume attributes classes are immutable', async () => {
  await using plane = await TestPlane.start();
  const path = '/apis/storage.k8s.io/v1/volumeattributesclasses';
  const object = { metadata: { name: 'v' }, driverName: 'd.example', parameters: { iops: '1' } };
  await plane.must('POST', path, object);
  const changed = await plane.send('PUT', `${path}/v`, { ...object, parameters: { iops: '2' } });
  expect(changed).toMatchObject({
    code: 422,
    body: { message: expect.stringContaining('updates to parameters are forbidden.') },
  });
});
