import { type Federation, GceEndpoint } from '@mcm/cloud-emulators';
import { seededRandom, VirtualClock } from '@mcm/kube';
import { createGcpDriver, type GcpCredentials, type GcpProviderSpec, gcpSettings } from '@mcm/provider-gcp';
import { describe, expect, test } from 'vitest';
import { broken, failing, reply, timesOf, Wire } from '../endpoints/wire.ts';
import { gcp } from '../providers.ts';
import { refused, Stage } from '../rows/stage.ts';
import { forbidSockets } from './no-sockets.ts';
import { pemOf, rsaKeys } from './rsa.ts';

/** Every login to Google Cloud, with the emulated token services and metadata servers. */

forbidSockets();

const { privateKey } = rsaKeys();
const POOL = '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q';
const AWS = {
  role: 'nodes',
  region: 'eu-north-1',
  keys: { accessKeyId: 'ASIAHOST', secretAccessKey: 'secret-of-the-host', sessionToken: 'session-of-the-host' },
};
const FEDERATION: Federation = {
  audience: POOL,
  tokens: ['token-of-the-workload'],
  impersonable: ['machines@p'],
  hostAccounts: ['host@p'],
  aws: AWS,
};
const [STS, IAM, COMPUTE] = [
  'https://sts.googleapis.com',
  'https://iamcredentials.googleapis.com',
  'https://compute.googleapis.com',
];
const [GCE_HOST, AWS_HOST] = ['http://metadata.google.internal', 'http://169.254.169.254'];
const IMPERSONATION = `${IAM}/v1/projects/-/serviceAccounts/machines@p:generateAccessToken`;
const EXTERNAL = {
  type: 'external_account',
  audience: POOL,
  token_url: `${STS}/v1/token`,
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
};
const FILE = { ...EXTERNAL, credential_source: { file: '/tokens/google' } };
const URL_ = {
  ...EXTERNAL,
  credential_source: {
    url: 'https://idp.example/subject-token?audience=g',
    headers: { 'x-workload': 'machines' },
    format: { type: 'json', subject_token_field_name: 'value' },
  },
};
const ROLE = {
  ...EXTERNAL,
  subject_token_type: 'urn:ietf:params:aws:token-type:aws4_request',
  credential_source: {
    environment_id: 'aws1',
    region_url: `${AWS_HOST}/latest/meta-data/placement/availability-zone`,
    url: `${AWS_HOST}/latest/meta-data/iam/security-credentials`,
    regional_cred_verification_url: 'https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15',
  },
};
const HOST = { type: 'metadata_server' };
const ALL = { MCM_GCP_CREDENTIAL_SOURCES: '/tokens, https://idp.example, aws, metadata' };
const secretOf = (account: object) => ({ serviceAccountJSON: JSON.stringify(account), projectID: 'p', userData: 'x' });

function open(variables: Readonly<Record<string, string>> = ALL, flags: Parameters<typeof gcpSettings>[1] = {}) {
  const clock = new VirtualClock();
  const cloud = new GceEndpoint({ clock, accounts: [], federation: FEDERATION });
  const wire = new Wire(clock, cloud.transport);
  const files = new Map([['/tokens/google', 'token-of-the-workload']]);
  const driver = createGcpDriver({
    clock,
    random: seededRandom(1),
    connect: wire.connect,
    ...gcpSettings(variables, flags).settings,
    readFile: async (path) => files.get(path),
  });
  const { providerSpec } = gcp().machineClass;
  const stage = new Stage<GcpProviderSpec, GcpCredentials>(clock, driver, {
    provider: 'GCP',
    spec: providerSpec ?? {},
    secret: {},
  });
  const list = (account: object) => stage.list({ secret: secretOf(account) });
  return { clock, wire, files, list };
}

const ORIGINAL = 'invalid credential_source: should equal /var/run/secrets/gardener.cloud/workload-identity/token';

