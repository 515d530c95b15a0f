import { generateKeyPairSync } from 'node:crypto';
import { ArmEndpoint, Ec2Endpoint, GceEndpoint } from '@mcm/cloud-emulators';
import type { DriverContext, DriverDefinition } from '@mcm/core';
import {
  handlerTransport,
  type KubeClient,
  seededRandom,
  silentLogger,
  type Transport,
  type TransportResponse,
  type VirtualClock,
} from '@mcm/kube';
import { createAwsDriver } from '@mcm/provider-aws';
import { createAzureDriver, loadSdk } from '@mcm/provider-azure';
import { createGcpDriver } from '@mcm/provider-gcp';
import { createCloud, createLocalDriver } from '@mcm/provider-local';
import { AWS_VARIABLES } from '../drivers/aws-environment.ts';
import { nodesOf } from '../drivers/fleet.ts';
import type { ClassInput } from './class-input.ts';
import { SAMPLES } from './providers.ts';

// Loading the SDK takes real time, and the test uses a virtual clock, so the SDK is loaded first.
await loadSdk();

export interface CloudOf {
  readonly driver: (context: DriverContext) => DriverDefinition<never, never>;
  readonly origins: (origin: string) => Transport | Error;
  readonly ordinary: ClassInput;
}

interface Environment {
  readonly clock: VirtualClock;
  readonly client: KubeClient;
  readonly variables?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
}

const failing = (code: string, message: string): Error => Object.assign(new Error(message), { code });

const FAILURES: Readonly<Record<string, (host: string) => Error>> = {
  'eu-west-9': (host) => failing('ENOTFOUND', `getaddrinfo ENOTFOUND ${host}`),
  'eu-west-8': (host) => failing('ECONNREFUSED', `connect ECONNREFUSED ${host}:443`),
  'eu-west-7': () => failing('SELF_SIGNED_CERT_IN_CHAIN', 'self-signed certificate in certificate chain'),
  chinacloudapi: (host) => failing('ENOTFOUND', `getaddrinfo ENOTFOUND ${host}`),
  usgovcloudapi: () => failing('SELF_SIGNED_CERT_IN_CHAIN', 'self-signed certificate in certificate chain'),
  'microsoftonline.us': () => failing('SELF_SIGNED_CERT_IN_CHAIN', 'self-signed certificate in certificate chain'),
  'tokens-west': (host) => failing('ENOTFOUND', `getaddrinfo ENOTFOUND ${host}`),
  'unreachable.example': (host) => failing('EHOSTUNREACH', `connect EHOSTUNREACH ${host}:80`),
  'nowhere.example': (host) => failing('ENOTFOUND', `getaddrinfo ENOTFOUND ${host}`),
};

/** @param hosts If a host name contains one of these texts, the host belongs to the cloud. */
const originsOf =
  (transport: Transport, hosts: readonly string[]) =>
  (origin: string): Transport | Error => {
    const { hostname } = new URL(origin);
    const failure = Object.entries(FAILURES).find(([part]) => hostname.includes(part));
    if (failure) return failure[1](hostname);
    if (hosts.some((host) => hostname.includes(host))) return transport;
    return failing('ENOTFOUND', `getaddrinfo ENOTFOUND ${hostname}`);
  };

const sampleOf = (provider: string): ClassInput => {
  const sample = SAMPLES.find((each) => each.provider === provider);
  if (!sample) throw new Error(`no sample class exists for ${provider}`);
  return sample;
};

const html = (status: number): TransportResponse => ({
  status,
  headers: { get: () => null },
  body: null,
  text: async () => '<html>Welcome to the proxy</html>',
});

const metadataOf =
  (cloud: Transport): Transport =>
  async (request) => {
    if (request.path.includes('answered-by-a-proxy')) return html(200);
    if (request.path.includes('no-such-page')) return html(404);
    if (request.path.includes('out-of-reach')) throw failing('EHOSTUNREACH', 'connect EHOSTUNREACH');
    return cloud(request);
  };

export const LATE_KEY = 'AKIALATE';
export const EXPIRED_KEY = 'ASIAEXPIRED';
export const LATE = 'late-clock';
const LATE_MS = 20 * 60_000;

