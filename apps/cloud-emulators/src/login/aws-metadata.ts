import type { Clock, TransportRequest, TransportResponse } from '@mcm/kube';
import { answer, jsonAnswer } from '../server/answer.ts';
import { headerOf } from './tokens.ts';

/** The AWS role of a host. */
export interface HostRole {
  readonly role: string;
  readonly region: string;
  readonly keys: { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken: string };
}

const ROLES = '/latest/meta-data/iam/security-credentials/';
/**
 * The header with the lifetime of a session. If a response lacks this header, the AWS SDK for Go ignores the session.
 */
const TTL = 'x-aws-ec2-metadata-token-ttl-seconds';
const SESSION = 'session-of-the-emulator';
const LIFE_MS = 6 * 3_600_000;

/** The path at which the agent of EKS Pod Identity serves credentials. */
const CONTAINER = '/v1/credentials';

function keysOf({ keys }: HostRole, clock: Clock): object {
  const { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken: Token } = keys;
  return { AccessKeyId, SecretAccessKey, Token, Expiration: new Date(clock.now().getTime() + LIFE_MS).toISOString() };
}

/** Handles requests to the AWS metadata service (IMDSv2) and to the container agent. */
export function answerAwsMetadata(
  { method, path, headers }: TransportRequest,
  host: HostRole | undefined,
  clock: Clock,
): TransportResponse | undefined {
  if (path === CONTAINER)
    return host && headerOf(headers, 'authorization') ? jsonAnswer(200, keysOf(host, clock)) : answer(401, '');
  if (!path.startsWith('/latest/')) return undefined;
  if (path === '/latest/api/token') {
    const life = headerOf(headers, TTL);
    return method === 'PUT' && life !== undefined ? answer(200, SESSION, { [TTL]: life }) : answer(400, '');
  }
  if (headerOf(headers, 'x-aws-ec2-metadata-token') !== SESSION) return answer(401, '');
  if (!host) return answer(404, '');
  if (path === ROLES || `${path}/` === ROLES) return answer(200, host.role);
  if (path === `${ROLES}${host.role}`) return jsonAnswer(200, { Code: 'Success', ...keysOf(host, clock) });
  return path === '/latest/meta-data/placement/region' ? answer(200, host.region) : answer(404, '');
}
