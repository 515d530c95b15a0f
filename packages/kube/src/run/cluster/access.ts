import { createHash } from 'node:crypto';
import { errorText } from '../../base/error-text.ts';
import type { Clock } from '../../clock/clock.ts';
import type { KubeClient } from '../../contract/client.ts';
import type { Logger } from '../../contract/logger.ts';

/** The address, path and verb of a request. */
export interface AccessRequest {
  readonly remoteAddress: string | undefined;
  readonly authorization: string | undefined;
  readonly path: string;
  readonly verb: string;
}

/** The response that refuses a request, or undefined if the request is allowed. */
export type Refusal = { readonly status: 401 | 403 | 421 | 503; readonly body: string } | undefined;

/** Decides whether a client may read the metrics and the debug endpoints. */
export type Access = (request: AccessRequest) => Promise<Refusal>;

const KEPT_MS = 10_000;
/** The maximum number of cached decisions, so that invalid tokens do not fill the memory. */
const KEPT_MOST = 256;

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/;

export const isLoopback = (address: string | undefined): boolean => address !== undefined && LOOPBACK.test(address);

interface TokenReview {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly user?: { readonly username?: string; readonly uid?: string; readonly groups?: readonly string[] };
  };
}

interface SubjectAccessReview {
  readonly status?: { readonly allowed?: boolean };
}

const review = <T>(client: KubeClient, group: string, plural: string, kind: string, spec: object): Promise<T> =>
  client.request<T>('POST', `/apis/${group}/v1/${plural}`, { body: { apiVersion: `${group}/v1`, kind, spec } });

async function assess(client: KubeClient, token: string, path: string, verb: string): Promise<Refusal> {
  const { status } = await review<TokenReview>(client, 'authentication.k8s.io', 'tokenreviews', 'TokenReview', {
    token,
  });
  if (status?.authenticated !== true) return { status: 401, body: 'the token is not valid in this cluster\n' };
  const { username = '', uid, groups } = status.user ?? {};
  const answer = await review<SubjectAccessReview>(
    client,
    'authorization.k8s.io',
    'subjectaccessreviews',
    'SubjectAccessReview',
    { user: username, uid, groups, nonResourceAttributes: { path, verb } },
  );
  if (answer.status?.allowed === true) return undefined;
  return {
    status: 403,
    body: `${username} has no permission to ${verb} ${path}: grant the permission with nonResourceURLs of a ClusterRole\n`,
  };
}

/**
 * Creates the check for metrics and debug endpoints. A remote client needs a token of the cluster (TokenReview) and
 * permission for the path (SubjectAccessReview).
 */
export function createAccess(options: {
  readonly client: () => KubeClient | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}): Access {
  const { client, clock, log } = options;
  const kept = new Map<string, { readonly until: number; readonly refusal: Promise<Refusal> }>();

  const ask = async (token: string, path: string, verb: string): Promise<Refusal> => {
    const api = client();
    if (api === undefined) return { status: 503, body: 'the process is not connected to the cluster yet\n' };
    try {
      return await assess(api, token, path, verb);
    } catch (error) {
      log.warn('Cannot check the permission to read an endpoint', { path, error: errorText(error) });
      return { status: 503, body: 'cannot check the permission with the API server; see the log\n' };
    }
  };

  return async ({ remoteAddress, authorization, path, verb }) => {
    if (isLoopback(remoteAddress)) return undefined;
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) {
      return {
        status: 401,
        body: 'access requires a bearer token of the cluster, or a request from this machine\n',
      };
    }
    const key = createHash('sha256').update(`${verb} ${path} ${token}`).digest('base64');
    const now = clock.now().getTime();
    const known = kept.get(key);
    if (known !== undefined && known.until > now) return known.refusal;
    kept.delete(key);
    const [oldest] = kept.keys();
    if (oldest !== undefined && kept.size >= KEPT_MOST) kept.delete(oldest);
    const refusal = ask(token, path, verb);
    kept.set(key, { until: now + KEPT_MS, refusal });
    const answer = await refusal;
    if (answer?.status === 503) kept.delete(key);
    return answer;
  };
}
