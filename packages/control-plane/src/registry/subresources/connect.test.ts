import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTestPlane } from '../../testing.ts';

const NS = '/api/v1/namespaces/default';
let setup: Awaited<ReturnType<typeof startTestPlane>>;

beforeEach(async () => {
  setup = await startTestPlane();
  const { client } = setup;
  const containers = [{ name: 'c', image: 'i' }];
  const two = [...containers, { name: 'd', image: 'i' }];
  await client.send('POST', '/api/v1/nodes', { metadata: { name: 'bare' } });
  await client.send('POST', `${NS}/pods`, { metadata: { name: 'waits' }, spec: { containers } });
  await client.send('POST', `${NS}/pods`, { metadata: { name: 'runs' }, spec: { containers, nodeName: 'bare' } });
  await client.send('POST', `${NS}/pods`, { metadata: { name: 'lost' }, spec: { containers, nodeName: 'gone' } });
  const initContainers = [{ name: 'first', image: 'i' }];
  await client.send('POST', `${NS}/pods`, { metadata: { name: 'two' }, spec: { containers: two, initContainers } });
  await client.send('POST', `${NS}/services`, { metadata: { name: 's' }, spec: { ports: [{ port: 80, name: 'x' }] } });
  await client.send('POST', `${NS}/endpoints`, { metadata: { name: 's' } });
});
afterEach(() => setup.plane.close());

test.each<[path: string, status: number, message: string | undefined]>([
  ['pods/waits/log', 204, undefined],
  ['pods/waits/log?tailLines=-1', 422, 'tailLines: Invalid value: -1: must be greater than or equal to 0'],
  ['pods/waits/log?limitBytes=0', 422, 'limitBytes: Invalid value: 0: must be greater than 0'],
  ['pods/waits/log?sinceSeconds=0', 422, 'sinceSeconds: Invalid value: 0: must be greater than 0'],
  [
    'pods/waits/log?sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z',
    422,
    '[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified',
  ],
  ['pods/waits/log?tailLines=x', 400, 'strconv.ParseInt: parsing "x": invalid syntax'],
  ['pods/waits/log?sinceTime=2020-13-01T00:00:00Z', 400, 'parsing time "2020-13-01T00:00:00Z": month out of range'],
  ['pods/nobody/log?tailLines=-1', 422, 'tailLines: Invalid value: -1: must be greater than or equal to 0'],
  ['pods/two/log', 400, 'a container name must be specified for pod two, choose one of: [first c d]'],
  ['pods/two/portforward', 400, 'pod two does not have a host assigned'],
  ['pods/waits/portforward?ports=x', 400, 'cannot convert to []int32: strconv.ParseUint: parsing "x": invalid syntax'],
  ['pods/lost/log', 404, 'pods "gone" not found'],
  ['pods/runs/exec?command=ls', 500, 'no preferred addresses found; known addresses: []'],
  ['pods/https:waits:80/proxy/a/b/c', 400, 'address not allowed'],
  ['pods/ftp:waits:80/proxy', 400, 'invalid pod request "ftp:waits:80"'],
  ['services/none/proxy', 404, 'services "none" not found'],
  ['services/s:x/proxy/a/b/c', 503, 'no endpoints available for service "s"'],
  ['services/s:81/proxy', 503, 'no service port 81 found for service "s"'],
])('GET %s: %i %s', async (path, status, message) => {
  const answer = await setup.client.send('GET', `${NS}/${path}`);
  expect(answer.status).toBe(status);
  if (message !== undefined) {
    const shown = String(answer.body.message);
    expect(status === 422 ? shown.slice(shown.indexOf(' is invalid: ') + ' is invalid: '.length) : shown).toBe(message);
  }
});

test.each(['exec', 'attach', 'portforward'])('%s accepts only GET and POST', async (subresource) => {
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    const { status } = await setup.client.send(method, `${NS}/pods/waits/${subresource}`, {});
    expect([method, status]).toEqual([method, 405]);
  }
});
