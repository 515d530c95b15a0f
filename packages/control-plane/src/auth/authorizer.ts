import type { UserInfo } from './user.ts';
import { AUTHENTICATED, MASTERS, UNAUTHENTICATED } from './user.ts';

/** What somebody wants to do. */
export interface Access {
  readonly user: UserInfo;
  readonly verb: string;
  /** A path outside of the resources, e.g. `/healthz`; '' for a resource. */
  readonly path: string;
  readonly group: string;
  readonly version?: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** `reason`: shown after the refusal. */
export interface Verdict {
  readonly allowed: boolean;
  readonly reason: string;
}

/** Decides whether somebody may do something. */
export type Authorizer = (access: Access) => Verdict;

const PUBLIC_PATHS = new Set(['/healthz', '/livez', '/readyz', '/version', '/version/']);
const DISCOVERY = /^\/(api|apis|openapi)(\/|$)/;

/** The rules that hold without any role: masters may everything, everybody may see health and version, users discovery. */
export function basicVerdict({ user, verb, path }: Access): Verdict | undefined {
  if (user.groups.includes(MASTERS)) return { allowed: true, reason: '' };
  const reads = verb === 'get' || verb === 'head';
  const known = user.groups.includes(AUTHENTICATED);
  if (path !== '' && reads && (known || user.groups.includes(UNAUTHENTICATED))) {
    if (PUBLIC_PATHS.has(path)) return { allowed: true, reason: '' };
    if (known && (DISCOVERY.test(path) || path.startsWith('/healthz/') || path.startsWith('/version'))) {
      return { allowed: true, reason: '' };
    }
  }
  return undefined;
}
