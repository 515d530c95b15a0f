import { certificateOf, pemOf, rsaKeys } from '../drivers/credentials/rsa.ts';
import { LATE_KEY, POOL } from './clouds.ts';
import { type Case, sample } from './sample.ts';

/** Logins without a secret that cannot work. */

/** The clock of the tests begins here. */
const day = (days: number): Date => new Date(Date.UTC(2026, 0, 1 + days));
const keys = rsaKeys();
const certificate = (from: number, until: number): string =>
  `${pemOf(keys.privateKey)}${certificateOf(keys.publicKey, day(from), day(until))}`;

const aws = sample('AWS');
/** A Secret with blank keys: the class uses the keys of the controller. */
const ownKeys = aws.secret({ providerAccessKeyId: ' ', providerSecretAccessKey: ' ' });
const METADATA = { AWS_EC2_METADATA_DISABLED: 'false' };
const WEB = { userData: '#cloud-config of this test', roleARN: 'arn:aws:iam::111122223333:role/r' };
export const AWS_LOGINS: readonly Case[] = [
  {
    what: 'a clock that is ahead',
    secret: aws.secret({ providerAccessKeyId: LATE_KEY }),
    event: /^CredentialsRefused: .*RequestExpired.*clock of this controller is 20 min ahead of AWS: correct the clock/,
    says: /clock of this controller is 20 min ahead of AWS: correct the clock/,
  },
  {
    what: 'keys of a controller that has none',
    secret: ownKeys,
    event:
      /^CredentialsRefused: .*the keys of the Secret are blank, and the controller has none; set the keys in the Secret, or give the controller a role.*data\.providerAccessKeyId/,
    says: /set the keys in the Secret, or give the controller a role/,
  },
  {
    what: 'keys of a controller that the cloud refuses',
    secret: ownKeys,
    variables: { AWS_ACCESS_KEY_ID: 'AKIASTRANGER', AWS_SECRET_ACCESS_KEY: 'secret-of-the-stranger' },
    event: /^CredentialsRefused: .*AuthFailure.*data\.providerAccessKeyId/,
    says: /AuthFailure/,
    secrets: ['secret-of-the-stranger'],
  },
  {
    what: 'a controller on a host without a role',
    secret: ownKeys,
    variables: METADATA,
    event:
      /^CredentialsRefused: .*no credentials of the instance from http:\/\/169\.254\.169\.254: 404.*an instance with a role/,
    says: /the controller must run on an instance with a role/,
  },
  {
    what: 'a controller on a host without a metadata service',
    secret: ownKeys,
    variables: { ...METADATA, AWS_EC2_METADATA_SERVICE_ENDPOINT: 'http://unreachable.example' },
    event: /^CloudUnreachable: .*no credentials of the instance.*EHOSTUNREACH.*an instance with a role/,
    says: /EHOSTUNREACH/,
  },
  {
    what: 'a controller behind a proxy that answers for the metadata service',
    secret: ownKeys,
    variables: { ...METADATA, AWS_EC2_METADATA_SERVICE_ENDPOINT: 'http://page.example' },
    event: /^CredentialsRefused: .*no credentials of the instance.*200, and another answer.*an instance with a role/,
    says: /200, and another answer/,
  },
  {
    what: 'a workload identity without its role',
    secret: { userData: WEB.userData, workloadIdentityTokenFile: '/tokens/aws' },
    event: /^InvalidClass: .*roleARN.*; correct it in Secret default\/odd$/,
    says: /roleARN/,
  },
];

const azure = sample('Azure');
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
      /^InvalidClass: .*clientCertificate holds no private key; append .*; correct data\.clientCertificate of Secret default\/odd/,
    says: /clientCertificate holds no private key.*; correct it in Secret default\/odd/,
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
    event: /^CredentialsRefused: .*data\.managedIdentity.*200, and an answer that holds none.*must run in Azure/,
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
];

const gcp = sample('GCP');
/** Credentials of a workload, whose token comes from a source. */
const external = (credential_source: object, change: object = {}): string =>
  JSON.stringify({
    ...{ type: 'external_account', project_id: 'p', audience: POOL, credential_source },
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: 'https://sts.googleapis.com/v1/token',
    ...change,
  });
