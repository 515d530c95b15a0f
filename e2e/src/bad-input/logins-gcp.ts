import { pemOf, rsaKeys } from '../drivers/credentials/rsa.ts';
import { FORBIDDEN, LATE, POOL, serviceAccount } from './clouds.ts';
import { type Case, sample } from './sample.ts';

/** Google Cloud credentials with which each login fails. */

const gcp = sample('GCP');
const deletedKey = pemOf(rsaKeys().privateKey);
const external = (credential_source: object, change: object = {}): string =>
  JSON.stringify({
    type: 'external_account',
    project_id: 'p',
    audience: POOL,
    credential_source,
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
    event: /^CredentialsRefused: .*\/tokens\/nowhere of the workload is unreadable.*data\.serviceAccountJSON/,
    says: /\/tokens\/nowhere of the workload is unreadable/,
  },
  {
    what: 'a workload with a source that the controller does not allow',
    secret: gcp.secret({ serviceAccountJSON: external({ url: 'https://idp.elsewhere.example/token' }) }),
    event:
      /^InvalidClass: .*invalid credential_source.*correct data\.serviceAccountJSON of Secret default\/odd, or allow the source with --credential-sources=https:\/\/idp\.elsewhere\.example/,
    says: /invalid credential_source/,
  },
  {
    what: 'an identity provider that responds with a web page instead of a token',
    secret: gcp.secret({ serviceAccountJSON: external({ url: 'https://idp.example/answered-by-a-proxy' }) }),
    event:
      /^CredentialsRefused: .*https:\/\/idp\.example: the response with status 200 is not a token; check credential_source/,
    says: /check credential_source/,
  },
  {
    what: 'a service account of the host behind a proxy',
    secret: gcp.secret({
      serviceAccountJSON: JSON.stringify({ type: 'metadata_server', service_account: 'answered-by-a-proxy' }),
      projectID: 'p',
    }),
    event:
      /^CredentialsRefused: .*metadata server.*response with status 200 contains no token.*run the controller on a host/,
    says: /run the controller on a host/,
  },
  {
    what: 'a service account of a host without a metadata server',
    secret: gcp.secret({
      serviceAccountJSON: JSON.stringify({ type: 'metadata_server', service_account: 'out-of-reach' }),
      projectID: 'p',
    }),
    event: /^CloudUnreachable: .*metadata server.*EHOSTUNREACH.*run the controller on a host/,
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
    what: 'a service account without the permission to impersonate it',
    secret: gcp.secret({
      serviceAccountJSON: JSON.stringify({
        type: 'impersonated_service_account',
        source_credentials: { type: 'metadata_server' },
        service_account_impersonation_url:
          'https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/other@p:generateAccessToken',
      }),
      projectID: 'p',
    }),
    event:
      /^CredentialsRefused: .*iamcredentials\.googleapis\.com: 403 PERMISSION_DENIED.*the permissions of the account/,
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
    event: /^CredentialsRefused: .*AWS metadata service.*404.*run the controller in AWS with a role/,
    says: /run the controller in AWS with a role/,
  },
  {
    what: 'a service account of a controller with a wrong clock',
    secret: gcp.secret({ serviceAccountJSON: serviceAccount({ client_email: `${LATE}@p.example` }) }),
    event:
      /^CredentialsRefused: .*400 invalid_grant.*clock of this controller is 20 min ahead of the token service: correct the clock.*data\.serviceAccountJSON/,
    says: /correct the clock/,
    secrets: ['PRIVATE KEY'],
  },
  {
    what: 'a key of a service account that was deleted',
    secret: gcp.secret({ serviceAccountJSON: serviceAccount({ private_key: deletedKey }) }),
    event: /^CredentialsRefused: .*400 invalid_grant.*data\.serviceAccountJSON/,
    says: /400 invalid_grant/,
    secrets: ['PRIVATE KEY'],
  },
  {
    what: 'a token endpoint behind a proxy',
    secret: gcp.secret({
      serviceAccountJSON: serviceAccount({ token_uri: 'https://oauth2.googleapis.com/answered-by-a-proxy' }),
    }),
    event: /^CredentialsRefused: .*response with status 200 contains no token.*data\.serviceAccountJSON/,
    says: /response with status 200 contains no token/,
    secrets: ['PRIVATE KEY'],
  },
  {
    what: 'a service account without a role',
    secret: gcp.secret({ serviceAccountJSON: serviceAccount({ project_id: FORBIDDEN }) }),
    event: /^CredentialsRefused: .*Required 'compute\.instances\.list' permission.*or the permissions of the account/,
    says: /the permissions of the account/,
    secrets: ['PRIVATE KEY'],
  },
  {
    what: 'a workload without an audience',
    secret: gcp.secret({ serviceAccountJSON: external({ file: '/tokens/of-another' }, { audience: '' }) }),
    event: /^InvalidClass: .*Audience must be set; correct data\.serviceAccountJSON of Secret default\/odd/,
    says: /Audience must be set/,
  },
  {
    what: 'a workload without a source',
    secret: gcp.secret({ serviceAccountJSON: external({}) }),
    event: /^InvalidClass: .*invalid credential_source.*correct data\.serviceAccountJSON of Secret default\/odd/,
    says: /invalid credential_source/,
  },
  {
    what: 'an unreachable identity provider',
    secret: gcp.secret({ serviceAccountJSON: external({ url: 'https://idp.example/out-of-reach' }) }),
    event: /^CloudUnreachable: .*https:\/\/idp\.example.*EHOSTUNREACH/,
    says: /EHOSTUNREACH/,
  },
  {
    what: 'an impersonation with a URL of another service',
    secret: gcp.secret({
      serviceAccountJSON: JSON.stringify({
        type: 'impersonated_service_account',
        source_credentials: { type: 'metadata_server' },
        service_account_impersonation_url: 'https://evil.example/v1/token',
      }),
      projectID: 'p',
    }),
    event:
      /^InvalidClass: .*service_account_impersonation_url: should match.*correct data\.serviceAccountJSON of Secret default\/odd/,
    says: /service_account_impersonation_url/,
  },
  {
    what: 'an impersonation by a host without a metadata server',
    secret: gcp.secret({
      serviceAccountJSON: JSON.stringify({
        type: 'impersonated_service_account',
        source_credentials: { type: 'metadata_server', service_account: 'out-of-reach' },
        service_account_impersonation_url:
          'https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/other@p:generateAccessToken',
      }),
      projectID: 'p',
    }),
    event: /^CloudUnreachable: .*metadata server.*EHOSTUNREACH/,
    says: /EHOSTUNREACH/,
  },
];
