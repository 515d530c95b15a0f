import type { UserInfo } from './user.ts';
import { MASTERS } from './user.ts';

export interface Access {
  readonly user: UserInfo;
  readonly verb: string;
  /** The path of a request without a resource. For a request with a resource, the path is empty. */
  readonly path: string;
  readonly group: string;
  readonly version?: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly fields?: readonly FieldDemand[];
}

/** A requirement of a field selector. With `equal: false`, the field must have a different value. */
export interface FieldDemand {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
}

/** The error response contains the reason of a refusal. */
export interface Verdict {
  readonly allowed: boolean;
  readonly reason: string;
}

export type Authorizer = (access: Access) => Verdict;

export type PartialAuthorizer = (access: Access) => Verdict | undefined;

/** Allows everything for members of the group `system:masters`. */
export const mastersMay: PartialAuthorizer = ({ user }) =>
  user.groups.includes(MASTERS) ? { allowed: true, reason: '' } : undefined;

/** The authorizers run in order until one of them allows the access. */
export function anyOf(...parts: readonly PartialAuthorizer[]): Authorizer {
  return (access) => {
    let reason = '';
    for (const part of parts) {
      const verdict = part(access);
      if (verdict === undefined) continue;
      if (verdict.allowed) return verdict;
      if (verdict.reason !== '') reason = reason === '' ? verdict.reason : `${reason}\n${verdict.reason}`;
    }
    return { allowed: false, reason };
  };
}
