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

// Modules load in real time, which a virtual clock does not see.
await loadSdk();

/** A cloud that checks credentials, its driver, and a valid class. */
export interface CloudOf {
  readonly driver: (context: DriverContext) => DriverDefinition<never, never>;
  /** The server at an origin, or the error of the connection. */
  readonly origins: (origin: string) => Transport | Error;
  readonly ordinary: ClassInput;
}

interface Surroundings {
  readonly clock: VirtualClock;
  readonly client: KubeClient;
  /** Variables of the controller's environment; absent: none. */
  readonly variables?: Readonly<Record<string, string>>;
}

const failing = (code: string, message: string): Error => Object.assign(new Error(message), { code });

/** Connection errors, by a part of the host name. */
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

/** @param hosts Parts of the names of hosts that are the cloud's */
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
  if (!sample) throw new Error(`there is no sample of ${provider}`);
  return sample;
};

const html = (status: number): TransportResponse => ({
  ...{ status, headers: { get: () => null }, body: null },
  text: async () => '<html>Welcome to the proxy</html>',
});

/** A metadata server that refuses some identities. Their names describe the failure. */
const metadataOf =
  (cloud: Transport): Transport =>
  async (request) => {
    if (request.path.includes('answered-by-a-proxy')) return html(200);
    if (request.path.includes('no-such-page')) return html(404);
    if (request.path.includes('out-of-reach')) throw failing('EHOSTUNREACH', 'connect EHOSTUNREACH');
    return cloud(request);
  };

/** The access key of a controller with a wrong clock. */
export const LATE_KEY = 'AKIALATE';
const LATE_MS = 20 * 60_000;

/** EC2 and STS, for a controller whose clock is ahead. */
const withClockOf =
  (clock: VirtualClock, cloud: Transport): Transport =>
  async (request) => {
    if (!request.headers.authorization?.includes(`Credential=${LATE_KEY}/`)) return cloud(request);
    const date = new Date(clock.now().getTime() - LATE_MS).toUTCString();
    const body =
      '<Response><Errors><Error><Code>RequestExpired</Code><Message>Request has expired.</Message></Error></Errors></Response>';
    return {
      status: 400,
      headers: { get: (name) => (name === 'date' ? date : null) },
      body: null,
      text: async () => body,
    };
  };

/** A host with a metadata service, which answers with a page at the host `page.example`. */
const hostsOf = (cloud: Transport) => {
  const known = originsOf(cloud, ['.amazonaws.com', '169.254.169.254']);
  return (origin: string): Transport | Error =>
    origin === 'http://page.example' ? async () => html(200) : known(origin);
};

const nothingRead = { readFile: async () => undefined };

/** The same key for all: it takes a while to make. */
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = (key: typeof publicKey, type: 'spki' | 'pkcs8'): string =>
  key.export({ type, format: 'pem' } as never).toString();
const ACCOUNT = { type: 'service_account', project_id: 'project-p', client_email: 'machines@project-p.example' };
/** The key of a service account, with some of it replaced. */
export const serviceAccount = (change: object = {}): string =>
  JSON.stringify({ ...ACCOUNT, private_key: pem(privateKey, 'pkcs8'), ...change });

/** The workload identity pool of the emulated cloud. */
export const POOL = '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q';
const SOURCES = { paths: ['/tokens'], origins: ['https://idp.example'], aws: true, metadata: true };
const TOKEN_FILE = { readFile: async (path: string) => (path === '/tokens/of-another' ? 'another-token' : undefined) };

/** Opens the cloud of a provider. */
export const CLOUDS: Readonly<Record<string, (surroundings: Surroundings) => CloudOf>> = {
  AWS: ({ clock, client, variables = {} }) => {
    const ordinary = sampleOf('AWS');
    const { providerAccessKeyId = '', providerSecretAccessKey = '' } = ordinary.secret;
    const cloud = new Ec2Endpoint({
      ...{ clock, power: nodesOf(client), bootMs: 1_000 },
      keys: { [providerAccessKeyId]: providerSecretAccessKey },
      images: [{ imageId: 'ami-0f00dcafe12345678', rootDeviceName: '/dev/xvda' }],
    });
    const { AWS_ENDPOINT_URL: _, ...usual } = AWS_VARIABLES;
    const environment = { variables: { ...usual, ...variables }, ...nothingRead };
    return {
      ordinary,
      origins: hostsOf(withClockOf(clock, cloud.transport)),
      driver: (context) => createAwsDriver({ ...context, environment }) as never,
    };
  },
  Azure: ({ clock, client }) => {
    const ordinary = sampleOf('Azure');
    const { tenantID: tenant = '', clientID: clientId = '', clientSecret: secret = '' } = ordinary.secret;
    const principals = [{ tenant, clientId, secret }];
    const identities = { system: false, users: [] };
    const cloud = new ArmEndpoint({ clock, power: nodesOf(client), principals, identities });
    cloud.faults.order({
      ...{ on: '^PUT networkInterfaces$', body: '"location":"westnowhere"' },
      refuse: {
        ...{ status: 400, code: 'LocationNotAvailableForResourceType' },
        message:
          "The provided location 'westnowhere' is not available for resource type 'Microsoft.Network/networkInterfaces'.",
      },
    });
    return {
      ordinary,
      origins: originsOf(metadataOf(cloud.transport), [
        ...['management.azure.com', 'login.microsoftonline.com', '169.254.169.254'],
      ]),
      driver: (context) => createAzureDriver({ ...context, ...nothingRead, allowManagedIdentity: true }) as never,
    };
  },
  GCP: ({ clock, client }) => {
    const ordinary = {
      ...sampleOf('GCP'),
      secret: { ...sampleOf('GCP').secret, serviceAccountJSON: serviceAccount() },
    };
    const accounts = [{ email: ACCOUNT.client_email, key: pem(publicKey, 'spki') }];
    const federation = { audience: POOL, tokens: ['the-token'], impersonable: [], hostAccounts: ['host@p'] };
    const cloud = new GceEndpoint({ clock, power: nodesOf(client), accounts, federation });
    cloud.faults.order({
      ...{ on: '.', body: 'europe-nowhere1-b' },
      refuse: {
        status: 400,
        code: 'invalid',
        message: "Invalid value for field 'zone': 'europe-nowhere1-b'. Unknown zone.",
      },
    });
    return {
      ordinary,
      origins: originsOf(metadataOf(cloud.transport), [
        ...['.googleapis.com', 'metadata.google.internal', 'idp.example', '169.254.169.254'],
      ]),
      driver: (context) => createGcpDriver({ ...context, ...TOKEN_FILE, sources: SOURCES }) as never,
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
