import type { UserInfo } from './user.ts';
import { MASTERS } from './user.ts';

/** One access that a user requests. */
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
  /** The field requirements of a list, watch or deletecollection; absent: none. */
  readonly fields?: readonly FieldDemand[];
}

/** A field that must (or, with `equal: false`, must not) have a value. */
export interface FieldDemand {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
}

/** `reason`: shown after the refusal. */
export interface Verdict {
  readonly allowed: boolean;
  readonly reason: string;
}

/** Decides whether an access is allowed. */
export type Authorizer = (access: Access) => Verdict;

/** Says nothing about an access, or allows it, or (with a reason) has no opinion that allows it. */
export type PartialAuthorizer = (access: Access) => Verdict | undefined;

/** Members of the group of masters may do everything. No other authorizer can deny it. */
export const mastersMay: PartialAuthorizer = ({ user }) =>
  user.groups.includes(MASTERS) ? { allowed: true, reason: '' } : undefined;

/** Asks one after another; the first that allows decides. The reasons of the others are shown together. */
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