const dated = (clock: VirtualClock, lateMs: number, status: number, body: string): TransportResponse => {
  const date = new Date(clock.now().getTime() - lateMs).toUTCString();
  return {
    status,
    headers: { get: (name) => (name === 'date' ? date : null) },
    body: null,
    text: async () => body,
  };
};

/** Wraps EC2 and STS: a request with an expired key, or from a controller whose clock is ahead, gets an error. */
const withExpiredRequests =
  (clock: VirtualClock, cloud: Transport): Transport =>
  async (request) => {
    const [, key = ''] = /Credential=(\w+)\//.exec(request.headers.authorization ?? '') ?? [];
    if (key !== LATE_KEY && key !== EXPIRED_KEY) return cloud(request);
    const body =
      '<Response><Errors><Error><Code>RequestExpired</Code><Message>Request has expired.</Message></Error></Errors></Response>';
    return dated(clock, key === LATE_KEY ? LATE_MS : 0, 400, body);
  };

const ENTRA: Readonly<Record<string, string>> = {
  'expired-secret': 'AADSTS7000222: The provided client secret keys are expired.',
  'disabled-application': 'AADSTS7000112: Application is disabled.',
  'refusing-tenant': 'AADSTS53003: Access has been blocked by Conditional Access policies.',
  [LATE]: 'AADSTS700024: Client assertion is not within its valid time range.',
};
export const FORBIDDEN = 'forbidden-by-the-account';

/** Wraps Azure's login service and Resource Manager, and adds errors that the emulator does not have. */
const withEntra =
  (clock: VirtualClock, cloud: Transport): Transport =>
  async (request) => {
    if (request.path.includes(FORBIDDEN)) {
      const error = { code: 'AuthorizationFailed', message: 'The client does not have authorization.' };
      return dated(clock, 0, 403, JSON.stringify({ error }));
    }
    const isLogin = request.path.includes('/oauth2/v2.0/token');
    const [name, description] =
      Object.entries(ENTRA).find(([part]) => isLogin && `${request.path} ${request.body}`.includes(part)) ?? [];
    if (!description) return cloud(request);
    const body = JSON.stringify({ error: 'invalid_client', error_description: description });
    return dated(clock, name === LATE ? LATE_MS : 0, 401, body);
  };

/**
 * Wraps Google's token endpoint, and adds errors for a clock that is ahead and for a project that the account may not
 * use.
 */
const withGoogle =
  (clock: VirtualClock, cloud: Transport): Transport =>
  async (request) => {
    const [, claims = ''] = (new URLSearchParams(request.body ?? '').get('assertion') ?? '').split('.');
    if (Buffer.from(claims, 'base64url').toString().includes(LATE))
      return dated(clock, LATE_MS, 400, JSON.stringify({ error: 'invalid_grant', error_description: 'Invalid JWT' }));
    if (!request.path.includes(FORBIDDEN)) return cloud(request);
    const message = "Required 'compute.instances.list' permission";
    const error = { code: 403, message, errors: [{ message, domain: 'global', reason: 'forbidden' }] };
    return dated(clock, 0, 403, JSON.stringify({ error }));
  };

/** Returns a function that maps an origin to the cloud, to the metadata service of the host, or to a network error. */
const hostsOf = (cloud: Transport) => {
  const known = originsOf(cloud, ['.amazonaws.com', '169.254.169.254', '169.254.170.2']);
  return (origin: string): Transport | Error =>
    origin.endsWith('://page.example') || origin.includes('sts.eu-west-6') ? async () => html(200) : known(origin);
};

const readerOf = (files: Readonly<Record<string, string>>) => ({
  readFile: async (path: string): Promise<string | undefined> => files[path],
});

/** Generating a key takes long, so all service accounts share one key. */
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = (key: typeof publicKey, type: 'spki' | 'pkcs8'): string =>
  key.export({ type, format: 'pem' } as never).toString();
const ACCOUNT = { type: 'service_account', project_id: 'project-p', client_email: 'machines@project-p.example' };
/** Returns the JSON key of a service account. */
export const serviceAccount = (change: object = {}): string =>
  JSON.stringify({ ...ACCOUNT, private_key: pem(privateKey, 'pkcs8'), ...change });

