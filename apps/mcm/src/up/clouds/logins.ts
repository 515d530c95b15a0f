import { generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { createAuthority } from '@mcm/control-plane';
import { realClock } from '@mcm/kube';
import type { DataDir } from '../../instance/data-dir.ts';
import { keptSecret } from './kept-secret.ts';
import type { SecretsByName } from './provider.ts';

/** More credentials for an emulated cloud, in addition to the default Secret. */
export interface Logins {
  readonly account: object;
  /** The environment variables with which the machine controller accepts these credentials. */
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: SecretsByName;
}

const YEARS_10_MS = 10 * 365 * 86_400_000;

function newCertificate(): string {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const notBefore = realClock.now();
  const certificate = createAuthority(notBefore).issue({
    subject: { commonName: 'mcm up' },
    publicKey,
    notBefore,
    notAfter: new Date(notBefore.getTime() + YEARS_10_MS),
    keyUsages: ['digitalSignature'],
    extendedKeyUsages: ['clientAuth'],
    hosts: [],
  });
  return `${privateKey.export({ type: 'pkcs8', format: 'pem' })}${certificate}`;
}

const newToken = (): string => randomBytes(24).toString('base64url');
const TOKEN = 'workload-token';

/** Returns credentials for the emulated Microsoft Entra: a certificate, a workload token, and managed identities. */
export function azureLogins(data: DataDir, common: Readonly<Record<string, string>>, address: string): Logins {
  const clientCertificate = keptSecret(data, 'client-certificate.pem', newCertificate);
  const assertion = keptSecret(data, TOKEN, newToken);
  const { tenantID = '', clientID = '', subscriptionID = '' } = common;
  const application = { tenantID, clientID, subscriptionID };
  const identity = 'emulated-identity';
  return {
    account: {
      certificate: new X509Certificate(clientCertificate.replace(/^[\s\S]*(?=-----BEGIN CERT)/, '')).toString(),
      assertion,
      identities: { system: true, users: [identity] },
    },
    env: { MCM_ALLOW_MANAGED_IDENTITY: 'true', AZURE_POD_IDENTITY_AUTHORITY_HOST: address },
    secrets: {
      'azure-certificate': { ...application, clientCertificate },
      'azure-workload': { ...application, workloadIdentityTokenFile: data.file(TOKEN) },
      'azure-system-identity': { subscriptionID, managedIdentity: 'system' },
      'azure-user-identity': { subscriptionID, managedIdentity: 'user', clientID: identity },
    },
  };
}

const ROLE = {
  role: 'emulated-role',
  region: 'eu-west-1',
  keys: { accessKeyId: 'ASIAEMULATED00000001', secretAccessKey: 'emulated', sessionToken: 'emulated-session' },
};
/** Empty values for the AWS variables in the user's shell, so that an emulator never receives real keys. */
const NO_AWS_VARIABLES = {
  AWS_PROFILE: '',
  AWS_ACCESS_KEY_ID: '',
  AWS_SECRET_ACCESS_KEY: '',
  AWS_SESSION_TOKEN: '',
  AWS_WEB_IDENTITY_TOKEN_FILE: '',
  AWS_ROLE_ARN: '',
  AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '',
};

/** Reads environment variables from a file in the data directory. */
function variablesOf(file: string): Readonly<Record<string, string>> {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return Object.fromEntries(Object.entries(parseEnv(text)).map(([name, value = '']) => [name, value]));
}

/**
 * Returns credentials for the emulated AWS: a workload token, and the keys of the controller. The AWS keys come from
 * the profile `default` in the file `aws-config`, or from the agent of EKS Pod Identity. Variables in the file
 * `aws-environment` change the environment of the controller.
 */
export function awsLogins(data: DataDir, address: string): Logins {
  const token = keptSecret(data, TOKEN, newToken);
  const roleARN = 'arn:aws:iam::111122223333:role/emulated-role';
  return {
    account: { host: ROLE, webIdentity: { tokens: [token], roles: [roleARN] } },
    env: {
      ...NO_AWS_VARIABLES,
      AWS_CONFIG_FILE: data.file('aws-config'),
      AWS_SHARED_CREDENTIALS_FILE: data.file('no-aws-credentials'),
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${address}/v1/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: data.file(TOKEN),
      AWS_EC2_METADATA_DISABLED: 'false',
      AWS_EC2_METADATA_SERVICE_ENDPOINT: address,
      ...variablesOf(data.file('aws-environment')),
    },
    secrets: {
      'aws-workload': { workloadIdentityTokenFile: data.file(TOKEN), roleARN },
      'aws-controller': { providerAccessKeyId: ' ', providerSecretAccessKey: ' ' },
    },
  };
}

const POOL = '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/emulated/providers/emulated';
const NODES = 'nodes@emulated-project.iam.gserviceaccount.com';

const universeDomain = (): string => process.env.GOOGLE_CLOUD_UNIVERSE_DOMAIN || 'googleapis.com';

/** Returns an account as JSON for a Secret. */
export const gcpAccount = (account: object): string =>
  JSON.stringify({ ...account, universe_domain: universeDomain() });

/**
 * Returns credentials for the emulated Google Cloud: workload tokens (from a file, a URL and AWS), an account of the
 * host, and impersonation.
 */
export function gcpLogins(data: DataDir, projectID: string, address: string): Logins {
  const token = keptSecret(data, TOKEN, newToken);
  const universe = universeDomain();
  const workload = (credential_source: object, more: object = {}) => ({
    type: 'external_account',
    audience: POOL,
    credential_source,
    token_url: `https://sts.${universe}/v1/token`,
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    ...more,
  });
  const host = { type: 'metadata_server' };
  const secretOf = (account: object) => ({ serviceAccountJSON: gcpAccount(account), projectID });
  const aws = 'urn:ietf:params:aws:token-type:aws4_request';
  return {
    account: {
      federation: { audience: POOL, tokens: [token], impersonable: [NODES], hostAccounts: [NODES], aws: ROLE },
    },
    env: {
      ...NO_AWS_VARIABLES,
      MCM_GCP_CREDENTIAL_SOURCES: `${data.file(TOKEN)},${address},aws,metadata`,
      MCM_GCP_SECURITY_TOKEN_ENDPOINT: address,
      MCM_GCP_IAM_CREDENTIALS_ENDPOINT: address,
      GCE_METADATA_HOST: address,
      AWS_EC2_METADATA_SERVICE_ENDPOINT: address,
    },
    secrets: {
      'gcp-workload-file': secretOf(workload({ file: data.file(TOKEN) })),
      'gcp-workload-url': secretOf(
        workload({
          url: `${address}/subject-token`,
          format: { type: 'json', subject_token_field_name: 'value' },
        }),
      ),
      'gcp-workload-aws': secretOf(workload({ environment_id: 'aws1' }, { subject_token_type: aws })),
      'gcp-host': secretOf(host),
      'gcp-impersonation': secretOf({
        type: 'impersonated_service_account',
        source_credentials: host,
        service_account_impersonation_url: `https://iamcredentials.${universe}/v1/projects/-/serviceAccounts/${NODES}:generateAccessToken`,
      }),
    },
  };
}
