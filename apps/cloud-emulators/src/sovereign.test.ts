import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { connect, type TLSSocket } from 'node:tls';
import { createAuthority } from '@mcm/control-plane';
import { realClock, silentLogger } from '@mcm/kube';
import { MemoryStore } from '@mcm/provider-local';
import { expect, onTestFinished, test } from 'vitest';
import { SOVEREIGN_HOSTS } from './arm/sovereign.ts';
import { createEmulator } from './create.ts';
import { withAdmin } from './server/admin.ts';
import { listen } from './server/listen.ts';

const ACCOUNT = { tenant: 't', clientId: 'c', secret: 's', identities: { system: true, users: [] } };
const [GOVERNMENT, CHINA, PUBLIC] = [
  'https://management.core.usgovcloudapi.net',
  'https://management.core.chinacloudapi.cn',
  'https://management.core.windows.net/',
];
const VM = '/subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/vm-1?api-version=2023-07-01';

interface Asked {
  readonly token?: string;
  readonly body?: string;
}

async function serve(store = new MemoryStore()) {
  const authority = createAuthority(realClock.now());
  const tls = authority.issueServer(['127.0.0.1', 'localhost', ...SOVEREIGN_HOSTS]);
  const listener = await listen({ port: 0, log: silentLogger, tls, hosts: SOVEREIGN_HOSTS });
  const common = { clock: realClock, origin: listener.origin, operationMs: 0, visibleAfterMs: 0, store };
  const emulator = createEmulator('azure', { ...common, account: JSON.stringify(ACCOUNT) });
  emulator.resume();
  listener.serve(withAdmin(emulator));
  onTestFinished(() => listener.close());
  const ca = authority.certificate;

  const toServer = async (): Promise<TLSSocket> => {
    const socket = connect({
      host: '127.0.0.1',
      port: Number(new URL(listener.origin).port),
      ca,
      servername: 'localhost',
    });
    onTestFinished(() => void socket.destroy());
    await once(socket, 'secureConnect');
    return socket;
  };
  const answerOn = async (socket: TLSSocket, host: string, method: string, path: string, { token, body }: Asked) => {
    const headers = {
      host,
      metadata: 'true',
      connection: 'close',
      ...(token ? { authorization: `Bearer ${token}` } : {}),
    };
    const sent = request({ method, path, headers, createConnection: () => socket });
    sent.end(body);
    const [answer]: IncomingMessage[] = await once(sent, 'response');
    const content = answer === undefined ? '' : await text(answer);
    const operation = String(answer?.headers['azure-asyncoperation'] ?? '');
    return { status: answer?.statusCode, json: content.startsWith('{') ? JSON.parse(content) : {}, operation };
  };
  /** Sends a `CONNECT` request, and returns the status and the connection. */
  const tunnel = async (to: string): Promise<readonly [status: string, socket: TLSSocket]> => {
    const socket = await toServer();
    socket.write(`CONNECT ${to} HTTP/1.1\r\nhost: ${to}\r\n\r\n`);
    const [first]: Buffer[] = await once(socket, 'data');
    return [String(first).split(' ')[1] ?? '', socket];
  };
  const ask = async (host: string, method: string, path: string, asked: Asked = {}) => {
    if (host === '') return answerOn(await toServer(), '127.0.0.1', method, path, asked);
    const [status, socket] = await tunnel(`${host}:443`);
    expect(status).toBe('200');
    const inner = connect({ socket, ca, servername: host });
    await once(inner, 'secureConnect');
    return answerOn(inner, host, method, path, asked);
  };
  const login = async (host: string, audience: string, more = '') => {
    const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'c', client_secret: 's' });
    form.set('scope', `${audience}/.default${more}`);
    return ask(host, 'POST', '/t/oauth2/v2.0/token', { body: String(form) });
  };
  return { emulator, ask, login, tunnel, toServer, answerOn };
}

test('each sovereign cloud accepts only its own audience and tokens, and stores its own resources', async () => {
  const store = new MemoryStore();
  const { emulator, ask, login } = await serve(store);
  const ours = await login('login.microsoftonline.us', GOVERNMENT);
  expect(ours.status).toBe(200);
  const token: string = ours.json.access_token;
  for (const audience of [PUBLIC, CHINA])
    expect((await login('login.microsoftonline.us', audience)).json).toMatchObject({ error: 'invalid_resource' });

  const library = await login('login.microsoftonline.us', `${GOVERNMENT}/`, ' openid offline_access profile');
  expect(library.status).toBe(200);

  const at = 'management.usgovcloudapi.net';
  const body = JSON.stringify({ location: 'usgovvirginia', properties: {} });
  const made = await ask(at, 'PUT', VM, { token, body });
  expect(made.status).toBe(201);
  expect(made.operation).toMatch(/^https:\/\/management\.usgovcloudapi\.net\/operations\/\d+$/);
  for (const host of ['', 'management.chinacloudapi.cn'])
    expect((await ask(host, 'GET', VM, { token })).json.error.code, host).toBe('InvalidAuthenticationToken');
  const china = await login('login.chinacloudapi.cn', CHINA);
  expect((await ask('management.chinacloudapi.cn', 'GET', VM, { token: china.json.access_token })).status).toBe(404);
  const open = await login('', PUBLIC);
  expect((await ask('', 'GET', VM, { token: open.json.access_token })).status).toBe(404);

  const listed = [expect.objectContaining({ id: `https://${at}${VM.replace(/\?.*/, '')}` })];
  expect(emulator.resources()).toEqual(listed);
  expect([...emulator.counts.keys()]).toContain('AzureGovernment PUT virtualMachines');
  expect((await serve(store)).emulator.resources()).toEqual(listed);
});

test('the metadata service returns a token for the cloud of the resource', async () => {
  const { ask } = await serve();
  const path = `/metadata/identity/oauth2/token?api-version=2018-02-01&resource=${encodeURIComponent(CHINA)}`;
  const { json } = await ask('', 'GET', path);
  expect((await ask('management.chinacloudapi.cn', 'GET', VM, { token: json.access_token })).status).toBe(404);
  const other = await ask('management.usgovcloudapi.net', 'GET', VM, { token: json.access_token });
  expect(other.json.error.code).toBe('InvalidAuthenticationToken');
});

test('a host serves only its own cloud, and only to clients that verify its name', async () => {
  const { login, ask, toServer, answerOn } = await serve();
  expect((await login('management.usgovcloudapi.net', GOVERNMENT)).status).toBe(404);
  expect((await ask('login.microsoftonline.us', 'GET', VM)).status).toBe(404);
  const rebound = await answerOn(await toServer(), 'management.usgovcloudapi.net', 'GET', VM, {});
  expect(rebound.status).toBe(421);
});

test('the emulator does not connect to other hosts', async () => {
  const { tunnel } = await serve();
  for (const to of ['management.azure.com:443', '127.0.0.1:22', 'management.usgovcloudapi.net:22'])
    expect((await tunnel(to))[0], to).toBe('403');
});
