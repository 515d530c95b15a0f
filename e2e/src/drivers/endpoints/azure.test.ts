import { ArmEndpoint, type ArmEndpointOptions } from '@mcm/cloud-emulators';
import { seededRandom, VirtualClock } from '@mcm/kube';
import { type AzureCredentials, type AzureProviderSpec, azureSettings, createAzureDriver } from '@mcm/provider-azure';
import { describe, expect, test } from 'vitest';
import { refused, Stage } from '../rows/stage.ts';
import { abortAfter, broken, failing, reply, silence, timesOf, Wire } from './wire.ts';

/**
 * The rules of Azure for endpoints, retries, cancellations, errors and operations:
 * `docs/compatibility/rules-drivers.md`.
 */

const SPEC = {
  location: 'westeurope',
  resourceGroup: 'rg',
  subnetInfo: { vnetName: 'vnet', subnetName: 'nodes' },
  tags: { 'kubernetes.io-cluster-shoot--x': '1', 'kubernetes.io-role-node': '1' },
  properties: {
    zone: 1,
    hardwareProfile: { vmSize: 'Standard_D4s_v5' },
    osProfile: {
      adminUsername: 'core',
      linuxConfiguration: { ssh: { publicKeys: { path: '/k', keyData: 'ssh-rsa AAAA' } } },
    },
    storageProfile: {
      imageReference: { communityGalleryImageID: '/CommunityGalleries/g/Images/i/Versions/1.0.0' },
      osDisk: { createOption: 'FromImage', diskSizeGB: 50 },
    },
  },
};
const SECRET = { clientID: 'c', clientSecret: 's', subscriptionID: 'sub', tenantID: 't', userData: '#cloud-config' };
const { clientSecret: _, ...NO_SECRET } = SECRET;
const CHINA = ['https://login.chinacloudapi.cn', 'https://management.chinacloudapi.cn'];
const PUBLIC = { management: 'https://management.azure.com', login: 'https://login.microsoftonline.com' };

function open(
  variables: Readonly<Record<string, string>> = {},
  options: Partial<ArmEndpointOptions> = {},
  flags: Parameters<typeof azureSettings>[1] = {},
) {
  const clock = new VirtualClock();
  const cloud = new ArmEndpoint({ clock, origin: PUBLIC.management, ...options });
  const wire = new Wire(clock, cloud.transport);
  const files = new Map([['/token', 'token-of-the-workload']]);
  const make = () =>
    createAzureDriver({
      clock,
      random: seededRandom(1),
      connect: wire.connect,
      ...azureSettings(variables, flags).settings,
      readFile: async (path) => files.get(path),
      throwAwayKey: async () => 'ssh-rsa NOBODY',
    });
  const stageOf = (driver: ReturnType<typeof make>) =>
    new Stage<AzureProviderSpec, AzureCredentials>(clock, driver, { provider: 'Azure', spec: SPEC, secret: SECRET });
  return { clock, cloud, wire, files, make, stageOf, stage: stageOf(make()) };
}

const error = (status: number, code: string, headers: Readonly<Record<string, string>> = {}, more: object = {}) =>
  reply(status, { error: { code, message: 'ordered', ...more } }, headers);
const formOf = (wire: Wire): URLSearchParams =>
  new URLSearchParams(wire.sent.find(({ path }) => path.includes('oauth2'))?.body);

const VM = 'virtualMachines/m-1\\?';

