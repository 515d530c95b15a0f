import { type Transport, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { Ec2Endpoint, GceEndpoint } from './index.ts';

const clock = new VirtualClock();
const TEXT = 'Booting\nregistered node é\n';
const power = { on: () => undefined, off: () => undefined, console: () => TEXT };
const VM = '/compute/v1/projects/p/zones/z/instances/m-1';

const ask = async (transport: Transport, path: string, method = 'GET', body?: string) => {
  const answer = await transport({ method, path, headers: {}, ...(body === undefined ? {} : { body }) });
  return { status: answer.status, text: await answer.text() };
};

async function serialPort(status: string, query = '') {
  const cloud = new GceEndpoint({ clock, power });
  cloud.place('p', 'z', { name: 'm-1' });
  if (status !== 'RUNNING') await ask(cloud.transport, VM, 'DELETE');
  const answer = await ask(cloud.transport, `${VM}/serialPort${query}`);
  return { status: answer.status, json: JSON.parse(answer.text) };
}

test.each([
  ['', TEXT, '0'],
  ['?port=1&start=8', TEXT.slice(8), '8'],
  ['?start=-3', 'é\n', '24'],
  ['?start=-65536', TEXT, '0'],
  ['?start=65536', '', '27'],
  ['?port=2', '', '0'],
])('Compute Engine returns the serial port from a byte on, or the last bytes: %s', async (query, contents, start) => {
  const { status, json } = await serialPort('RUNNING', query);
  expect([status, json]).toMatchObject([200, { kind: 'compute#serialPortOutput', contents, start }]);
});

test('Compute Engine refuses the serial port of a VM that does not exist or is stopping, and an unknown port', async () => {
  const cloud = new GceEndpoint({ clock, power });
  expect((await ask(cloud.transport, `${VM}/serialPort`)).status).toBe(404);
  expect(await serialPort('STOPPING')).toMatchObject({ status: 400 });
  expect(await serialPort('RUNNING', '?port=5')).toMatchObject({ status: 400 });
});

test('EC2 returns the console as base64', async () => {
  const cloud = new Ec2Endpoint({ clock, power, instances: [{ instanceId: 'i-1', state: 'running' }] });
  const found = await ask(cloud.transport, '/', 'POST', 'Action=GetConsoleOutput&InstanceId=i-1&Version=2016-11-15');
  expect(found.text).toContain(`<output>${Buffer.from(TEXT).toString('base64')}</output>`);
  const absent = await ask(cloud.transport, '/', 'POST', 'Action=GetConsoleOutput&InstanceId=i-2&Version=2016-11-15');
  expect(absent.text).toContain('InvalidInstanceID.NotFound');
});
