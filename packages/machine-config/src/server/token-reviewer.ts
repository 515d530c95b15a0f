import { createHash } from 'node:crypto';
import type { Clock, KubeClient } from '@mcm/kube';
import { GROUP } from '../kinds/group.ts';

export interface TokenUser {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
}

export interface TokenReviewer {
  userOf(token: string): Promise<TokenUser | undefined>;
  /** Returns true if RBAC allows a user to get `machineconfigpools/bootconfig` of a pool. */
  mayBoot(user: TokenUser, pool: string): Promise<boolean>;
}

/**
 * Matches the user of a bootstrap token. The name of a bootstrap user contains the token ID, which is the part of the
 * token before the dot.
 */
const BOOTSTRAP_USER = /^system:bootstrap:([a-z0-9]{6})$/;

export const bootstrapIdOf = ({ username }: TokenUser): string | undefined => BOOTSTRAP_USER.exec(username)?.[1];

const KEPT_MS = 10_000;
const KEPT_MOST = 1024;

/** Creates a reviewer that uses TokenReview and SubjectAccessReview. */
export function createTokenReviewer(client: KubeClient, clock: Clock): TokenReviewer {
  const kept = new Map<string, { readonly until: number; readonly user: Promise<TokenUser | undefined> }>();
  const ask = async (token: string): Promise<TokenUser | undefined> => {
    const { status } = await review<{ authenticated?: boolean; user?: TokenUser }>(
      ...[client, 'authentication.k8s.io', 'tokenreviews', 'TokenReview', { token }],
    );
    return status?.authenticated === true ? status.user : undefined;
  };
  return {
    async userOf(token) {
      const key = createHash('sha256').update(token).digest('base64');
      const now = clock.now().getTime();
      const known = kept.get(key);
      if (known && known.until > now) return known.user;
      kept.delete(key);
      const [oldest] = kept.keys();
      if (oldest !== undefined && kept.size >= KEPT_MOST) kept.delete(oldest);
      const user = ask(token);
      kept.set(key, { until: now + KEPT_MS, user });
      user.catch(() => kept.delete(key));
      return user;
    },
    async mayBoot({ username, uid, groups }, name) {
      const resourceAttributes = { group: GROUP, resource: 'machineconfigpools', subresource: 'bootconfig', name };
      const spec = { user: username, uid, groups, resourceAttributes: { ...resourceAttributes, verb: 'get' } };
      const { status } = await review<{ allowed?: boolean }>(
        ...[client, 'authorization.k8s.io', 'subjectaccessreviews', 'SubjectAccessReview', spec],
      );
      return status?.allowed === true;
    },
  };
}

const review = <T>(client: KubeClient, group: string, plural: string, kind: string, spec: object) =>
  client.request<{ readonly status?: T }>('POST', `/apis/${group}/v1/${plural}`, {
    body: { apiVersion: `${group}/v1`, kind, spec },
  });
