import { createPublicKey, createVerify, generateKeyPairSync } from 'node:crypto';
import { GceEndpoint } from '@mcm/cloud-emulators';
import { seededRandom, VirtualClock } from '@mcm/kube';
import { createGcpDriver, type GcpCredentials, type GcpProviderSpec, gcpSettings } from '@mcm/provider-gcp';
import { describe, expect, test } from 'vitest';
import { refused, Stage } from '../rows/stage.ts';
import { abortAfter, broken, failing, reply, silence, timesOf, Wire } from './wire.ts';

/**
 * The rules of Google Cloud for endpoints, retries, cancellations, errors and operations:
 * `docs/compatibility/rules-drivers.md`.
 */

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const KEY = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const ACCOUNT = {
  type: 'service_account',
  project_id: 'p',
  client_email: 'e@p',
  private_key_id: 'kid',
  private_key: KEY,
};
const EXTERNAL = {
  type: 'external_account',
  audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  token_url: 'https://sts.googleapis.com/v1/token',
  credential_source: { file: '/var/run/secrets/gardener.cloud/workload-identity/token' },
};
const SPEC = {
  region: 'europe-west1',
  zone: 'europe-west1-b',
  machineType: 'n2-standard-4',
  disks: [{ boot: true, sizeGb: 50, type: 'pd-ssd', image: 'projects/p/global/images/i' }],
  networkInterfaces: [{ subnetwork: 'nodes', disableExternalIP: true }],
  scheduling: { automaticRestart: true, onHostMaintenance: 'MIGRATE', preemptible: false },
  tags: ['kubernetes-io-cluster-shoot--x', 'kubernetes-io-role-node'],
};
const secret = (account: object): Readonly<Record<string, string>> => ({
  serviceAccountJSON: JSON.stringify(account),
  projectID: 'p',
  userData: 'x',
});
const COMPUTE = 'https://compute.googleapis.com';

function open(variables: Readonly<Record<string, string>> = {}, flags: Parameters<typeof gcpSettings>[1] = {}) {
  const clock = new VirtualClock();
  const accounts = [{ email: 'e@p', key: publicKey.export({ type: 'spki', format: 'pem' }).toString() }];
  const cloud = new GceEndpoint({ clock, accounts });
  const wire = new Wire(clock, cloud.transport);
  const workload: { token: string | undefined } = { token: 'token-of-the-workload' };
  const driver = createGcpDriver({
    clock,
    random: seededRandom(1),
    connect: wire.connect,
    ...gcpSettings(variables, flags).settings,
    readFile: async () => workload.token,
  });
  const stage = new Stage<GcpProviderSpec, GcpCredentials>(clock, driver, {
    provider: 'GCP',
    spec: SPEC,
    secret: secret(ACCOUNT),
  });
  return { clock, cloud, wire, workload, stage };
}

const error = (status: number, reason: string, headers: Readonly<Record<string, string>> = {}, message = 'ordered') =>
  reply(status, { error: { code: status, message, errors: [{ reason, message }] } }, headers);
const LIST = 'GET .*/instances$';

