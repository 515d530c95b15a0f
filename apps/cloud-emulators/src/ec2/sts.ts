import type { HostRole } from '../login/aws-metadata.ts';
import { Ec2Error, type Params } from './params.ts';
import type { Scope } from './signature.ts';
import { type Element, elements } from './xml.ts';

/** The temporary keys that STS returns for every role. */
const KEYS = {
  AccessKeyId: 'ASIAFAKEWEBIDENTITY1',
  SecretAccessKey: 'fake-web-identity-secret',
  SessionToken: 'fake-session-token',
  // Clients compare the expiry with the wall clock, but the emulator may use a virtual clock. Therefore, the expiry is
  // far in the future.
  Expiration: '2099-01-01T00:00:00Z',
} as const;

const OWN: HostRole['keys'] = {
  accessKeyId: KEYS.AccessKeyId,
  secretAccessKey: KEYS.SecretAccessKey,
  sessionToken: KEYS.SessionToken,
};

/** Returns the secret key of temporary credentials. */
export const temporarySecret = ({ accessKeyId, sessionToken }: Scope, host?: HostRole): string | undefined =>
  [OWN, ...(host ? [host.keys] : [])].find(
    (keys) => keys.accessKeyId === accessKeyId && keys.sessionToken === sessionToken,
  )?.secretAccessKey;

export const isOfSts = (action: string): boolean => action.startsWith('AssumeRole');

/** Workload tokens and roles that STS accepts. */
export interface WebIdentity {
  readonly tokens: readonly string[];
  readonly roles: readonly string[];
}

interface StsState {
  /**
   * The workload tokens and roles that STS accepts. If `webIdentity` is undefined, STS accepts every token and role.
   */
  readonly webIdentity: WebIdentity | undefined;
  readonly now: number;
}

function checkWebIdentity({ RoleArn = '', WebIdentityToken = '' }: Params, { webIdentity, now }: StsState): void {
  const { exp } = claimsOf(WebIdentityToken);
  if (typeof exp === 'number' && exp * 1_000 <= now)
    throw new Ec2Error(
      'ExpiredTokenException',
      'Token expired: current date/time must be before the expiration date/time',
    );
  if (!webIdentity) return;
  if (!webIdentity.tokens.includes(WebIdentityToken.trim()))
    throw new Ec2Error('InvalidIdentityToken', 'No OpenIDConnect provider found in your account for this token');
  if (!webIdentity.roles.includes(RoleArn.trim()))
    throw new Ec2Error('AccessDenied', 'Not authorized to perform sts:AssumeRoleWithWebIdentity', 403);
}

/**
 * Handles the actions `AssumeRole` and `AssumeRoleWithWebIdentity`.
 * @throws Ec2Error if a parameter is missing, or if the token or the role is not accepted
 */
export function assumeRole(action: string, params: Params, state: StsState): readonly Element[] {
  const byToken = action === 'AssumeRoleWithWebIdentity';
  for (const name of ['RoleArn', 'RoleSessionName', ...(byToken ? ['WebIdentityToken'] : [])])
    if (!params[name])
      throw new Ec2Error(
        'ValidationError',
        `1 validation error detected: Value at '${name}' failed to satisfy constraint`,
      );
  if (byToken) checkWebIdentity(params, state);
  const { RoleArn = '', RoleSessionName = '', WebIdentityToken = '' } = params;
  const { sub, iss, aud } = claimsOf(WebIdentityToken);
  const role = RoleArn.trim().replace(/^arn:([^:]*):iam::(\d*):role\//, 'arn:$1:sts::$2:assumed-role/');
  const identity = {
    SubjectFromWebIdentityToken: textOf(sub) ?? 'sub',
    Audience: textOf(aud) ?? 'sts.amazonaws.com',
    Provider: textOf(iss) ?? 'https://issuer.example',
  };
  return elements({
    ...(byToken ? identity : {}),
    AssumedRoleUser: elements({ AssumedRoleId: `AROAFAKEROLE:${RoleSessionName}`, Arn: `${role}/${RoleSessionName}` }),
    Credentials: elements(KEYS),
  });
}

const textOf = (value: unknown): string | undefined => {
  const [first] = Array.isArray(value) ? value : [value];
  return typeof first === 'string' ? first : undefined;
};

/** Returns the claims of a token. The emulator of STS does not verify the signature of the token. */
function claimsOf(token: string): Readonly<Record<string, unknown>> {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
