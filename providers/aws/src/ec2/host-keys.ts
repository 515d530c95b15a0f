import { askForText, askForToken, TokenRefused } from '@mcm/core/driver';
import type { Clock, Transport } from '@mcm/kube';
import { defined } from '@mcm/kube';
import { z } from 'zod';
import type { Keys } from './credentials.ts';
import type { Environment } from './environment.ts';

export interface HostOptions {
  readonly clock: Clock;
  readonly connect: (origin: string) => Transport;
  readonly environment: Environment;
}

const CONTAINERS = 'http://169.254.170.2';
const ROLES = '/latest/meta-data/iam/security-credentials/';
/** Matches the addresses of agents for which plain http is allowed. */
const AGENTS = /^(localhost|127(\.\d+){3}|\[::1\]|169\.254\.170\.(2|23)|\[fd00:ec2::23\])$/;

const answer = z.looseObject({
  AccessKeyId: z.string().min(1),
  SecretAccessKey: z.string().min(1),
  Token: z.string().optional(),
  Expiration: z.iso.datetime({ offset: true }).optional(),
});

const toKeys = ({ AccessKeyId, SecretAccessKey, Token, Expiration }: z.infer<typeof answer>): Keys =>
  defined({
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: Token || undefined,
    expiration: Expiration ? new Date(Expiration) : undefined,
  });

/**
 * Requests the keys of the container's role, from an agent of EKS Pod Identity or ECS.
 * @returns undefined if the environment contains no address of an agent
 * @throws TokenRefused, TokenUnavailable, or the reason of the signal
 */
export async function containerKeys(options: HostOptions, signal: AbortSignal): Promise<Keys | undefined> {
  const { clock, connect, environment } = options;
  const { variables, readFile } = environment;
  const {
    AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: relative,
    AWS_CONTAINER_CREDENTIALS_FULL_URI: full,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: given,
  } = variables;
  if (!relative && !full) return undefined;
  const name = relative ? 'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI' : 'AWS_CONTAINER_CREDENTIALS_FULL_URI';
  const url = relative ? `${CONTAINERS}${relative}` : (full ?? '');
  const { protocol, hostname } = URL.parse(url) ?? {};
  if (protocol !== 'https:' && !(protocol === 'http:' && AGENTS.test(hostname ?? '')))
    throw new TokenRefused(`${name} must be an https URL, or an http URL of this host or of a container agent`);
  // Each login reads the token file again, because the kubelet replaces the token.
  const token = file ? (await readFile(file))?.trim() : given;
  if (file && !token)
    throw new TokenRefused(
      `the token file ${file} of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE cannot be read, or is empty`,
    );
  const say = (cause: string): string => `cannot get the keys of the container's role with ${name}: ${cause}`;
  const headers = token ? { authorization: token } : {};
  return toKeys(
    await askForToken({ connect, url, headers, schema: answer, say, signal, strict: true, now: clock.now() }),
  );
}

/**
 * Requests the keys of the instance's role from the instance metadata service.
 * @returns undefined if the environment disables the metadata service
 * @throws TokenRefused, TokenUnavailable, or the reason of the signal
 */
export async function instanceKeys(options: HostOptions, signal: AbortSignal): Promise<Keys | undefined> {
  const { clock, connect, environment } = options;
  const {
    AWS_EC2_METADATA_DISABLED: disabled,
    AWS_EC2_METADATA_SERVICE_ENDPOINT: endpoint,
    AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE: mode,
  } = environment.variables;
  if (disabled?.toLowerCase() === 'true') return undefined;
  const origin = new URL(endpoint || (mode === 'IPv6' ? 'http://[fd00:ec2::254]' : 'http://169.254.169.254')).origin;
  const say = (cause: string): string =>
    `cannot get the credentials of the instance from ${origin}: ${cause}; use an instance role, or set keys in the Secret`;
  const common = { connect, say, signal, now: clock.now() };
  const session = await askForText({
    ...common,
    method: 'PUT',
    url: `${origin}/latest/api/token`,
    headers: { 'x-aws-ec2-metadata-token-ttl-seconds': '300' },
  });
  const headers = { 'x-aws-ec2-metadata-token': session };
  const role = (await askForText({ ...common, url: `${origin}${ROLES}`, headers })).split('\n')[0]?.trim() ?? '';
  const url = `${origin}${ROLES}${encodeURIComponent(role)}`;
  return toKeys(await askForToken({ ...common, url, headers, schema: answer, strict: true }));
}
