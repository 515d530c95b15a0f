import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import type { ApiObject } from '../object.ts';
import type { Registry } from '../registry/registry.ts';
import { AUTHENTICATED, type UserInfo } from './user.ts';

/** Issuer and default audience. */
export const ISSUER = 'https://kubernetes.default.svc';

interface Claims {
  readonly aud: readonly string[];
  readonly exp: number;
  readonly iat: number;
  readonly nbf: number;
  readonly iss: string;
  readonly jti: string;
  readonly sub: string;
  readonly 'kubernetes.io': {
    readonly namespace: string;
    readonly serviceaccount: { readonly name: string; readonly uid: string };
    readonly pod?: { readonly name: string; readonly uid: string };
  };
}

/** What a token binds to beside its account. */
export interface TokenRequestFacts {
  readonly account: ApiObject;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly pod?: { readonly name: string; readonly uid: string };
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function decode<T>(part: string): T | undefined {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as T;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Signs and reads tokens of service accounts (JSON Web Tokens, ES256). */
export class ServiceAccountTokens {
  readonly #registry: Registry;
  readonly #key: KeyObject;
  readonly #publicKey: KeyObject;

  /** `key`: a P-256 key, PEM. */
  constructor(registry: Registry, key: string) {
    this.#registry = registry;
    this.#key = createPrivateKey(key);
    this.#publicKey = createPublicKey(this.#key);
  }

  issue({ account, audiences, expirationSeconds, pod }: TokenRequestFacts): string {
    const { name = '', namespace = '', uid = '' } = account.metadata;
    const now = Math.floor(this.#registry.now().getTime() / 1000);
    const claims: Claims = {
      aud: audiences,
      exp: now + expirationSeconds,
      iat: now,
      nbf: now,
      iss: ISSUER,
      jti: this.#registry.uid(),
      sub: `system:serviceaccount:${namespace}:${name}`,
      'kubernetes.io': { namespace, serviceaccount: { name, uid }, ...(pod === undefined ? {} : { pod }) },
    };
    const head = `${encode({ alg: 'ES256', typ: 'JWT' })}.${encode(claims)}`;
    const signature = sign('sha256', Buffer.from(head), { key: this.#key, dsaEncoding: 'ieee-p1363' });
    return `${head}.${signature.toString('base64url')}`;
  }

  /** The user of a token for one of these audiences; undefined: not ours, too old, or its account is gone. */
  read(token: string, audiences: readonly string[] = [ISSUER]): UserInfo | undefined {
    const [head = '', body = '', signature = '', ...rest] = token.split('.');
    if (signature === '' || rest.length > 0) return undefined;
    const genuine = verify(
      'sha256',
      Buffer.from(`${head}.${body}`),
      { key: this.#publicKey, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    );
    const claims = genuine ? decode<Claims>(body) : undefined;
    if (claims === undefined || claims.iss !== ISSUER) return undefined;
    if (claims.exp * 1000 <= this.#registry.now().getTime()) return undefined;
    if (!claims.aud.some((audience) => audiences.includes(audience))) return undefined;
    const { namespace, serviceaccount, pod } = claims['kubernetes.io'];
    if (!this.#isThere('/serviceaccounts', namespace, serviceaccount)) return undefined;
    if (pod !== undefined && !this.#isThere('/pods', namespace, pod)) return undefined;
    return {
      name: claims.sub,
      uid: serviceaccount.uid,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, AUTHENTICATED],
      extra: {
        'authentication.kubernetes.io/credential-id': [`JTI=${claims.jti}`],
        ...(pod === undefined
          ? {}
          : {
              'authentication.kubernetes.io/pod-name': [pod.name],
              'authentication.kubernetes.io/pod-uid': [pod.uid],
            }),
      },
    };
  }

  /** The audiences of a genuine token that is still good; undefined: it is none of ours. */
  audiencesOf(token: string): readonly string[] | undefined {
    const claims = decode<Claims>(token.split('.')[1] ?? '');
    if (claims?.iss !== ISSUER || this.read(token, claims.aud) === undefined) return undefined;
    return claims.aud;
  }

  #isThere(resource: string, namespace: string, { name, uid }: { name: string; uid: string }): boolean {
    const record = this.#registry.store.get(resource, namespace, name);
    return record?.json.includes(`"uid":"${uid}"`) ?? false;
  }
}
