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

export const administrator: UserInfo = { name: 'kubernetes-admin', groups: [MASTERS, AUTHENTICATED] };

export const anonymous: UserInfo = { name: 'system:anonymous', groups: [UNAUTHENTICATED] };
