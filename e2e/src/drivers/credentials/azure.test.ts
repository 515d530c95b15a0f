import { ArmEndpoint, type ArmEndpointOptions } from '@mcm/cloud-emulators';
import { seededRandom, VirtualClock } from '@mcm/kube';
import {
  type AzureCredentials,
  type AzureProviderSpec,
  azureSettings,
  createAzureDriver,
  loadSdk,
} from '@mcm/provider-azure';
import { describe, expect, test } from 'vitest';
import { broken, failing, reply, timesOf, Wire } from '../endpoints/wire.ts';
import { azure } from '../providers.ts';
import { refused, Stage } from '../rows/stage.ts';
import { forbidSockets } from './no-sockets.ts';
import { certificateOf, pemOf, rsaKeys } from './rsa.ts';

/** Every login to Azure, with the emulated Microsoft Entra and instance metadata service. */

await loadSdk();
forbidSockets();

const DAY_MS = 86_400_000;
const clock = () => new VirtualClock();
const NOW = clock().now();
const at = (days: number): Date => new Date(NOW.getTime() + days * DAY_MS);
const [one, two] = [rsaKeys(), rsaKeys()];
const CERTIFICATE = certificateOf(one.publicKey, at(-1), at(30));
const PEM = `${pemOf(one.privateKey)}${CERTIFICATE}`;
const COMMON = { subscriptionID: 'sub', userData: '#cloud-config' };
const APPLICATION = { ...COMMON, tenantID: 't', clientID: 'c' };
const CERTIFIED = { ...APPLICATION, clientCertificate: PEM };
const SYSTEM = { ...COMMON, managedIdentity: 'system' };
const IMDS = 'http://169.254.169.254';
const LOGIN = 'https://login.microsoftonline.com';
const MANAGED = { MCM_ALLOW_MANAGED_IDENTITY: 'true' };

function open(
  variables: Readonly<Record<string, string>> = {},
  options: Partial<ArmEndpointOptions> = {},
  flags: Parameters<typeof azureSettings>[1] = {},
) {
  const virtual = clock();
  const principals = [{ tenant: 't', clientId: 'c', certificate: CERTIFICATE }];
  const identities = { system: true, users: ['u'] };
  const cloud = new ArmEndpoint({ clock: virtual, principals, identities, ...options });
  const wire = new Wire(virtual, cloud.transport);
  const driver = createAzureDriver({
    clock: virtual,
    random: seededRandom(1),
    connect: wire.connect,
    ...azureSettings(variables, flags).settings,
    readFile: async () => undefined,
  });
  const { providerSpec } = azure().machineClass;
  const stage = new Stage<AzureProviderSpec, AzureCredentials>(virtual, driver, {
    provider: 'Azure',
    spec: providerSpec ?? {},
    secret: CERTIFIED,
  });
  return { clock: virtual, wire, stage };
}

const assertionsOf = ({ sent }: Wire) =>
  sent.flatMap(({ body = '' }) => {
    const [header = '', claims = ''] = (new URLSearchParams(body).get('client_assertion') ?? '').split('.');
    const read = (part: string): object => JSON.parse(Buffer.from(part, 'base64url').toString());
    return header === '' ? [] : [{ header: read(header), claims: read(claims) as { readonly jti: string } }];
  });

