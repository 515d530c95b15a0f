import type { UserInfo } from './user.ts';
import { MASTERS } from './user.ts';

/** A request for access, which an authorizer decides on. */
export interface Access {
  readonly user: UserInfo;
  readonly verb: string;
  /** The path of a request that has no resource, e.g. `/healthz`; '' for a resource. */
  readonly path: string;
  readonly group: string;
  readonly version?: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** The field selector of a list, watch or deletecollection; absent: none. */
  readonly fields?: readonly FieldDemand[];
}

/** A requirement of a field selector: the field has this value, or (with `equal: false`) has another value. */
export interface FieldDemand {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
}

/** The decision about an access. The error of a refusal shows the reason. */
export interface Verdict {
  readonly allowed: boolean;
  readonly reason: string;
}

/** Decides whether an access is allowed. */
export type Authorizer = (access: Access) => Verdict;

/** Allows an access, or has no opinion. An authorizer without an opinion returns undefined, or a verdict with a reason. */
export type PartialAuthorizer = (access: Access) => Verdict | undefined;

/** Allows everything for members of the group `system:masters`. No other authorizer can deny it. */
export const mastersMay: PartialAuthorizer = ({ user }) =>
  user.groups.includes(MASTERS) ? { allowed: true, reason: '' } : undefined;

/**
 * Calls the authorizers in order. The first one that allows the access decides. If none does, the refusal has the reasons of
 * all.
 */
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
