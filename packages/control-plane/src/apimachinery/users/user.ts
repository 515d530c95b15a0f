/** The user of a request, in the form of `UserInfo` of `authentication.k8s.io`. */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export const MASTERS = 'system:masters';
export const AUTHENTICATED = 'system:authenticated';
export const BOOTSTRAPPERS = 'system:bootstrappers';
export const NODES = 'system:nodes';
export const UNAUTHENTICATED = 'system:unauthenticated';

/** The administrator of the control plane, with all permissions. */
export const administrator: UserInfo = { name: 'kubernetes-admin', groups: [MASTERS, AUTHENTICATED] };

/** The user of a request without credentials. */
export const anonymous: UserInfo = { name: 'system:anonymous', groups: [UNAUTHENTICATED] };