export const GCP_LOGINS: readonly Case[] = [
  {
    what: 'a workload whose token is refused',
    secret: gcp.secret({ serviceAccountJSON: external({ file: '/tokens/of-another' }) }),
    event: /^CredentialsRefused: .*sts\.googleapis\.com: 400 invalid_grant.*data\.serviceAccountJSON/,
    says: /400 invalid_grant/,
    secrets: ['another-token'],
  },
  {
    what: 'a workload of another pool',
    secret: gcp.secret({ serviceAccountJSON: external({ file: '/tokens/of-another' }, { audience: 'another-pool' }) }),
    event: /^CredentialsRefused: .*400 invalid_target/,
    says: /400 invalid_target/,
  },
  {
    what: 'a workload without its token',
    secret: gcp.secret({ serviceAccountJSON: external({ file: '/tokens/nowhere' }) }),
    event: /^CredentialsRefused: .*\/tokens\/nowhere cannot be read.*data\.serviceAccountJSON/,
    says: /\/tokens\/nowhere cannot be read/,
  },
  {
    what: 'a workload with a source that the controller does not allow',
    secret: gcp.secret({ serviceAccountJSON: external({ url: 'https://idp.elsewhere.example/token' }) }),
    event:
      /^InvalidClass: .*invalid credential_source.*correct data\.serviceAccountJSON of Secret default\/odd, or allow the source with --credential-sources=https:\/\/idp\.elsewhere\.example/,
    says: /invalid credential_source/,
  },
  {
    what: 'an identity provider that answers with a page',
    secret: gcp.secret({ serviceAccountJSON: external({ url: 'https://idp.example/answered-by-a-proxy' }) }),
    event: /^CredentialsRefused: .*https:\/\/idp\.example: 200, and another answer; check credential_source/,
    says: /check credential_source/,
  },
  {
    what: 'a service account of the host behind a proxy',
    secret: gcp.secret({
      serviceAccountJSON: JSON.stringify({ type: 'metadata_server', service_account: 'answered-by-a-proxy' }),
      projectID: 'p',
    }),
    event: /^CredentialsRefused: .*metadata server.*200, and an answer that holds none.*must run in Google Cloud/,
    says: /must run in Google Cloud/,
  },
  {
    what: 'a service account of a host without a metadata server',
    secret: gcp.secret({
      serviceAccountJSON: JSON.stringify({ type: 'metadata_server', service_account: 'out-of-reach' }),
      projectID: 'p',
    }),
    event: /^CloudUnreachable: .*metadata server.*EHOSTUNREACH.*must run in Google Cloud/,
    says: /EHOSTUNREACH/,
  },
  {
    what: 'a service account that the host does not have',
    secret: gcp.secret({
      serviceAccountJSON: JSON.stringify({ type: 'metadata_server', service_account: 'stranger@p' }),
      projectID: 'p',
    }),
    event: /^CredentialsRefused: .*404.*on a host with service account stranger@p/,
    says: /stranger@p/,
  },
  {
    what: 'a service account that may not be acted as',
    secret: gcp.secret({
      serviceAccountJSON: JSON.stringify({
        type: 'impersonated_service_account',
        source_credentials: { type: 'metadata_server' },
        service_account_impersonation_url:
          'https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/other@p:generateAccessToken',
      }),
      projectID: 'p',
    }),
    event: /^CredentialsRefused: .*iamcredentials\.googleapis\.com: 403 PERMISSION_DENIED.*what the account allows/,
    says: /403 PERMISSION_DENIED/,
  },
  {
    what: 'a role in AWS that the host does not have',
    secret: gcp.secret({
      serviceAccountJSON: external(
        { environment_id: 'aws1' },
        { subject_token_type: 'urn:ietf:params:aws:token-type:aws4_request' },
      ),
    }),
    event: /^CredentialsRefused: .*AWS metadata service.*404.*must run in AWS with a role/,
    says: /must run in AWS with a role/,
  },
];
