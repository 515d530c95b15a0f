import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import type { ApiObject } from '../object.ts';
import type { Registry } from '../registry/registry.ts';
import { AUTHENTICATED, type UserInfo } from './user.ts';

/** Issuer and default audience. */
export const ISSUER = 'https://kubernetes.default.svc';

/** What a token is bound to beside its account: it is good only as long as this object is there. */
export interface BoundObject {
  readonly kind: 'Pod' | 'Secret' | 'Node';
  readonly name: string;
  readonly uid: string;
  /** The node of a pod. */
  readonly node?: { readonly name: string; readonly uid?: string };
}

interface Reference {
  readonly name: string;
  readonly uid?: string;
}

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
    readonly serviceaccount: Reference;
    readonly pod?: Reference;
    readonly secret?: Reference;
    readonly node?: Reference;
  };
}

export interface TokenFacts {
  readonly account: ApiObject;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly bound?: BoundObject;
}

/** Tokens whose signature was found good are remembered, so that it is computed once and not at every request. */
const REMEMBERED_TOKENS = 1000;

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function decode<T>(part: string): T | undefined {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as T;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function boundClaims(bound: BoundObject | undefined): Pick<Claims['kubernetes.io'], 'pod' | 'secret' | 'node'> {
  if (bound === undefined) return {};
  const { kind, name, uid, node } = bound;
  const reference = { name, uid };
  if (kind === 'Secret') return { secret: reference };
  if (kind === 'Node') return { node: reference };
  return { ...(node === undefined ? {} : { node }), pod: reference };
}

/** Signs and reads tokens of service accounts (JSON Web Tokens, ES256). */
export class ServiceAccountTokens {
  readonly #registry: Registry;
  readonly #key: KeyObject;
  readonly #publicKey: KeyObject;
  readonly #keyId: string;
  readonly #genuine = new Map<string, Claims>();

  /** `key`: a P-256 key, PEM. */
  constructor(registry: Registry, key: string) {
    this.#registry = registry;
    this.#key = createPrivateKey(key);
    this.#publicKey = createPublicKey(this.#key);
    const spki = this.#publicKey.export({ type: 'spki', format: 'der' });
    this.#keyId = createHash('sha256').update(spki).digest('base64url');
  }

  issue({ account, audiences, expirationSeconds, bound }: TokenFacts): string {
    const { name = '', namespace = '', uid = '' } = account.metadata;
    const now = Math.floor(this.#registry.now().getTime() / 1000);
    const claims: Claims = {
      aud: audiences,
      exp: now + expirationSeconds,
      iat: now,
      iss: ISSUER,
      jti: this.#registry.uid(),
      'kubernetes.io': { namespace, ...boundClaims(bound), serviceaccount: { name, uid } },
      nbf: now,
      sub: `system:serviceaccount:${namespace}:${name}`,
    };
    const head = `${encode({ alg: 'ES256', kid: this.#keyId })}.${encode(claims)}`;
    const signature = sign('sha256', Buffer.from(head), { key: this.#key, dsaEncoding: 'ieee-p1363' });
    return `${head}.${signature.toString('base64url')}`;
  }

  /** The user of a token for one of these audiences; undefined: not ours, too old, or its account is gone. */
  read(token: string, audiences: readonly string[] = [ISSUER]): UserInfo | undefined {
    const claims = this.#claimsOf(token);
    if (claims === undefined || claims.exp * 1000 <= this.#registry.now().getTime()) return undefined;
    if (!claims.aud.some((audience) => audiences.includes(audience))) return undefined;
    const { namespace, serviceaccount, pod, secret, node } = claims['kubernetes.io'];
    const there =
      this.#isThere('/serviceaccounts', namespace, serviceaccount) &&
      this.#isThere('/pods', namespace, pod) &&
      this.#isThere('/secrets', namespace, secret) &&
      // The node of a pod is told, and does not end its token.
      (pod !== undefined || this.#isThere('/nodes', '', node));
    return there ? userOf(claims) : undefined;
  }

  /** The audiences of a genuine token that is still good; undefined: it is none of ours. */
  audiencesOf(token: string): readonly string[] | undefined {
    const claims = this.#claimsOf(token);
    return claims === undefined || this.read(token, claims.aud) === undefined ? undefined : claims.aud;
  }

  /** What a token says, when we have signed it. */
  #claimsOf(token: string): Claims | undefined {
    const known = this.#genuine.get(token);
    if (known !== undefined) return known;
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
    const [oldest] = this.#genuine.keys();
    if (this.#genuine.size >= REMEMBERED_TOKENS && oldest !== undefined) this.#genuine.delete(oldest);
    this.#genuine.set(token, claims);
    return claims;
  }

  /** Whether this very object is there. Its uid is the first of its text: owner references come later. */
  #isThere(resource: string, namespace: string, reference: Reference | undefined): boolean {
    if (reference === undefined) return true;
    const json = this.#registry.store.get(resource, namespace, reference.name)?.json;
    const start = json?.indexOf('"uid":"') ?? -1;
    return json !== undefined && start >= 0 && json.startsWith(`${reference.uid}"`, start + '"uid":"'.length);
  }
}

function userOf({ sub, jti, 'kubernetes.io': { namespace, serviceaccount, pod, node } }: Claims): UserInfo {
  const extra: Record<string, string[]> = { 'authentication.kubernetes.io/credential-id': [`JTI=${jti}`] };
  for (const [kind, reference] of Object.entries({ node, pod })) {
    if (reference === undefined) continue;
    extra[`authentication.kubernetes.io/${kind}-name`] = [reference.name];
    if (reference.uid !== undefined) extra[`authentication.kubernetes.io/${kind}-uid`] = [reference.uid];
  }
  return {
    name: sub,
    uid: serviceaccount.uid ?? '',
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, AUTHENTICATED],
    extra,
  };
}
