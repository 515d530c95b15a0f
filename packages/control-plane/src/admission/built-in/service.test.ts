import { afterEach, beforeEach, expect, test } from 'vitest';
import { caller } from '../../auth/testing.ts';
import { type ControlPlane, startControlPlane } from '../../plane.ts';

const SERVICES = '/api/v1/namespaces/default/services';

let plane: ControlPlane;
let call: ReturnType<typeof caller>;
beforeEach(async () => {
  plane = await startControlPlane({ controllers: false });
  call = caller(plane);
});
afterEach(() => plane.close());

const create = (name: string, spec: object = {}) =>
  call('POST', SERVICES, { body: { metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } } });

test('node ports and addresses are never allocated twice, even for concurrent requests', async () => {
  const names = Array.from({ length: 400 }, (_, index) => `s-${index}`);
  const answers = await Promise.all(names.map((name) => create(name, { type: 'NodePort' })));
  expect(answers.filter(({ status }) => status !== 201)).toEqual([]);
  const ports = answers.map(({ body }) => body.spec?.ports?.[0]?.nodePort);
  const addresses = answers.map(({ body }) => body.spec?.clusterIP);
  expect([new Set(ports).size, new Set(addresses).size]).toEqual([400, 400]);
});

test('a requested port is refused while another service has it, and available after its deletion', async () => {
  expect((await create('a', { clusterIP: '10.96.7.7' })).status).toBe(201);
  expect((await create('b', { clusterIP: '10.96.7.7' })).body.message).toBe(
    'Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.96.7.7"]: failed to allocate IP 10.96.7.7: provided IP is already allocated',
  );
  expect((await call('PATCH', `${SERVICES}/a`, { body: { metadata: { labels: { x: 'y' } } } })).status).toBe(200);
  await call('DELETE', `${SERVICES}/a`);
  expect((await create('b', { clusterIP: '10.96.7.7' })).status).toBe(201);
  const ports = [{ port: 80, nodePort: 30_080 }];
  expect((await create('c', { type: 'NodePort', ports })).status).toBe(201);
  expect((await create('d', { type: 'NodePort', ports })).body.message).toBe(
    'Service "d" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated',
  );
});