describe('endpoints', () => {
  test.each([
    [undefined, PUBLIC, 'https://management.core.windows.net//.default'],
    ['AzurePublic', PUBLIC, 'https://management.core.windows.net//.default'],
    [
      'AzureChina',
      { management: 'https://management.chinacloudapi.cn', login: 'https://login.chinacloudapi.cn' },
      'https://management.core.chinacloudapi.cn/.default',
    ],
    [
      'AzureGovernment',
      { management: 'https://management.usgovcloudapi.net', login: 'https://login.microsoftonline.us' },
      'https://management.core.usgovcloudapi.net/.default',
    ],
  ])('the cloud determines endpoint, login host and audience: %s [E1-10]', async (name, cloud, scope) => {
    const { wire, stage } = open();
    const spec = name === undefined ? SPEC : { ...SPEC, cloudConfiguration: { name } };
    await stage.list({ spec });
    expect([...wire.origins].toSorted()).toEqual(Object.values(cloud).toSorted());
    expect(formOf(wire).get('scope')).toBe(scope);
  });

  test.each(['https://arm.example', 'https://arm.example/'])(
    'AZURE_RESOURCE_MANAGER_ENDPOINT is used, and the audience remains the audience of the cloud: %s [E1-11]',
    async (endpoint) => {
      const { wire, stage } = open({ AZURE_RESOURCE_MANAGER_ENDPOINT: endpoint }, {}, { 'azure-cloud': 'AzureChina' });
      await stage.list();
      expect(wire.origins).toEqual(['https://login.chinacloudapi.cn', 'https://arm.example']);
      expect(formOf(wire).get('scope')).toBe('https://management.core.chinacloudapi.cn/.default');
    },
  );

  test.each([
    ['the provider spec’s cloud', { name: 'AzureChina' }, { management: 'flag', login: 'flag' }, CHINA],
    ['flags', undefined, { management: 'flag', login: 'flag' }, ['https://flag.example', 'https://flag.example']],
    ['a flag for one of them', undefined, { login: 'flag' }, ['https://flag.example', 'https://variable.example']],
    ['variables', undefined, {}, ['https://variable.example', 'https://variable.example']],
  ])(
    'the provider spec takes precedence over flags, and flags over the environment: %s [E1-31]',
    async (_what, cloud, flagged, origins) => {
      const url = (host: string | undefined): string => (host === undefined ? '' : `https://${host}.example`);
      const variables = {
        AZURE_RESOURCE_MANAGER_ENDPOINT: 'https://variable.example',
        AZURE_AUTHORITY_HOST: 'https://variable.example',
      };
      const { management, login } = flagged as { management?: string; login?: string };
      const flags = { 'resource-manager-endpoint': url(management), 'authority-host': url(login) };
      const { wire, stage } = open(variables, {}, { ...flags, 'azure-cloud': 'AzureGovernment' });
      await stage.list({ spec: cloud ? { ...SPEC, cloudConfiguration: cloud } : SPEC });
      expect(wire.origins).toEqual([...new Set(origins)]);
      const audience = cloud ? 'chinacloudapi.cn' : 'usgovcloudapi.net';
      expect(formOf(wire).get('scope')).toBe(`https://management.core.${audience}/.default`);
    },
  );

  test('--azure-cloud sets the cloud of classes without a cloud, with its login host and audience [E1-32]', async () => {
    const { wire, stage } = open({}, {}, { 'azure-cloud': 'AzureChina' });
    await stage.list();
    expect(wire.origins).toEqual(CHINA);
    expect(formOf(wire).get('scope')).toBe('https://management.core.chinacloudapi.cn/.default');
    await stage.list({ spec: { ...SPEC, cloudConfiguration: { name: 'AzurePublic' } } });
    expect(wire.origins.toSorted()).toEqual([...CHINA, ...Object.values(PUBLIC)].toSorted());
  });

  test('AZURE_AUTHORITY_HOST is used only for tokens [E1-12]', async () => {
    const { wire, stage } = open({ AZURE_AUTHORITY_HOST: 'https://login.example/' });
    await stage.list();
    const there = wire.sent.filter(({ origin }) => origin === 'https://login.example');
    expect(there.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /t/oauth2/v2.0/token']);
  });

  test.each(['AZURE_RESOURCE_MANAGER_ENDPOINT', 'AZURE_AUTHORITY_HOST'])(
    '%s can use plain http only on this host, and has no path [E1-13]',
    (name) => {
      expect(() => azureSettings({ [name]: 'http://arm.example' })).toThrow(/plain http.*MCM_ALLOW_PLAIN_HTTP=true/);
      expect(azureSettings({ [name]: 'http://127.0.0.1:5000' }).endpoints).toEqual({ [name]: 'http://127.0.0.1:5000' });
      const far = { [name]: 'http://arm.example' };
      expect(azureSettings(far, { 'allow-plain-http': true }).endpoints).toEqual(far);
      expect(azureSettings({ ...far, MCM_ALLOW_PLAIN_HTTP: 'true' }).endpoints).toEqual(far);
      expect(() => azureSettings({ [name]: 'https://arm.example/x' })).toThrow(`${name} must not contain the path /x`);
    },
  );

  test.each(['azure-asyncoperation', 'location'])(
    'an operation with an address on another host gets no request and no token there: %s [E1-14]',
    async (header) => {
      const { wire, stage } = open();
      wire.script = failing(`PUT .*${VM}`, () => reply(202, {}, { [header]: 'https://evil.example/operations/1' }));
      await refused(stage.create(), 'Internal', 'https://evil.example, which mcm does not allow');
      expect(wire.origins).not.toContain('https://evil.example');
    },
  );

  test('requests contain the name of this product [E1-15]', async () => {
    const { wire, stage } = open();
    await stage.list();
    expect(wire.sent.at(-1)?.headers['user-agent']).toMatch(/^mcm\/\d/);
  });

  test('a Secret has one kind of credentials, and the metadata server is not used [E1-16]', async () => {
    const { wire, stage } = open();
    await stage.list({ secret: { ...NO_SECRET, workloadIdentityTokenFile: '/token' } });
    expect(Object.fromEntries(formOf(wire))).toMatchObject({
      client_assertion: 'token-of-the-workload',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    });
    await refused(stage.list({ secret: { ...NO_SECRET, workloadIdentityTokenFile: '/none' } }), 'Internal', '/none');
    expect([...wire.origins].toSorted()).toEqual(Object.values(PUBLIC).toSorted());
  });

  test('the driver requests a token once for all calls, and again five minutes before its expiry [E1-17]', async () => {
    const { wire, stage, clock } = open();
    await Promise.all([stage.list(), stage.status().catch(() => undefined), stage.list()]);
    expect(timesOf(wire, 'oauth2')).toHaveLength(1);
    await clock.advance(54 * 60_000);
    await stage.list();
    expect(timesOf(wire, 'oauth2')).toHaveLength(1);
    await clock.advance(2 * 60_000);
    await stage.list();
    expect(timesOf(wire, 'oauth2')).toHaveLength(2);
  });
});

describe('tokens', () => {
  const WORKLOAD = { ...NO_SECRET, workloadIdentityTokenFile: '/token' };
  const asked = ({ sent }: Wire): readonly (string | null)[] =>
    sent
      .filter(({ path }) => path.includes('oauth2'))
      .map(({ body }) => new URLSearchParams(body).get('client_assertion'));
  const giving = (livesS: number) => {
    let given = 0;
    return failing('oauth2', () => reply(200, { access_token: `token-${++given}`, expires_in: livesS }));
  };
  const used = ({ sent }: Wire): readonly (string | undefined)[] =>
    sent.filter(({ path }) => !path.includes('oauth2')).map(({ headers }) => headers.authorization);

  test('when a token expires, the driver exchanges the current token in the file [E1-45]', async () => {
    const { wire, stage, files, clock } = open();
    wire.script = giving(3_600);
    await stage.list({ secret: WORKLOAD });
    files.set('/token', 'rotated');
    await stage.list({ secret: WORKLOAD });
    await clock.advance(3_600_000);
    await stage.list({ secret: WORKLOAD });
    expect(asked(wire)).toEqual(['token-of-the-workload', 'rotated']);
    expect(used(wire)).toEqual(['Bearer token-1', 'Bearer token-1', 'Bearer token-2']);
  });

  test('a token that Azure refuses is replaced with the next call, and the refused call is not repeated [E1-46]', async () => {
    const { wire, stage } = open();
    const [given, refusal] = [
      giving(3_600),
      failing('ResourceGraph', () => error(401, 'ExpiredAuthenticationToken'), 1),
    ];
    wire.script = (request) => given(request) ?? refusal(request);
    await refused(stage.list(), 'Internal', 'ExpiredAuthenticationToken');
    await stage.list();
    await stage.list();
    expect(used(wire)).toEqual(['Bearer token-1', 'Bearer token-2', 'Bearer token-2']);
  });

  test('the error of a refused login contains its code, and the next call logs in again [E1-47]', async () => {
    const { wire, stage } = open();
    wire.script = failing(
      'oauth2',
      () => reply(401, { error: 'invalid_client', error_description: 'AADSTS7000215' }),
      1,
    );
    await refused(stage.list(), 'Internal', 'no token from https://login.microsoftonline.com: 401 invalid_client');
    await stage.list();
    expect(timesOf(wire, 'oauth2')).toHaveLength(2);
  });
});

describe('repetitions', () => {
  test.each([500, 503, 408])(
    'a request is sent at most four times, with growing pauses: %i [E2-06]',
    async (status) => {
      const { wire, stage } = open();
      wire.script = failing(`GET .*${VM}`, () => error(status, 'Oops'));
      await refused(stage.status(), 'Internal', 'Oops');
      const pauses = timesOf(wire, `GET .*${VM}`).flatMap((at, i, all) => (i === 0 ? [] : [at - (all[i - 1] ?? 0)]));
      expect(pauses).toHaveLength(3);
      expect(pauses).toEqual(pauses.toSorted((a, b) => a - b));
      expect(Math.max(...pauses)).toBeLessThan(15_000);
    },
  );

  test.each([400, 403, 409, 501])('a request with a permanent error is sent once: %i [E2-07]', async (status) => {
    const { wire, stage } = open();
    wire.script = failing(`GET .*${VM}`, () => error(status, 'Oops'));
    await refused(stage.status(), 'Internal', 'Oops');
    expect(timesOf(wire, `GET .*${VM}`)).toHaveLength(1);
  });

  test.each([
    ['retry-after', '7', 7_000],
    ['retry-after-ms', '2500', 2_500],
    ['x-ms-retry-after-ms', '2600', 2_600],
  ])('the driver respects the delay that Azure requests: %s [E2-08]', async (header, value, ms) => {
    const { wire, stage } = open();
    wire.script = failing(`GET .*${VM}`, () => error(429, 'TooManyRequests', { [header]: value }), 1);
    await refused(stage.status(), 'NotFound');
    const [first = 0, second = 0] = timesOf(wire, `GET .*${VM}`);
    expect(second - first).toBeGreaterThanOrEqual(ms);
    expect(second - first).toBeLessThan(ms + 5_000);
  });

  test('the driver waits until the quota of Resource Graph resets [E2-16]', async () => {
    const { wire, stage } = open();
    const refusal = () => error(429, 'RateLimiting', { 'x-ms-user-quota-resets-after': '00:00:05' });
    wire.script = failing('ResourceGraph', refusal, 1);
    await stage.list();
    const [first = 0, second = 0] = timesOf(wire, 'ResourceGraph');
    expect(second - first).toBeGreaterThanOrEqual(5_000);
    expect(second - first).toBeLessThan(10_000);
  });

  test('the driver respects a Retry-After with a date [E2-17]', async () => {
    const { wire, stage, clock } = open();
    const date = new Date(clock.now().getTime() + 9_000).toUTCString();
    wire.script = failing(`GET .*${VM}`, () => error(503, 'ServerBusy', { 'retry-after': date }), 1);
    await refused(stage.status(), 'NotFound');
    const [first = 0, second = 0] = timesOf(wire, `GET .*${VM}`);
    expect(second - first).toBeGreaterThan(7_500);
    expect(second - first).toBeLessThan(10_000);
  });

  test('for a pause of minutes, the call ends and the caller waits [E2-09]', async () => {
    const { wire, stage, clock } = open();
    wire.script = failing(`GET .*${VM}`, () => error(429, 'TooManyRequests', { 'retry-after': '300' }));
    const start = clock.monotonic();
    await refused(stage.status(), 'Unavailable', 'TooManyRequests');
    expect(clock.monotonic() - start).toBeLessThan(1_000);
    expect(timesOf(wire, `GET .*${VM}`)).toHaveLength(1);
  });

  test('a repeated creation creates no duplicates, because every resource has a fixed name [E2-10]', async () => {
    const { wire, stage, cloud } = open();
    wire.script = failing(`GET .*operations`, () => error(500, 'Oops'), 4);
    await stage.create().catch(() => undefined);
    await stage.create();
    await stage.create();
    expect(
      cloud
        .resources()
        .map(({ kind }) => kind)
        .toSorted(),
    ).toEqual(['disk', 'instance', 'networkInterface']);
  });
});

describe('ends', () => {
  test.each<[string, Parameters<typeof failing>]>([
    [
      'during a pause that Azure requests',
      [`GET .*${VM}`, () => error(429, 'TooManyRequests', { 'retry-after': '50' })],
    ],
    ['while nobody answers', [`GET .*${VM}`, silence]],
    ['while no token comes', ['oauth2', silence]],
  ])('a call ends with its signal at once, %s [E3-02]', async (_what, script) => {
    const { wire, stage, clock } = open();
    wire.script = failing(...script);
    const start = clock.monotonic();
    await refused(stage.status({ signal: abortAfter(clock, 2_000) }), 'Canceled');
    expect(clock.monotonic() - start).toBeLessThan(2_100);
  });

  test('a call that waits for an operation also ends at its deadline, between two polls [E3-03]', async () => {
    const { stage, clock } = open();
    const start = clock.monotonic();
    await refused(stage.create({ signal: abortAfter(clock, 20_000) }), 'Canceled');
    expect(clock.monotonic() - start).toBeLessThan(20_100);
  });
});

describe('errors', () => {
  test.each([
    [error(400, 'InvalidParameter', {}, { details: [{ code: 'SubCode', message: 'why' }] }), 'InvalidParameter'],
    [reply(400, { code: 'Plain', message: 'without a wrapping' }), 'Plain'],
    [reply(400, {}), '400 without a code'],
    [reply(502, 'a proxy’s page'), '502 without a code'],
  ])('the error contains status and code of a refusal: %o [E4-04]', async (answer, says) => {
    const { wire, stage } = open();
    wire.script = failing(`GET .*${VM}`, () => answer);
    await refused(stage.status(), 'Internal', says);
  });

  test.each(['ZonalAllocationFailed', 'SkuNotAvailable', 'AllocationFailed'])(
    'an operation that fails later is reported with its code, like an immediate refusal: %s [E4-05]',
    async (code) => {
      const { cloud, stage } = open();
      cloud.faults.order({ on: '^PUT virtualMachines$', times: 1, failOperation: { code } });
      await refused(stage.create(), 'ResourceExhausted', code);
      expect(cloud.ids()).toEqual([]);
    },
  );

  test('a canceled operation counts as failed [E4-06]', async () => {
    const { wire, stage } = open();
    wire.script = failing('GET .*operations', () =>
      reply(200, { status: 'Canceled', error: { code: 'Canceled', message: 'by somebody' } }),
    );
    await refused(stage.create(), 'Internal', 'by somebody');
  });

  test.each(['ECONNRESET', 'ECONNREFUSED'])(
    'a broken connection is reported with the code of Node.js: %s [E4-07]',
    async (code) => {
      const { wire, stage } = open();
      wire.script = failing(`GET .*${VM}`, () => broken(code));
      await refused(stage.status(), 'Internal', code);
    },
  );

  test('OperationNotAllowed means a lack of quota with 409, and throttling with 429 [E4-08]', async () => {
    const { wire, stage } = open();
    const text = {
      message: 'Operation could not be completed as it results in exceeding approved Total Regional Cores quota.',
    };
    wire.script = failing(`PUT .*${VM}`, () => error(409, 'OperationNotAllowed', {}, text));
    await refused(stage.create(), 'ResourceExhausted', 'OperationNotAllowed');
    const other = open();
    other.wire.script = failing(`GET .*${VM}`, () => error(429, 'OperationNotAllowed', { 'retry-after': '300' }));
    await refused(other.stage.status(), 'Unavailable', 'OperationNotAllowed');
  });

  test('a refused page fails the whole listing with its code [E4-09]', async () => {
    const { wire, stage } = open();
    wire.script = failing('ResourceGraph', () => error(404, 'NoSuchPage'));
    await refused(stage.list(), 'Internal', 'NoSuchPage');
  });
});

describe('operations', () => {
  test('a creation sends one PUT, polls its operation until the end, and reads the VM once [E5-02]', async () => {
    const { wire, stage } = open();
    await stage.create();
    const lines = wire.lines.slice(wire.lines.findIndex((line) => line.startsWith('PUT') && line.endsWith('m-1')));
    expect(lines[0]).toMatch(/^PUT .*virtualMachines\/m-1$/);
    expect(lines.slice(1, -1).every((line) => line.startsWith('GET /operations/'))).toBe(true);
    expect(lines.length).toBeGreaterThan(2);
    expect(lines.at(-1)).toMatch(/^GET .*virtualMachines\/m-1$/);
  });

  test.each([
    ['after 4 s', { 'retry-after': '4' }, 4_000],
    ['nothing', {}, 30_000],
    ['at once', { 'retry-after': '0' }, 30_000],
  ])(
    'an operation is polled in the interval of Azure, by default every 30 s: Azure requests %s [E5-03]',
    async (_what, says, ms) => {
      const { wire, stage } = open();
      let looks = 0;
      wire.script = failing('GET .*operations', () =>
        reply(200, { status: ++looks < 3 ? 'InProgress' : 'Succeeded' }, looks < 3 ? says : {}),
      );
      await stage.create();
      const [first = 0, second = 0, third = 0] = timesOf(wire, 'GET .*operations');
      expect([second - first, third - second]).toEqual([ms, ms]);
    },
  );

  test.each([
    ['at once', () => reply(204)],
    ['by its address', () => reply(202, '', { location: `${PUBLIC.management}/operations/gone` })],
    ['that is there no more', () => error(404, 'ResourceNotFound')],
  ])('a deletion ends %s [E5-04]', async (_what, answer) => {
    const { wire, stage } = open();
    await stage.create();
    let polls = 0;
    const first = failing(`DELETE .*${VM}`, answer);
    const then = failing('operations/gone', () => reply(++polls < 3 ? 202 : 204));
    wire.script = (request) => first(request) ?? then(request);
    await stage.delete().catch((thrown: unknown) => expect(String(thrown)).toContain('ResourceNotFound'));
    expect(polls).toBe(_what === 'by its address' ? 3 : 0);
  });

  test('a creation of another process is completed without duplicates [E5-05]', async () => {
    const { wire, stage, stageOf, make, clock, cloud } = open();
    await refused(stage.create({ signal: abortAfter(clock, 110_000) }), 'Canceled');
    const puts = (): number => timesOf(wire, `PUT .*${VM}`).length;
    expect(puts()).toBe(1);
    await stageOf(make()).create();
    expect(puts()).toBe(1);
    expect(cloud.resources().every(({ state }) => state === 'Succeeded')).toBe(true);
  });
});