describe('endpoints', () => {
  test.each(['https://gce.example', 'https://gce.example/compute/v1/', 'https://gce.example/'])(
    'GOOGLE_COMPUTE_CUSTOM_ENDPOINT is used: %s [E1-18]',
    async (endpoint) => {
      const { wire, stage } = open({ GOOGLE_COMPUTE_CUSTOM_ENDPOINT: endpoint });
      await stage.list();
      expect(wire.origins).toEqual(['https://oauth2.googleapis.com', 'https://gce.example']);
      expect(wire.sent.at(-1)?.path).toMatch(/^\/compute\/v1\/projects\/p\//);
    },
  );

  test('an endpoint with another path is refused with its name, and so is plain http to other hosts [E1-19]', () => {
    const read = (value: string) => gcpSettings({ GOOGLE_COMPUTE_CUSTOM_ENDPOINT: value });
    expect(() => read('https://gce.example/compute/beta')).toThrow('must not contain the path /compute/beta');
    expect(() => read('http://gce.example')).toThrow('plain http');
    expect(read('http://127.0.0.1:8400').settings).toEqual({ endpoint: 'http://127.0.0.1:8400' });
  });

  test('flags take precedence over the environment: endpoint, token endpoint and universe [E1-33]', async () => {
    const variables = {
      GOOGLE_COMPUTE_CUSTOM_ENDPOINT: 'https://variable.example',
      MCM_GCP_TOKEN_ENDPOINT: 'https://variable.example/token',
      GOOGLE_CLOUD_UNIVERSE_DOMAIN: 'variable.example',
    };
    const flags = { 'compute-endpoint': 'https://gce.example', 'token-endpoint': 'https://tokens.example/token' };
    const { wire, stage } = open(variables, { ...flags, 'universe-domain': 'flag.example' });
    const account = secret({ ...ACCOUNT, universe_domain: 'flag.example' });
    await stage.list({ secret: account });
    expect(wire.origins).toEqual(['https://tokens.example', 'https://gce.example']);
    const other = open(variables);
    await refused(other.stage.list({ secret: account }), 'Internal', 'universe_domain', 'variable.example');
    await other.stage.list({ secret: secret({ ...ACCOUNT, universe_domain: 'variable.example' }) });
    expect(other.wire.origins).toEqual(['https://variable.example']);
  });

  test('GOOGLE_CLOUD_UNIVERSE_DOMAIN sets all hosts, and the universe of credentials must be the same [E1-20]', async () => {
    const { wire, stage } = open({ GOOGLE_CLOUD_UNIVERSE_DOMAIN: 'apis.example' });
    await refused(stage.list(), 'Internal', 'universe_domain', 'googleapis.com', 'apis.example', 'must be equal');
    expect(wire.sent).toEqual([]);
    await stage.list({ secret: secret({ ...ACCOUNT, universe_domain: 'apis.example' }) });
    expect(wire.origins).toEqual(['https://oauth2.apis.example', 'https://compute.apis.example']);
    const google = { ...ACCOUNT, universe_domain: 'apis.example', token_uri: 'https://oauth2.googleapis.com/token' };
    await refused(stage.list({ secret: secret(google) }), 'Internal', 'token_uri', 'apis.example');
    expect(() => gcpSettings({ GOOGLE_CLOUD_UNIVERSE_DOMAIN: 'https://apis.example' })).toThrow('must be a domain');
  });

  test('without that setting, the universe in credentials changes no host [E1-21]', async () => {
    const { wire, stage } = open();
    await stage.list({ secret: secret({ ...ACCOUNT, universe_domain: 'evil.example' }) });
    expect(wire.origins).toEqual(['https://oauth2.googleapis.com', COMPUTE]);
  });

  test('a service account signs its own assertion, which is sent only to Google [E1-22]', async () => {
    const { wire, stage } = open();
    await stage.list();
    const form = new URLSearchParams(wire.sent[0]?.body);
    const [head = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.');
    const verify = createVerify('RSA-SHA256').update(`${head}.${claims}`);
    expect(
      verify.verify(createPublicKey(publicKey.export({ type: 'spki', format: 'pem' })), signature, 'base64url'),
    ).toBe(true);
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
      iss: 'e@p',
      aud: 'https://oauth2.googleapis.com/token',
    });
    for (const token_uri of [
      'https://evil.example/token',
      'http://oauth2.googleapis.com/token',
      'https://evilgoogleapis.com/t',
    ])
      await refused(stage.list({ secret: secret({ ...ACCOUNT, token_uri }) }), 'Internal', 'token_uri');
    expect(wire.origins).toEqual(['https://oauth2.googleapis.com', COMPUTE]);
  });

  test('MCM_GCP_TOKEN_ENDPOINT sets the token endpoint of service accounts [E1-23]', async () => {
    const { wire, stage } = open({ MCM_GCP_TOKEN_ENDPOINT: 'https://tokens.example/token' });
    await stage.list();
    expect(wire.origins).toEqual(['https://tokens.example', COMPUTE]);
  });

  test.each([
    { token_url: 'https://evil.example/token' },
    { credential_source: { file: '/etc/passwd' } },
    { service_account_impersonation_url: 'https://evil.example/x:generateAccessToken' },
  ])('the token of a workload is sent only to Google: %o [E1-24]', async (change) => {
    const { wire, stage } = open();
    await refused(stage.list({ secret: secret({ ...EXTERNAL, ...change }) }), 'Internal', Object.keys(change)[0] ?? '');
    expect(wire.sent).toEqual([]);
    wire.script = failing('POST /v1/token', () => reply(200, { access_token: 'own', expires_in: 3_600 }));
    await stage.list({ secret: secret(EXTERNAL) }).catch(() => undefined);
    expect(wire.origins).toEqual(['https://sts.googleapis.com', COMPUTE]);
    expect(wire.sent.at(-1)?.headers.authorization).toBe('Bearer own');
  });

  test('the metadata server is not used: a call without credentials fails without a request [E1-25]', async () => {
    const { wire, stage } = open();
    await refused(stage.list({ secret: { userData: 'x' } }), 'Internal', 'serviceAccountJSON');
    expect(wire.sent).toEqual([]);
  });

  test('requests contain the name of this product [E1-26]', async () => {
    const { wire, stage } = open();
    await stage.list();
    expect(wire.sent.at(-1)?.headers['user-agent']).toMatch(/^mcm\/\d/);
  });
});

