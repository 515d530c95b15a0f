import { generateKeyPairSync } from 'node:crypto';
import { ArmEndpoint, Ec2Endpoint, GceEndpoint, listen } from '@mcm/cloud-emulators';
import { createAuthority } from '@mcm/control-plane';
import { realClock as clock, handlerTransport, silentLogger as log, seededRandom, type Transport } from '@mcm/kube';
import { createCloud } from '@mcm/provider-local';

/** An emulated cloud on a port of the loopback address. */
export interface Loopback {
  readonly origin: string;
  readonly ca?: string;
  /** The environment variables with which a driver finds the server and logs in. */
  readonly variables: Readonly<Record<string, string>>;
  /** Returns the names of all resources in the cloud. */
  readonly left: () => readonly string[] | Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

const KEY_ID = 'key-id-of-the-test';
const KEY = 'key/of+the-test';
/** The pages are small, because a list call of the test must read several pages. */
const pageSize = 5;

async function onPort(transport: Transport): Promise<{ origin: string; close: () => Promise<void> }> {
  const { origin, serve, close } = await listen({ port: 0, log });
  serve(transport);
  return { origin, close };
}

async function aws(): Promise<Loopback> {
  const cloud = new Ec2Endpoint({ clock, pageSize, shutdownMs: 0, keys: { [KEY_ID]: KEY } });
  const { origin, close } = await onPort(cloud.transport);
  const left = () => cloud.resources().map(({ id }) => id);
  const variables = {
    AWS_ENDPOINT_URL: origin,
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/nonexistent/config',
    AWS_SHARED_CREDENTIALS_FILE: '/nonexistent/credentials',
  };
  return { origin, left, close, variables: { ...variables, CONFORMANCE_KEY_ID: KEY_ID, CONFORMANCE_KEY: KEY } };
}

async function azure(): Promise<Loopback> {
  const authority = createAuthority(clock.now());
  const { origin, serve, close } = await listen({ port: 0, log, tls: authority.issueServer(['127.0.0.1']) });
  const principals = [{ tenant: 'tenant-of-the-test', clientId: KEY_ID, secret: KEY }];
  const cloud = new ArmEndpoint({ clock, pageSize, origin, operationMs: 0, principals });
  serve(cloud.transport);
  const variables = { AZURE_RESOURCE_MANAGER_ENDPOINT: origin, AZURE_AUTHORITY_HOST: origin };
  return {
    origin,
    close,
    ca: authority.certificate,
    left: () => cloud.ids(),
    variables: { ...variables, CONFORMANCE_KEY_ID: KEY_ID, CONFORMANCE_KEY: KEY },
  };
}

async function gcp(): Promise<Loopback> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const email = 'machines@project-p.example';
  const accounts = [{ email, key: publicKey.export({ type: 'spki', format: 'pem' }).toString() }];
  const cloud = new GceEndpoint({ clock, pageSize, operationMs: 0, accounts });
  const { origin, close } = await onPort(cloud.transport);
  const key = {
    type: 'service_account',
    project_id: 'project-p',
    client_email: email,
    private_key_id: 'key-1',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    token_uri: 'https://oauth2.googleapis.com/token',
  };
  const variables = { GOOGLE_COMPUTE_CUSTOM_ENDPOINT: origin, MCM_GCP_TOKEN_ENDPOINT: `${origin}/token` };
  const left = () => cloud.names();
  return { origin, left, close, variables: { ...variables, CONFORMANCE_KEY: JSON.stringify(key) } };
}

async function local(): Promise<Loopback> {
  const cloud = createCloud({ clock, random: seededRandom(7), log, token: KEY });
  const transport = handlerTransport(cloud.fetch);
  const { origin, close } = await onPort(transport);
  const left = async (): Promise<readonly string[]> => {
    const headers = { authorization: `Bearer ${KEY}` };
    const answer = await transport({ method: 'GET', path: '/v1/instances', headers });
    const { items } = JSON.parse(await answer.text()) as { items: readonly { name: string; state: string }[] };
    return items.filter(({ state }) => state === 'running').map(({ name }) => name);
  };
  const end = async (): Promise<void> => {
    await close();
    await cloud.close();
  };
  return { origin, left, close: end, variables: { LOCAL_CLOUD_ENDPOINT: origin, CONFORMANCE_KEY: KEY } };
}

export const CLOUDS = { aws, azure, gcp, local } as const;
