import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { serveCloud } from './over-http.ts';

const answer = (port: number, headers: Readonly<Record<string, string>>): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path: '/_emulator/resources', headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on('error', reject).end();
  });

test.each<[who: string, headers: Readonly<Record<string, string>>, status: number]>([
  ['a program on this machine is answered', {}, 200],
  ['a page whose domain resolves to this machine is refused', { host: 'rebound.example:80' }, 421],
  ['a page of another origin is refused', { origin: 'https://evil.example' }, 403],
  ['a request that a browser marks as cross-site is refused', { 'sec-fetch-site': 'cross-site' }, 403],
])('%s', async (_who, headers, status) => {
  const connect = () => () => Promise.reject(new Error('no request is expected'));
  const server = await serveCloud({ connect, inventory: async () => ['vm'] }, 0, () => undefined);
  onTestFinished(() => void server.close());
  expect(await answer((server.address() as AddressInfo).port, headers)).toBe(status);
});