export const POOL = '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q';
const SOURCES = { paths: ['/tokens'], origins: ['https://idp.example'], aws: true, metadata: true };
const TOKEN_FILES = { '/tokens/of-another': 'another-token' };

export const CLOUDS: Readonly<Record<string, (environment: Environment) => CloudOf>> = {
  AWS: ({ clock, client, variables = {}, files = {} }) => {
    const ordinary = sampleOf('AWS');
    const { providerAccessKeyId = '', providerSecretAccessKey = '' } = ordinary.secret;
    const cloud = new Ec2Endpoint({
      clock,
      power: nodesOf(client),
      bootMs: 1_000,
      keys: { [providerAccessKeyId]: providerSecretAccessKey },
      webIdentity: { tokens: ['token-of-the-workload'], roles: ['arn:aws:iam::111122223333:role/r'] },
      images: [{ imageId: 'ami-0f00dcafe12345678', rootDeviceName: '/dev/xvda' }],
    });
    const { AWS_ENDPOINT_URL: _, ...usual } = AWS_VARIABLES;
    const environment = { variables: { ...usual, ...variables }, ...readerOf(files) };
    return {
      ordinary,
      origins: hostsOf(withExpiredRequests(clock, cloud.transport)),
      driver: (context) => createAwsDriver({ ...context, environment }) as never,
    };
  },
  Azure: ({ clock, client, files = {} }) => {
    const ordinary = sampleOf('Azure');
    const { tenantID: tenant = '', clientID: clientId = '', clientSecret: secret = '' } = ordinary.secret;
    const principals = [{ tenant, clientId, secret }];
    const identities = { system: false, users: [] };
    const cloud = new ArmEndpoint({ clock, power: nodesOf(client), principals, identities });
    cloud.faults.order({
      on: '^PUT networkInterfaces$',
      body: '"location":"westnowhere"',
      refuse: {
        status: 400,
        code: 'LocationNotAvailableForResourceType',
        message:
          "The provided location 'westnowhere' is not available for resource type 'Microsoft.Network/networkInterfaces'.",
      },
    });
    return {
      ordinary,
      origins: originsOf(metadataOf(withEntra(clock, cloud.transport)), [
        ...['management.azure.com', 'login.microsoftonline.com', '169.254.169.254'],
      ]),
      driver: (context) => createAzureDriver({ ...context, ...readerOf(files), allowManagedIdentity: true }) as never,
    };
  },
  GCP: ({ clock, client, files = {} }) => {
    const ordinary = {
      ...sampleOf('GCP'),
      secret: { ...sampleOf('GCP').secret, serviceAccountJSON: serviceAccount() },
    };
    const accounts = [{ email: ACCOUNT.client_email, key: pem(publicKey, 'spki') }];
    const federation = { audience: POOL, tokens: ['the-token'], impersonable: [], hostAccounts: ['host@p'] };
    const cloud = new GceEndpoint({ clock, power: nodesOf(client), accounts, federation });
    cloud.faults.order({
      on: '.',
      body: 'europe-nowhere1-b',
      refuse: {
        status: 400,
        code: 'invalid',
        message: "Invalid value for field 'zone': 'europe-nowhere1-b'. Unknown zone.",
      },
    });
    return {
      ordinary,
      origins: originsOf(metadataOf(withGoogle(clock, cloud.transport)), [
        ...['.googleapis.com', 'metadata.google.internal', 'idp.example', '169.254.169.254'],
      ]),
      driver: (context) =>
        createGcpDriver({ ...context, ...readerOf({ ...TOKEN_FILES, ...files }), sources: SOURCES }) as never,
    };
  },
  local: ({ clock }) => {
    const ordinary = sampleOf('local');
    const cloud = createCloud({
      clock,
      random: seededRandom(7),
      log: silentLogger,
      token: ordinary.secret.token ?? '',
    });
    return {
      ordinary,
      origins: originsOf(handlerTransport(cloud.fetch), ['cloud.example']),
      driver: ({ connect }) => createLocalDriver({ clock, connect }) as never,
    };
  },
};
