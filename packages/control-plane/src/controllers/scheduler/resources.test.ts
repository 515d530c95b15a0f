import { expect, test } from 'vitest';
import { hostPortsOf } from './ports.ts';
import { requestsOf } from './resources.ts';

const containers = [{ name: 'main', resources: { requests: { cpu: '1' } }, ports: [{ hostPort: 80 }] }];
const pod = (spec: object) => ({ apiVersion: 'v1', kind: 'Pod', metadata: {}, spec: { containers, ...spec } });

test('pods with one list of containers share their amounts only if nothing else adds to them', () => {
  const sidecar = { name: 'side', restartPolicy: 'Always', resources: { requests: { cpu: '2' } } };
  const plain = requestsOf(pod({}));
  expect(requestsOf(pod({}))).toBe(plain);
  expect(plain.get('cpu')).toBe(1000);
  expect(requestsOf(pod({ overhead: { cpu: '1' } })).get('cpu')).toBe(2000);
  expect(requestsOf(pod({ initContainers: [sidecar] })).get('cpu')).toBe(3000);
});

test('pods with one list of containers share their host ports only without sidecars', () => {
  const sidecar = { name: 'side', restartPolicy: 'Always', ports: [{ hostPort: 81 }] };
  const plain = hostPortsOf(pod({}));
  expect(hostPortsOf(pod({}))).toBe(plain);
  expect(hostPortsOf(pod({ initContainers: [sidecar] })).map(({ port }) => port)).toEqual(['TCP/80', 'TCP/81']);
});