describe('tokens', () => {
  const STS = 'POST /v1/token';
  const IMPERSONATION = 'https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@p:generateAccessToken';
  /** Returns the responses of STS, the impersonation service and Compute Engine for a list call. */
  const cloudOf = (livesS: number) => {
    let [given, played] = [0, 0];
    const sts = failing(STS, () => reply(200, { access_token: `own-${++given}`, expires_in: livesS }));
    const expireTime = (): string => '2026-01-01T01:00:00Z';
    const play = failing(':generateAccessToken', () =>
      reply(200, { accessToken: `played-${++played}`, expireTime: expireTime() }),
    );
    const list = failing(LIST, () => reply(200, {}));
    return (request: Parameters<typeof list>[0]) => sts(request) ?? play(request) ?? list(request);
  };
  const used = ({ sent }: Wire): readonly (string | undefined)[] =>
    sent.filter(({ path }) => path.endsWith('/instances')).map(({ headers }) => headers.authorization);
  const exchanged = ({ sent }: Wire): readonly (string | null)[] =>
    sent.filter(({ path }) => path === '/v1/token').map(({ body }) => new URLSearchParams(body).get('subject_token'));

  test('when a token expires, the driver exchanges the current token in the file [E1-48]', async () => {
    const { wire, stage, workload, clock } = open();
    wire.script = cloudOf(3_600);
    const external = { secret: secret(EXTERNAL) };
    await Promise.all([stage.list(external), stage.status(external).catch(() => undefined)]);
    workload.token = ' rotated\n';
    await stage.list(external);
    await clock.advance(3_600_000);
    await stage.list(external);
    expect(exchanged(wire)).toEqual(['token-of-the-workload', 'rotated']);
    expect(used(wire)).toEqual([...Array(3).fill('Bearer own-1'), 'Bearer own-2']);
    workload.token = undefined;
    await clock.advance(3_600_000);
    await refused(stage.list(external), 'Internal', 'workload-identity/token of the workload is unreadable or empty');
  });

  test('an impersonation exchanges the workload’s token for a token of the account with its own lifetime [E1-49]', async () => {
    const { wire, stage, clock } = open();
    wire.script = cloudOf(60);
    const external = { secret: secret({ ...EXTERNAL, service_account_impersonation_url: IMPERSONATION }) };
    await stage.list(external);
    expect(wire.lines.slice(0, 2)).toEqual([STS, `POST ${new URL(IMPERSONATION).pathname}`]);
    expect(wire.sent[1]?.headers.authorization).toBe('Bearer own-1');
    await clock.advance(40 * 60_000);
    await stage.list(external);
    expect(used(wire)).toEqual(['Bearer played-1', 'Bearer played-1']);
    await clock.advance(20 * 60_000);
    await stage.list(external);
    expect(used(wire).at(-1)).toBe('Bearer played-2');
  });

  test('a token that Google refuses is replaced with the next call, and the refused call is not repeated [E1-50]', async () => {
    const { wire, stage } = open();
    const refusal = failing(LIST, () => error(401, 'authError'), 1);
    const cloud = cloudOf(3_600);
    wire.script = (request) => refusal(request) ?? cloud(request);
    const external = { secret: secret(EXTERNAL) };
    await refused(stage.list(external), 'Internal', 'Error 401');
    await stage.list(external);
    await stage.list(external);
    expect(used(wire)).toEqual(['Bearer own-1', 'Bearer own-2', 'Bearer own-2']);
  });

  test('the refusal of a service account’s assertion is reported with its code, and the next call tries again [E1-51]', async () => {
    const { wire, stage } = open();
    wire.script = failing('POST /token', () => reply(400, { error: 'invalid_grant' }), 1);
    await refused(stage.list(), 'Internal', 'cannot fetch token from https://oauth2.googleapis.com: 400 invalid_grant');
    await stage.list();
    expect(timesOf(wire, 'POST /token')).toHaveLength(2);
  });
});

