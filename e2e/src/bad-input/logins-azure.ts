import { certificateOf, pemOf, rsaKeys } from '../drivers/credentials/rsa.ts';
import { FORBIDDEN, LATE } from './clouds.ts';
import { type Case, sample } from './sample.ts';

/** Azure credentials with which each login fails. */

const day = (days: number): Date => new Date(Date.UTC(2026, 0, 1 + days));
const keys = rsaKeys();
const certificate = (from: number, until: number): string =>
  `${pemOf(keys.privateKey)}${certificateOf(keys.publicKey, day(from), day(until))}`;

const azure = sample('Azure');
const application = azure.without('clientSecret');
const workload = (token: string, change: Readonly<Record<string, string>> = {}): Pick<Case, 'secret' | 'files'> => ({
  secret: { ...application, workloadIdentityTokenFile: '/tokens/azure', ...change },
  files: { '/tokens/azure': token },
});
const FIX = String.raw`.*; correct the credentials in Secret default\/odd \(data\.`;
const withoutReason = ({ source }: RegExp): RegExp => new RegExp(source.replace('^CredentialsRefused: .*', ''));
const refusal = (text: string): RegExp => new RegExp(`^CredentialsRefused: .*${text}${FIX}`);
const ofCertificate = (from: number, change: Readonly<Record<string, string>>) => ({
  ...application,
  clientCertificate: certificate(from, 30),
  ...change,
});
const BEHIND_A_PROXY = refusal('login\\.microsoftonline\\.com: the response with status 200 contains no token');
const LATE_CLOCK = refusal(
  'AADSTS700024.*clock of this controller is 20 min ahead of the token service: correct the clock',
);
/** Cases in which Azure refuses the login of an application, for each type of credentials. */
const REFUSALS: readonly (readonly [what: string, input: Pick<Case, 'secret' | 'files'>, event: RegExp])[] = [
  [
    'a secret that has expired',
    { secret: azure.secret({ clientID: 'expired-secret' }) },
    refusal('AADSTS7000222\\): data\\.clientSecret has expired; create a client secret'),
  ],
  [
    'an unknown application',
    { secret: azure.secret({ clientID: 'stranger' }) },
    refusal('AADSTS700016\\): the tenant has no application with data\\.clientID'),
  ],
  [
    'a disabled application',
    { secret: azure.secret({ clientID: 'disabled-application' }) },
    refusal('AADSTS7000112\\): the application with the ID in data\\.clientID is disabled'),
  ],
  [
    'a tenant whose Conditional Access policy blocks the client',
    { secret: azure.secret({ tenantID: 'refusing-tenant' }) },
    refusal('AADSTS53003\\): a Conditional Access policy'),
  ],
  ['a login behind a proxy', { secret: azure.secret({ tenantID: 'answered-by-a-proxy' }) }, BEHIND_A_PROXY],
  [
    'an application without a role',
    { secret: azure.secret({ subscriptionID: FORBIDDEN }) },
    refusal('AuthorizationFailed'),
  ],
  [
    'a certificate that is not valid yet',
    { secret: ofCertificate(5, {}) },
    refusal('clientCertificate is not valid before 2026-01-06; store a valid certificate, or correct the clock'),
  ],
  ['a certificate of a controller with a wrong clock', { secret: ofCertificate(-1, { clientID: LATE }) }, LATE_CLOCK],
  [
    'a certificate of an unknown application',
    { secret: ofCertificate(-1, { clientID: 'stranger' }) },
    refusal('AADSTS700016'),
  ],
  [
    'a certificate of another tenant',
    { secret: ofCertificate(-1, { tenantID: 'another-tenant-0001' }) },
    refusal('AADSTS90002\\): Azure has no tenant with the ID in data\\.tenantID'),
  ],
  [
    'a certificate and a login behind a proxy',
    { secret: ofCertificate(-1, { tenantID: 'answered-by-a-proxy' }) },
    BEHIND_A_PROXY,
  ],
  ['a workload identity of another issuer', workload('no-such-token'), refusal('AADSTS50027')],
  ['a workload identity with an expired token', workload(LATE), LATE_CLOCK],
  [
    'a workload identity of an unknown application',
    workload('token', { clientID: 'stranger' }),
    refusal('AADSTS700016'),
  ],
  [
    'a workload identity of another tenant',
    workload('token', { tenantID: 'another-tenant-0001' }),
    refusal('AADSTS90002'),
  ],
  [
    'a workload identity and a login behind a proxy',
    workload('token', { tenantID: 'answered-by-a-proxy' }),
    BEHIND_A_PROXY,
  ],
  [
    'a system-assigned identity that the host does not have',
    { secret: { ...application, managedIdentity: 'system', clientID: '' } },
    /^CredentialsRefused: .*400 invalid_request; the controller must run in Azure on a host with a system-assigned identity/,
  ],
];
export const AZURE_LOGINS: readonly Case[] = [
  {
    what: 'a certificate that is not registered',
    secret: { ...azure.without('clientSecret'), clientCertificate: certificate(-1, 30) },
    event: /^CredentialsRefused: .*AADSTS700027.*Secret default\/odd \(.*data\.clientCertificate\)/,
    says: /AADSTS700027/,
    secrets: ['PRIVATE KEY'],
  },
  {
    what: 'a certificate that has expired',
    secret: { ...azure.without('clientSecret'), clientCertificate: certificate(-9, -2) },
    event: /^CredentialsRefused: .*clientCertificate expired on 2025-12-30; store a new certificate with its key/,
    says: /clientCertificate expired/,
    secrets: ['PRIVATE KEY'],
  },
  {
    what: 'a certificate without its key',
    secret: {
      ...azure.without('clientSecret'),
      clientCertificate: certificateOf(keys.publicKey, day(-1), day(30)),
    },
    event:
      /^InvalidClass: .*clientCertificate contains no private key; append .*; correct data\.clientCertificate of Secret default\/odd/,
    says: /clientCertificate contains no private key.*; correct the value in Secret default\/odd/,
  },
  {
    what: 'a PKCS#12 file in place of a certificate',
    secret: { ...azure.without('clientSecret'), clientCertificate: 'MIIJqQIBAzCCCW8GCSqGSIb3DQEHAaCCCWAEgglc' },
    event: /^InvalidClass: .*clientCertificate must be PEM.*convert PKCS#12 with openssl.*data\.clientCertificate/,
    says: /clientCertificate must be PEM/,
  },
  {
    what: 'a managed identity that the host does not have',
    secret: { ...azure.without('clientSecret'), managedIdentity: 'user', clientID: 'stranger' },
    event:
      /^CredentialsRefused: .*data\.managedIdentity.*400 invalid_request.*on a host with the identity of data\.clientID/,
    says: /data\.managedIdentity/,
  },
  {
    what: 'a managed identity behind a proxy',
    secret: { ...azure.without('clientSecret'), managedIdentity: 'user', clientID: 'answered-by-a-proxy' },
    event:
      /^CredentialsRefused: .*data\.managedIdentity.*response with status 200 contains no token.*must run in Azure/,
    says: /data\.managedIdentity/,
  },
  {
    what: 'a managed identity on a host without a metadata service',
    secret: { ...azure.without('clientSecret'), managedIdentity: 'user', clientID: 'out-of-reach' },
    event: /^CloudUnreachable: .*data\.managedIdentity.*EHOSTUNREACH.*must run in Azure/,
    says: /EHOSTUNREACH.*must run in Azure/,
  },
  {
    what: 'a managed identity of an unknown kind',
    secret: { ...azure.without('clientSecret'), managedIdentity: 'robot' },
    event: /^InvalidClass: .*data\.managedIdentity: Unsupported value: "robot": supported values: "system", "user"/,
    says: /data\.managedIdentity/,
  },
  ...REFUSALS.map(([what, input, event]) => ({ what, ...input, event, says: withoutReason(event) })),
];