describe('sources of workload tokens', () => {
  test.each<[what: string, account: object, origins: readonly string[]]>([
    ['a file', FILE, [STS, COMPUTE]],
    ['a URL', URL_, ['https://idp.example', STS, COMPUTE]],
    ['a role in AWS', ROLE, [AWS_HOST, STS, COMPUTE]],
    ['a metadata server', HOST, [GCE_HOST, COMPUTE]],
    ['a service account of the host', { ...HOST, service_account: 'host@p' }, [GCE_HOST, COMPUTE]],
  ])('a workload logs in with %s, and its token is cached [E1-62]', async (_what, account, origins) => {
    const { wire, list } = open();
    await Promise.all([list(account), list(account)]);
    const asked = wire.sent.length;
    await list(account);
    expect(wire.origins).toEqual(origins);
    expect(wire.sent).toHaveLength(asked + 1);
  });

  test.each<[what: string, account: object, says: string]>([
    ['a file', FILE, ORIGINAL],
    ['a URL', URL_, ORIGINAL],
    ['a role in AWS', ROLE, ORIGINAL],
    ['a metadata server', HOST, 'forbidden credential type "metadata_server" used'],
    [
      'a metadata server as the source of an impersonation',
      { type: 'impersonated_service_account', source_credentials: HOST },
      'forbidden credential type "metadata_server" used',
    ],
  ])(
    'sources that the operator does not allow are refused as in the original: %s [E1-63]',
    async (_what, account, says) => {
      const others = { MCM_GCP_CREDENTIAL_SOURCES: '/tokens/googles,/token,https://idp.example.org,https://example' };
      for (const variables of [{}, others]) {
        const { wire, list } = open(variables);
        await refused(list(account), 'Internal', says);
        expect(wire.sent).toEqual([]);
      }
    },
  );

  test.each([
    { file: '/tokens/../etc/passwd' },
    { url: 'https://idp.example.evil.example/' },
    { url: 'https://user@idp.example/' },
    { environment_id: 'aws1', url: 'http://evil.example/latest' },
    { environment_id: 'aws2' },
    { ...URL_.credential_source, format: { type: 'xml' } },
    { ...URL_.credential_source, format: { type: 'json' } },
    {},
  ])('a source with another host is refused without a request: %j [E1-64]', async (credential_source) => {
    const { wire, list } = open();
    const isAws = 'environment_id' in credential_source;
    const account = { ...(isAws ? ROLE : EXTERNAL), credential_source };
    await refused(list(account), 'Internal', 'invalid credentials config: invalid credential_source');
    expect(wire.sent).toEqual([]);
  });

  test.each(['tokens', '/a/../b', 'https://idp.example/path', 'http://idp.example', 'https://u@idp.example', 'azure'])(
    'a misspelled source of the operator ends the process with an error that contains it: %s [E1-65]',
    (entry) => {
      const settings = () => gcpSettings({}, { 'credential-sources': `aws, ${entry}` });
      expect(settings).toThrow(`--credential-sources: "${entry}" is not a source`);
    },
  );

  test('when a token expires, the driver exchanges the current token in the file [E1-66]', async () => {
    const { wire, files, list, clock } = open();
    const json = { ...FILE, credential_source: { ...URL_.credential_source, url: undefined, file: '/tokens/google' } };
    files.set('/tokens/google', JSON.stringify({ value: 'token-of-the-workload' }));
    await list(json);
    files.set('/tokens/google', JSON.stringify({ value: 'of-another-workload' }));
    await list(json);
    await clock.advance(3_600_000);
    await refused(list(json), 'Internal', '400 invalid_grant');
    files.set('/tokens/google', 'no JSON of-another-workload');
    const text = await refused(list(json), 'Internal', '/tokens/google returned no JSON with a string in value');
    expect(text).not.toContain('of-another-workload');
    files.delete('/tokens/google');
    await refused(list(json), 'Internal', '/tokens/google of the workload is unreadable or empty');
    expect(timesOf(wire, 'POST /v1/token')).toHaveLength(2);
  });

  test('a request to a URL has the headers of the Secret [E1-67]', async () => {
    const { wire, list } = open();
    await list(URL_);
    expect(wire.sent[0]).toMatchObject({
      method: 'GET',
      path: '/subject-token?audience=g',
      headers: { 'x-workload': 'machines' },
    });
  });

  test('a role in AWS signs a request for its pool, with keys of the environment or of the host [E1-68]', async () => {
    const host = open();
    await host.list(ROLE);
    expect(host.wire.lines.slice(0, 4)).toEqual([
      'PUT /latest/api/token',
      'GET /latest/meta-data/placement/region',
      'GET /latest/meta-data/iam/security-credentials/',
      'GET /latest/meta-data/iam/security-credentials/nodes',
    ]);
    const { accessKeyId, secretAccessKey, sessionToken } = AWS.keys;
    const keys = {
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      AWS_SESSION_TOKEN: sessionToken,
      AWS_REGION: 'us-east-1',
    };
    const { wire, list } = open({ ...ALL, ...keys });
    await list(ROLE);
    expect(wire.origins).toEqual([STS, COMPUTE]);
    const subject = new URLSearchParams(wire.sent[0]?.body).get('subject_token') ?? '';
    expect(decodeURIComponent(subject)).toContain(
      '"url":"https://sts.us-east-1.amazonaws.com?Action=GetCallerIdentity',
    );
    expect(decodeURIComponent(subject)).not.toContain(secretAccessKey);
    const wrong = open({ ...ALL, ...keys, AWS_SECRET_ACCESS_KEY: 'another-secret' });
    const text = await refused(wrong.list(ROLE), 'Internal', '400 invalid_grant');
    expect(text).not.toContain('another-secret');
  });
});