describe('certificates', () => {
  test('an application signs a new assertion for each login, with its certificate and for its login host [E1-52]', async () => {
    const { wire, stage, clock: virtual } = open();
    await stage.list();
    await virtual.advance(3_600_000);
    await stage.list();
    const [first, second] = assertionsOf(wire);
    const seconds = Math.floor(NOW.getTime() / 1_000);
    expect(first).toMatchObject({
      header: { alg: 'PS256', 'x5t#S256': expect.any(String) },
      claims: { aud: `${LOGIN}/t/oauth2/v2.0/token`, iss: 'c', sub: 'c', nbf: seconds - 60, exp: seconds + 540 },
    });
    expect(first?.claims.jti).not.toBe(second?.claims.jti);
    expect(wire.origins).toEqual([LOGIN, 'https://management.azure.com']);
  });

  test('a new certificate in the Secret is used without a restart [E1-53]', async () => {
    const next = certificateOf(two.publicKey, at(-1), at(30));
    const principals = [{ tenant: 't', clientId: 'c', certificate: next }];
    const { stage } = open({}, { principals });
    await refused(stage.list(), 'Internal', '401 invalid_client (AADSTS700027)');
    await stage.list({ secret: { ...CERTIFIED, clientCertificate: `${next}${pemOf(two.privateKey)}` } });
  });

  test.each([
    [at(-30), at(-10), 'clientCertificate expired on 2025-12-22; store a new certificate'],
    [
      at(10),
      at(30),
      'clientCertificate is not valid before 2026-01-11; store a valid certificate, or correct the clock',
    ],
  ])('a certificate that is not valid now is not sent: %s to %s [E1-54]', async (from, until, says) => {
    const { wire, stage } = open();
    const clientCertificate = `${certificateOf(one.publicKey, from, until)}${pemOf(one.privateKey)}`;
    await refused(stage.list({ secret: { ...CERTIFIED, clientCertificate } }), 'Internal', says);
    expect(wire.sent).toEqual([]);
  });

  test.each<[what: string, pem: string, says: string]>([
    ['no PEM', 'MIIJqQIBAzCCCW8GCSqGSIb3DQEHAaCC', 'must be PEM: a certificate and its private key; convert PKCS#12'],
    ['no key', CERTIFICATE, 'contains no private key'],
    ['no certificate', pemOf(one.privateKey), 'contains no certificate'],
    ['another key', `${CERTIFICATE}${pemOf(two.privateKey)}`, 'does not belong to its certificate'],
    ['half a key', PEM.replace(/MII.{200}/s, 'MII'), 'contains an unreadable private key'],
    [
      'half a certificate',
      `${pemOf(one.privateKey)}${CERTIFICATE.replace(/MII.{90}/s, 'MII')}`,
      'contains an unreadable certificate',
    ],
    ['a password', PEM.replaceAll('PRIVATE', 'ENCRYPTED PRIVATE'), 'decrypt the key with openssl pkey'],
  ])('an invalid certificate is refused with the fix, and not quoted: %s [E1-55]', async (_, pem, says) => {
    const { wire, stage } = open();
    const secret = { ...CERTIFIED, clientCertificate: pem };
    const text = await refused(stage.list({ secret }), 'Unknown', says);
    expect(text).not.toMatch(/MII/);
    expect(wire.sent).toEqual([]);
  });
});

