import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { issueAuthority, issueServing } from '../admission/self-made/issue.ts';
import { environmentProxy } from './environment-proxy.ts';
import { undiciTransport } from './undici.ts';

const PROXY = 'http://proxy.example:3128/';
const HTTPS_PROXY = 'http://proxy.example:3128';
const found = (origin: string, noProxy = ''): string | undefined =>
  environmentProxy(origin, { HTTPS_PROXY, NO_PROXY: noProxy });

test('only https has a proxy, and never the own host', () => {
  expect(found('https://cloud.example')).toBe(PROXY);
  for (const origin of ['http://169.254.169.254', 'http://metadata.google.internal', 'http://cloud.example'])
    expect(found(origin), origin).toBeUndefined();
  for (const origin of ['https://localhost:6443', 'https://127.0.0.1:6443', 'https://127.9.9.9', 'https://[::1]:6443'])
    expect(found(origin), origin).toBeUndefined();
  for (const name of ['HTTP_PROXY', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'])
    expect(environmentProxy('https://cloud.example', { [name]: HTTPS_PROXY }), name).toBeUndefined();
});

test('the upper-case variable wins, and a value without a scheme is an HTTP proxy', () => {
  const lower = { https_proxy: 'socks5://lower.example:1080', no_proxy: 'lower.example' };
  expect(environmentProxy('https://cloud.example', lower)).toBe('socks5://lower.example:1080');
  expect(environmentProxy('https://lower.example', lower)).toBeUndefined();
  expect(environmentProxy('https://cloud.example', { ...lower, HTTPS_PROXY: 'proxy.example:3128' })).toBe(PROXY);
  expect(environmentProxy('https://lower.example', { ...lower, HTTPS_PROXY, NO_PROXY: 'upper.example' })).toBe(PROXY);
});

test.each([
  ['*', 'https://cloud.example', true],
  ['cloud.example', 'https://cloud.example', true],
  ['other.example, Cloud.Example', 'https://cloud.example', true],
  ['cloud.example', 'https://ec2.cloud.example', true],
  ['cloud.example', 'https://notcloud.example', false],
  ['.cloud.example', 'https://ec2.cloud.example', true],
  ['.cloud.example', 'https://cloud.example', false],
  ['*.cloud.example', 'https://ec2.cloud.example', true],
  ['*.cloud.example', 'https://cloud.example', false],
  ['cloud.example:8443', 'https://cloud.example:8443', true],
  ['cloud.example:8443', 'https://cloud.example', false],
  ['cloud.example:443', 'https://cloud.example', true],
  ['10.0.0.0/8', 'https://10.96.0.1', true],
  ['10.0.0.0/8', 'https://11.96.0.1', false],
  ['10.0.0.0/33', 'https://10.96.0.1', false],
  ['10.0.0.0/8', 'https://ten.example', false],
  ['10.96.0.1', 'https://10.96.0.1', true],
  ['10.96.0.1:6443', 'https://10.96.0.1', false],
  ['fd00::/8', 'https://[fd00::1]:6443', true],
  ['fd00::/8', 'https://[fe00::1]:6443', false],
  ['fd00::1', 'https://[fd00::1]', true],
  ['[fd00::1]:6443', 'https://[fd00::1]:6443', true],
  ['[fd00::1]:6443', 'https://[fd00::1]', false],
  [',', 'https://cloud.example', false],
])('NO_PROXY=%s decides that %s is called without a proxy: %s', (noProxy, origin, direct) => {
  expect(found(origin, noProxy)).toBe(direct ? undefined : PROXY);
});

test.each(['ftp://user:hidden@proxy.example', 'http://user:hidden@', 'https://'])(
  'an unusable proxy is an error without its password: %s',
  (value) => {
    const ask = (): unknown => environmentProxy('http://127.0.0.1', { HTTPS_PROXY: value });
    expect(ask).toThrow(/^HTTPS_PROXY must be an http:\/\/, https:\/\/ or socks5:\/\/ URL$/);
  },
);

const portOf = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
};

test('a transport sends its requests through the proxy of the environment, with the login of its URL', async () => {
  const validity = { from: new Date(0), until: new Date(Date.UTC(2099, 0)) };
  const authority = await issueAuthority(validity);
  const { cert, key } = await issueServing(authority, ['api.example'], validity);
  const api = await portOf(createHttpsServer({ cert, key }, ({ url }, response) => void response.end(url)));
  const asked: (string | undefined)[] = [];
  const proxy = createHttpServer().on('connect', ({ url, headers }: IncomingMessage, client: Duplex) => {
    asked.push(url, headers['proxy-authorization']);
    const target = connect(api, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.pipe(target).pipe(client);
    });
    for (const [side, other] of [
      [client, target],
      [target, client],
    ] as const)
      side.on('error', () => other.destroy());
  });
  vi.stubEnv('HTTPS_PROXY', `http://user:secret@127.0.0.1:${await portOf(proxy)}`);
  vi.stubEnv('NO_PROXY', '');
  onTestFinished(() => void vi.unstubAllEnvs());
  const transport = undiciTransport({ server: 'https://api.example', ca: authority.cert });
  onTestFinished(() => transport.close());
  expect(await (await transport({ method: 'GET', path: '/version', headers: {} })).text()).toBe('/version');
  expect(asked).toEqual(['api.example:443', `Basic ${Buffer.from('user:secret').toString('base64')}`]);
});