describe('repetitions', () => {
  test.each([
    [429, 'rateLimitExceeded'],
    [403, 'rateLimitExceeded'],
    [403, 'userRateLimitExceeded'],
    [403, 'RATE_LIMIT_EXCEEDED'],
  ])('a throttled request had no effect and is sent again: %i %s [E2-11]', async (status, reason) => {
    const { wire, stage } = open();
    wire.script = failing('POST .*/instances\\?', () => error(status, reason), 2);
    await stage.create();
    expect(timesOf(wire, 'POST .*/instances\\?')).toHaveLength(3);
  });

  test('the driver respects the delay that Google requests [E2-12]', async () => {
    const { wire, stage } = open();
    wire.script = failing(LIST, () => error(429, 'rateLimitExceeded', { 'retry-after': '6' }), 1);
    await stage.list();
    const [first = 0, second = 0] = timesOf(wire, LIST);
    expect(second - first).toBeGreaterThanOrEqual(6_000);
    expect(second - first).toBeLessThan(9_000);
  });

  test.each([
    [503, 'backendError'],
    [403, 'forbidden'],
    [403, 'quotaExceeded'],
    [400, 'invalid'],
  ])('any other request is sent once, and the machine tries again: %i %s [E2-13]', async (status, reason) => {
    const { wire, stage } = open();
    wire.script = failing(LIST, () => error(status, reason));
    await refused(stage.list(), 'Internal', String(status));
    expect(timesOf(wire, LIST)).toHaveLength(1);
  });

  test('insertions have a request ID from the Machine, a UUID; after a failed operation they have a new one [E2-14]', async () => {
    const { wire, stage, cloud } = open();
    const id = 'GET .*/operations/';
    wire.script = failing(id, () => error(500, 'backendError'), 1);
    await refused(stage.create(), 'Internal');
    await stage.create();
    cloud.faults.order({ on: '^POST instances$', times: 1, failOperation: { code: 'ZONE_RESOURCE_POOL_EXHAUSTED' } });
    await refused(stage.create({ name: 'm-2' }), 'ResourceExhausted');
    await stage.create({ name: 'm-2' });
    const ids = wire.sent
      .filter(({ method, path }) => method === 'POST' && path.includes('/instances?'))
      .map(({ path }) => new URLSearchParams(path.split('?')[1]).get('requestId') ?? '');
    for (const each of ids) expect(each).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(ids).toHaveLength(4);
    expect(ids[0]).toBe(ids[1]);
    expect(new Set(ids).size).toBe(3);
  });
});