describe('managed identities', () => {
  test.each([
    ['the system-assigned', SYSTEM, null],
    ['a user-assigned', { ...COMMON, managedIdentity: 'user', clientID: 'u' }, 'u'],
  ])('%s identity comes from the metadata service, once for all calls [E1-56]', async (_what, secret, clientId) => {
    const { wire, stage } = open(MANAGED, {}, { 'azure-cloud': 'AzureChina' });
    await Promise.all([stage.list({ secret }), stage.list({ secret })]);
    expect(wire.origins).toEqual([IMDS, 'https://management.chinacloudapi.cn']);
    const asked = wire.sent.filter(({ origin }) => origin === IMDS);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ method: 'GET', headers: { metadata: 'true' } });
    const { pathname, searchParams } = new URL(asked[0]?.path ?? '', IMDS);
    expect(pathname).toBe('/metadata/identity/oauth2/token');
    expect(searchParams.get('resource')).toBe('https://management.core.chinacloudapi.cn');
    expect(searchParams.get('client_id')).toBe(clientId);
  });

  test('a Secret can use the identity of the host only if the operator allows it [E1-57]', async () => {
    for (const variables of [{}, { MCM_ALLOW_MANAGED_IDENTITY: 'false' }]) {
      const { wire, stage } = open(variables);
      await refused(stage.list({ secret: SYSTEM }), 'Unknown', '--allow-managed-identity');
      expect(wire.sent).toEqual([]);
    }
    const { stage } = open({}, {}, { 'allow-managed-identity': true });
    await stage.list({ secret: SYSTEM });
  });

  test('AZURE_POD_IDENTITY_AUTHORITY_HOST sets the metadata service, whose token has the expiry in the answer [E1-58]', async () => {
    const variables = { ...MANAGED, AZURE_POD_IDENTITY_AUTHORITY_HOST: 'http://127.0.0.1:2579/' };
    const { wire, stage, clock: virtual } = open(variables);
    await stage.list({ secret: SYSTEM });
    await virtual.advance(56 * 60_000);
    await stage.list({ secret: SYSTEM });
    expect(wire.origins).toEqual(['http://127.0.0.1:2579', 'https://management.azure.com']);
    expect(timesOf(wire, 'GET /metadata')).toHaveLength(2);
    const far = { AZURE_POD_IDENTITY_AUTHORITY_HOST: 'http://imds.example' };
    expect(() => azureSettings(far)).toThrow(
      'AZURE_POD_IDENTITY_AUTHORITY_HOST is http://imds.example, and plain http',
    );
    expect(azureSettings({ AZURE_POD_IDENTITY_AUTHORITY_HOST: IMDS }).settings.metadata).toBe(IMDS);
  });

  test.each([
    ['is not there', () => broken('EHOSTUNREACH'), 'Unavailable', 'EHOSTUNREACH'],
    [
      'is a proxy’s page',
      () => reply(200, '<html>Welcome</html>'),
      'Internal',
      'the response with status 200 contains no token',
    ],
    ['is not Azure’s', () => reply(404, '<html>Not Found</html>'), 'Internal', '404'],
    ['has no such identity', () => reply(400, { error: 'invalid_request' }), 'Internal', '400 invalid_request'],
    ['is being updated', () => reply(410, ''), 'Unavailable', '410'],
  ] as const)(
    'a metadata service that %s is reported with a hint, after one request [E1-59]',
    async (_, answer, code, says) => {
      const { wire, stage } = open(MANAGED);
      wire.script = failing('GET /metadata', answer);
      const secret = { ...COMMON, managedIdentity: 'user', clientID: 'stranger' };
      const fix = 'the controller must run in Azure on a host with the identity of data.clientID';
      await refused(stage.list({ secret }), code, says, fix);
      expect(timesOf(wire, '.')).toHaveLength(1);
    },
  );
});

test.each([
  [['clientCertificate', 'clientSecret'], 'data.clientCertificate: Forbidden: remove this key, or remove clientSecret'],
  [['managedIdentity', 'clientSecret'], 'data.managedIdentity: Forbidden: remove this key, or remove clientSecret'],
  [['managedIdentity:root'], 'data.managedIdentity: Unsupported value: "root": supported values: "system", "user"'],
  [['managedIdentity:user', '-clientID'], 'data.clientID: Required value'],
  [['-clientCertificate'], 'must provide clientSecret or workloadIdentityTokenFile'],
])('a Secret has exactly one type of credentials: %j [E1-60]', async (changes, says) => {
  const { wire, stage } = open(MANAGED);
  const values = { clientCertificate: PEM, clientSecret: 's', managedIdentity: 'system' };
  const secret: Record<string, string> = { ...APPLICATION };
  for (const change of changes) {
    const [name = '', value] = change.replace('-', '').split(':');
    if (change.startsWith('-')) delete secret[name];
    else secret[name] = value ?? values[name as keyof typeof values];
  }
  await refused(stage.list({ secret }), 'InvalidArgument', says);
  expect(wire.sent).toEqual([]);
});

test.each([
  [-10, '10 min behind'],
  [10, '10 min ahead of'],
])('a refusal names a wrong clock of the controller: %i min [E1-61]', async (minutes, says) => {
  const { wire, stage } = open();
  const date = new Date(NOW.getTime() - minutes * 60_000).toUTCString();
  const refusal = { error: 'invalid_client', error_description: 'AADSTS700024: Client assertion is not valid.' };
  wire.script = failing('oauth2', () => reply(401, refusal, { date }));
  await refused(stage.list(), 'Internal', '(AADSTS700024)', says, 'correct the clock');
});
