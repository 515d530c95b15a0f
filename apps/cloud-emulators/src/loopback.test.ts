import { generateKeyPairSync } from 'node:crypto';
import { createAuthority } from '@mcm/control-plane';
import { realClock, silentLogger, undiciTransport } from '@mcm/kube';
import { afterEach, describe, expect, test } from 'vitest';
import { createEmulator } from './create.ts';
import type { Provider } from './flags.ts';
import { withAdmin } from './server/admin.ts';
import { listen } from './server/listen.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function serve(provider: Provider, account?: object) {
  const authority = createAuthority(realClock.now());
  const tls = provider === 'azure' ? { tls: authority.issueServer(['127.0.0.1']) } : {};
  const listener = await listen({ port: 0, log: silentLogger, ...tls });
  const emulator = createEmulator(provider, {
    clock: realClock,
    origin: listener.origin,
    operationMs: 0,
    visibleAfterMs: 0,
    account: account && JSON.stringify(account),
  });
  listener.serve(withAdmin(emulator));
  const transport = undiciTransport({ server: listener.origin, ca: authority.certificate });
  closing.push(transport.close, listener.close);
  const ask = async (method: string, path: string, body?: string, headers: Record<string, string> = {}) => {
    const answer = await transport({ method, path, headers, ...(body === undefined ? {} : { body }) });
    const text = await answer.text();
    return {
      status: answer.status,
      text,
      json: () => JSON.parse(text),
      header: (name: string) => answer.headers.get(name),
    };
  };
  return { emulator, ask };
}

const INSTANCES = '/compute/v1/projects/p/zones/z/instances';
const VM = '/subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/vm-1?api-version=2023-07-01';

describe('an emulator on a socket', () => {
  test('an emulator answers in XML, and lists its resources [EC2]', async () => {
    const { ask } = await serve('aws');
    const launch = 'Action=RunInstances&ImageId=ami-1&InstanceType=m5.large&MinCount=1&MaxCount=1';
    const launched = await ask('POST', '/', `${launch}&BlockDeviceMapping.1.DeviceName=/dev/xvda&Version=2016-11-15`);
    const [, id = ''] = /<instanceId>(i-\w+)</.exec(launched.text) ?? [];
    expect(launched.header('content-type')).toBe('text/xml;charset=UTF-8');
    const { resources } = (await ask('GET', '/_emulator/resources')).json();
    expect(resources.map(({ kind, state }: { kind: string; state: string }) => [kind, state])).toEqual([
      ['instance', 'running'],
      ['volume', 'in-use'],
    ]);
    await ask('POST', '/', `Action=TerminateInstances&InstanceId.1=${id}`);
    expect((await ask('GET', '/_emulator/resources')).json()).toEqual({ resources: [] });
  });

  test('an emulator keeps the volumes that are not deleted with their instance, and lists them [EC2]', async () => {
    const { ask } = await serve('aws');
    const launch = 'Action=RunInstances&ImageId=ami-1&InstanceType=m5.large&MinCount=1&MaxCount=1';
    const parts =
      'NetworkInterface.1.DeviceIndex=0&NetworkInterface.1.DeleteOnTermination=true' +
      '&NetworkInterface.2.DeviceIndex=1&NetworkInterface.2.DeleteOnTermination=false' +
      '&BlockDeviceMapping.1.DeviceName=/dev/xvda&BlockDeviceMapping.1.Ebs.DeleteOnTermination=false';
    const launched = await ask('POST', '/', `${launch}&${parts}&Version=2016-11-15`);
    const [, id = ''] = /<instanceId>(i-\w+)</.exec(launched.text) ?? [];
    const states = async (): Promise<readonly string[]> =>
      (await ask('GET', '/_emulator/resources'))
        .json()
        .resources.map(({ kind, state }: { kind: string; state: string }) => `${kind} ${state}`);
    expect(await states()).toEqual([
      'instance running',
      'networkInterface in-use',
      'networkInterface in-use',
      'volume in-use',
    ]);
    await ask('POST', '/', `Action=TerminateInstances&InstanceId.1=${id}`);
    expect(await states()).toEqual(['networkInterface available', 'volume available']);
  });

  test('an emulator refuses a request with the signature of another account [EC2]', async () => {
    const { ask } = await serve('aws', { accessKeyId: 'AKIA', secretAccessKey: 's' });
    const answer = await ask('POST', '/', 'Action=DescribeInstances');
    expect([answer.status, answer.text]).toEqual([401, expect.stringContaining('<Code>AuthFailure</Code>')]);
  });

  test('Azure uses TLS, issues tokens for secrets and requires them, and runs operations', async () => {
    const account = { tenant: 't', clientId: 'c', secret: 'right' };
    const { ask } = await serve('azure', account);
    const login = (secret: string) =>
      ask('POST', '/t/oauth2/v2.0/token', new URLSearchParams({ ...LOGIN, client_secret: secret }).toString());
    const LOGIN = { grant_type: 'client_credentials', client_id: 'c', scope: 'x/.default' };
    expect((await login('wrong')).json()).toMatchObject({ error: 'invalid_client' });
    expect((await ask('GET', VM)).json()).toMatchObject({ error: { code: 'InvalidAuthenticationToken' } });
    const authorization = `Bearer ${(await login('right')).json().access_token}`;
    expect((await ask('GET', VM, undefined, { authorization })).json()).toMatchObject({
      error: { code: 'ResourceNotFound' },
    });
    const made = await ask('PUT', VM, JSON.stringify({ location: 'l', properties: {} }), { authorization });
    expect([made.status, made.json().properties.provisioningState]).toEqual([201, 'Creating']);
    const operation = new URL(made.header('azure-asyncoperation') ?? '');
    expect((await ask('GET', operation.pathname, undefined, { authorization })).json().status).toBe('Succeeded');
    expect((await ask('GET', '/_emulator/resources')).json().resources).toMatchObject([
      { name: 'vm-1', state: 'Succeeded' },
    ]);
  });

  test('Compute Engine exchanges only a correctly signed assertion for a token', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const key = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const { ask } = await serve('gcp', { email: 'e@p', key });
    const { createSign } = await import('node:crypto');
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const exp = Math.floor(realClock.now().getTime() / 1_000) + 600;
    const exchange = async (signed: boolean) => {
      const text = `${part({ alg: 'RS256' })}.${part({ iss: 'e@p', scope: 's', exp })}`;
      const signature = createSign('RSA-SHA256')
        .update(signed ? text : 'other')
        .sign(privateKey, 'base64url');
      const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
      return ask('POST', '/token', new URLSearchParams({ grant_type, assertion: `${text}.${signature}` }).toString());
    };
    expect((await exchange(false)).json()).toMatchObject({ error: 'invalid_grant' });
    const authorization = `Bearer ${(await exchange(true)).json().access_token}`;
    expect((await ask('GET', INSTANCES)).status).toBe(401);
    const body = JSON.stringify({ name: 'm-1', disks: [{ boot: true, autoDelete: true }] });
    const insert = await ask('POST', `${INSTANCES}?requestId=r`, body, { authorization });
    const again = await ask('POST', `${INSTANCES}?requestId=r`, body, { authorization });
    expect(again.json().name).toBe(insert.json().name);
    expect((await ask('GET', '/_emulator/resources')).json().resources).toHaveLength(2);
  });
});