describe('ends', () => {
  test.each<[string, Parameters<typeof failing>]>([
    ['while nobody answers', [LIST, silence]],
    ['while no token comes', ['POST /token', silence]],
    ['during a pause that Google requests', [LIST, () => error(429, 'rateLimitExceeded', { 'retry-after': '50' })]],
  ])('a call ends with its signal at once, %s [E3-04]', async (_what, script) => {
    const { wire, stage, clock } = open();
    wire.script = failing(...script);
    const start = clock.monotonic();
    await refused(stage.list({ signal: abortAfter(clock, 2_000) }), 'Canceled');
    expect(clock.monotonic() - start).toBeLessThan(2_100);
  });

  test('a call that waits for an operation also ends at its deadline [E3-05]', async () => {
    const { stage, clock } = open();
    const start = clock.monotonic();
    await refused(stage.create({ signal: abortAfter(clock, 7_000) }), 'Canceled');
    expect(clock.monotonic() - start).toBeLessThan(7_100);
  });
});

describe('errors', () => {
  test.each([
    [error(400, 'invalid'), 'Internal', 'Error 400: ordered, invalid'],
    [error(401, 'authError'), 'Internal', 'Error 401'],
    [error(404, 'notFound'), 'Internal', 'Error 404'],
    [error(412, 'conditionNotMet'), 'Internal', 'Error 412'],
    [error(503, 'backendError'), 'Internal', 'Error 503'],
    [reply(502, 'a proxy’s page'), 'Internal', 'Error 502'],
    [reply(500, {}), 'Internal', 'Error 500'],
    [reply(200, 'a proxy’s page'), 'Internal', 'not from Compute Engine'],
  ])('the error contains status and reason unchanged: %# [E4-10]', async (answer, code, says) => {
    const { wire, stage } = open();
    wire.script = failing('POST .*/instances\\?', () => answer);
    await refused(stage.create(), code, says);
  });

  test('a broken connection is reported with the code of Node.js [E4-11]', async () => {
    const { wire, stage } = open();
    wire.script = failing(LIST, () => broken('ECONNRESET'));
    await refused(stage.list(), 'Internal', 'ECONNRESET');
  });

  test.each(['ZONE_RESOURCE_POOL_EXHAUSTED', 'QUOTA_EXCEEDED'])(
    'a failed operation is an error with its code: %s [E4-12]',
    async (code) => {
      const { cloud, stage } = open();
      cloud.faults.order({ on: '^POST instances$', failOperation: { code, message: 'no room' } });
      await refused(stage.create(), 'ResourceExhausted', 'no room');
      expect(cloud.names()).toEqual([]);
    },
  );

  test('throttling is recognized by its reason or status, and is not reported as missing permission [E4-13]', async () => {
    const { wire, stage } = open();
    wire.script = failing(LIST, () => error(403, 'rateLimitExceeded'));
    await refused(stage.list(), 'Unavailable', 'rateLimitExceeded');
    wire.script = failing(LIST, () => error(403, 'forbidden'));
    await refused(stage.list(), 'Internal', 'forbidden');
  });
});

describe('operations', () => {
  test('an operation is polled after 1 s, 3 s, 7 s and then every 5 s, for any text of its status [E5-06]', async () => {
    const { wire, stage } = open();
    const name = 'operation-18446744073709551615';
    let looks = 0;
    const start = failing('POST .*/instances\\?', () =>
      reply(200, { name, id: '18446744073709551615', status: 'PENDING' }),
    );
    const look = failing(`GET .*/operations/${name}$`, () =>
      reply(200, { name, status: ++looks < 6 ? 'A_NEW_WORD' : 'DONE' }),
    );
    wire.script = (request) => start(request) ?? look(request);
    await stage.create();
    const times = timesOf(wire, 'operations');
    expect(times.map((at) => at - (times[0] ?? 0))).toEqual([0, 2_000, 6_000, 11_000, 16_000, 21_000]);
  });
});