describe('impersonation', () => {
  const played = (source_credentials: object, more: object = {}) => ({
    type: 'impersonated_service_account',
    service_account_impersonation_url: IMPERSONATION,
    source_credentials,
    ...more,
  });

  test.each([
    ['an external account', { ...FILE, service_account_impersonation_url: IMPERSONATION }, STS],
    ['an external account as its source', played(FILE), STS],
    ['the host as its source', played(HOST), GCE_HOST],
  ])('an account impersonates another account: %s [E1-69]', async (_what, account, first) => {
    const { wire, list } = open();
    await list(account);
    expect(wire.origins).toEqual([first, IAM, COMPUTE]);
    const used = wire.sent.map(({ headers }) => headers.authorization);
    expect(used[1]).not.toBe(used[2]);
  });

  test('delegates and the lifetime are in the request, and the error contains the status of a refusal [E1-70]', async () => {
    const { wire, list } = open();
    await list(played(HOST, { delegates: ['d@p'] }));
    expect(JSON.parse(wire.sent[1]?.body ?? '')).toMatchObject({ lifetime: '3600s', delegates: ['d@p'] });
    const long = { service_account_impersonation: { token_lifetime_seconds: 7_200 } };
    await list({ ...FILE, ...long, service_account_impersonation_url: IMPERSONATION });
    expect(wire.sent.map(({ body = '' }) => body)).toContainEqual(expect.stringContaining('"lifetime":"7200s"'));
    const stranger = IMPERSONATION.replace('machines@p', 'stranger@p');
    const account = played(HOST, { service_account_impersonation_url: stranger });
    await refused(list(account), 'Internal', 'cannot fetch token from', '403 PERMISSION_DENIED');
  });

  test.each([
    [played({ type: 'authorized_user' }), 'source_credentials', 'has type "authorized_user"; the type must be'],
    [played(HOST, { service_account_impersonation_url: '' }), 'no service_account_impersonation_url; add'],
    [played(HOST, { service_account_impersonation_url: 'https://evil.example/x' }), 'invalid service_account_impers'],
    [{ ...FILE, service_account_impersonation: { token_lifetime_seconds: 5 } }, 'should be from 600 to 43200'],
  ])('an invalid impersonation is refused with the name of the field: %j [E1-71]', async (account, ...says) => {
    const { wire, list } = open();
    await refused(list(account), 'Internal', ...(says as string[]));
    expect(wire.sent).toEqual([]);
  });
});

test('the operator configures the addresses of token services and metadata servers [E1-72]', async () => {
  const { wire, list } = open({
    ...ALL,
    MCM_GCP_SECURITY_TOKEN_ENDPOINT: 'https://sts.example',
    MCM_GCP_IAM_CREDENTIALS_ENDPOINT: 'https://iam.example/',
    GCE_METADATA_HOST: '127.0.0.1:8080',
    AWS_EC2_METADATA_SERVICE_ENDPOINT: 'http://127.0.0.1:1338',
  });
  await list({ ...FILE, service_account_impersonation_url: IMPERSONATION });
  await list(HOST);
  await list(ROLE);
  expect(wire.origins).toEqual([
    ...['https://sts.example', 'https://iam.example', COMPUTE],
    ...['http://127.0.0.1:8080', 'http://127.0.0.1:1338'],
  ]);
  const settings = () => gcpSettings({ GCE_METADATA_HOST: 'imds.example' });
  expect(settings).toThrow('GCE_METADATA_HOST is http://imds.example, and plain http');
});

test.each<[server: string, what: string, account: object]>([
  ['computeMetadata', 'a service account of the host', HOST],
  ['latest/api', 'a role in AWS', ROLE],
])('a missing or wrong metadata server is reported with a hint: %s [E1-73]', async (path, _what, account) => {
  const fix = path === 'latest/api' ? 'run the controller in AWS with a role' : 'run the controller on a host';
  for (const [answer, code, says] of [
    [() => broken('ECONNREFUSED'), 'Unavailable', 'ECONNREFUSED'],
    [() => reply(503, ''), 'Unavailable', '503'],
    [() => reply(200, '<html>Welcome</html>'), 'Internal', '200'],
    [() => reply(404, '<html>Not Found</html>'), 'Internal', '404'],
  ] as const) {
    const { wire, list } = open();
    wire.script = failing(path, answer);
    await refused(list(account), code, says, fix);
    expect(wire.sent).toHaveLength(1);
  }
});

test('a service account as the source of an impersonation signs its own assertion [E1-74]', async () => {
  const { wire, list } = open();
  wire.script = failing('POST /token', () => reply(200, { access_token: 'own', expires_in: 3_600 }));
  const key = { type: 'service_account', client_email: 'e@p', private_key: pemOf(privateKey) };
  const account = { type: 'impersonated_service_account', service_account_impersonation_url: IMPERSONATION };
  await list({ ...account, source_credentials: key }).catch(() => undefined);
  expect(wire.origins.slice(0, 2)).toEqual(['https://oauth2.googleapis.com', IAM]);
  expect(wire.sent[1]?.headers.authorization).toBe('Bearer own');
});
