import { joinCauses } from '../../apimachinery/errors/errors.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { tidyMeta } from '../../apimachinery/objects/object-text.ts';
import { defined } from '../../apimachinery/objects/plain.ts';
import { type StatusCause, StatusError } from '../../apimachinery/objects/status.ts';
import type { UserInfo } from '../../apimachinery/users/user.ts';

const GROUP = 'authorization.k8s.io';

/** In kube-apiserver, the error about an invalid review contains no kind. */
export const invalidReview = (causes: readonly StatusCause[]): StatusError =>
  new StatusError({
    message: `.${GROUP} "" is invalid: ${joinCauses(causes)}`,
    reason: 'Invalid',
    details: { group: GROUP, causes: [...causes] },
    code: 422,
  });

export const answered = (object: ApiObject, parts: { spec?: unknown; status: unknown }): ApiObject => ({
  kind: object.kind,
  apiVersion: object.apiVersion,
  metadata: tidyMeta(object.metadata),
  ...parts,
});

/** Returns a user in the JSON form of `UserInfo`. */
export const showUser = ({ name, uid = '', groups, extra }: UserInfo): Record<string, unknown> =>
  defined({
    username: name,
    uid: uid || undefined,
    groups: groups.length === 0 ? undefined : groups,
    extra: extra === undefined || Object.keys(extra).length === 0 ? undefined : extra,
  });