describe('ordered faults', () => {
  test('a rule refuses a number of requests with the error of the cloud', async () => {
    const { ask } = await serve('gcp');
    const rule = { on: '^GET instances$', times: 1, refuse: { status: 503, code: 'backendError', retryAfter: 2 } };
    expect((await ask('POST', '/_emulator/faults', JSON.stringify(rule))).status).toBe(201);
    const refused = await ask('GET', INSTANCES);
    expect([refused.status, refused.header('retry-after')]).toEqual([503, '2']);
    expect((await ask('GET', INSTANCES)).status).toBe(200);
  });

  test('a web page cannot create fault rules, neither from another origin nor with its own domain', async () => {
    const { ask, emulator } = await serve('gcp');
    const rule = JSON.stringify({ on: '^GET instances$', refuse: { status: 503, code: 'backendError' } });
    expect((await ask('POST', '/_emulator/faults', rule, { origin: 'http://evil.example' })).status).toBe(403);
    expect((await ask('POST', '/_emulator/faults', rule, { host: 'evil.example' })).status).toBe(421);
    expect(emulator.faults.list()).toEqual([]);
  });

  test('a lost answer ends the connection after the request was carried out', async () => {
    const { ask, emulator } = await serve('gcp');
    emulator.faults.order({ on: '^POST instances$', lose: 'after' });
    await expect(ask('POST', INSTANCES, JSON.stringify({ name: 'm-1' }))).rejects.toThrow();
    expect(emulator.resources()).toMatchObject([{ name: 'm-1' }]);
  });

  test('an operation fails and leaves the resources that the fault rule names', async () => {
    const { ask, emulator } = await serve('azure');
    emulator.faults.order({ on: '^PUT virtualMachines$', failOperation: { code: 'AllocationFailed', leave: true } });
    const made = await ask('PUT', VM, JSON.stringify({ location: 'l', properties: {} }));
    const { pathname } = new URL(made.header('azure-asyncoperation') ?? '');
    expect((await ask('GET', pathname)).json()).toMatchObject({
      status: 'Failed',
      error: { code: 'AllocationFailed' },
    });
    expect(emulator.resources()).toMatchObject([{ name: 'vm-1', state: 'Failed' }]);
  });

  test('an invalid rule is refused with the name of its field', async () => {
    const { ask } = await serve('aws');
    const answer = await ask('POST', '/_emulator/faults', JSON.stringify({ on: 'x', tmies: 3 }));
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('tmies')]);
    expect((await ask('POST', '/_emulator/faults', JSON.stringify({ on: '(' }))).status).toBe(400);
  });
});
