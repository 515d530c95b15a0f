import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import type { Clock } from '../../apimachinery/objects/clock.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { defined } from '../../apimachinery/objects/plain.ts';
import { randomUid } from '../../apimachinery/objects/uid.ts';
import { AUTHENTICATED, type UserInfo } from '../../apimachinery/users/user.ts';
import type { BoundObject, TokenFacts, TokenSigner } from '../../resources/registry.ts';
import type { Store } from '../../store/store.ts';

/** The issuer of service account tokens, and their default audience. */
export const ISSUER = 'https://kubernetes.default.svc';

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

const LEEWAY_SECONDS = 60;

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
  return defined({ node, pod: reference });
}

export interface TokenParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
}

interface Signer {
  readonly key: KeyObject;
  readonly publicKey: KeyObject;
  readonly keyId: string;
}

function signerOf(pem: string): Signer {
  const key = createPrivateKey(pem);
  const publicKey = createPublicKey(key);
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  return { key, publicKey, keyId: createHash('sha256').update(spki).digest('base64url') };
}

/** Signs and verifies tokens of service accounts (JSON Web Tokens, ES256). */
export class ServiceAccountTokens implements TokenSigner {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #pem: () => string;
  #signer: Signer | undefined;
  readonly #genuine = new Map<string, Claims>();

  /** @param pem Returns the P-256 key as PEM. */
  constructor({ store, clock, random }: TokenParts, pem: () => string) {
    this.#store = store;
    this.#clock = clock;
    this.#random = random;
    this.#pem = pem;
  }

  #keys(): Signer {
    this.#signer ??= signerOf(this.#pem());
    return this.#signer;
  }

  issue({ account, audiences, expirationSeconds, bound }: TokenFacts): string {
    const { name = '', namespace = '', uid = '' } = account.metadata;
    const now = Math.floor(this.#clock.now().getTime() / 1000);
    const claims: Claims = {
      aud: audiences,
      exp: now + expirationSeconds,
      iat: now,
      iss: ISSUER,
      jti: randomUid(this.#random),
      'kubernetes.io': { namespace, ...boundClaims(bound), serviceaccount: { name, uid } },
      nbf: now,
      sub: `system:serviceaccount:${namespace}:${name}`,
    };
    const { key, keyId } = this.#keys();
    const head = `${encode({ alg: 'ES256', kid: keyId })}.${encode(claims)}`;
    const signature = sign('sha256', Buffer.from(head), { key, dsaEncoding: 'ieee-p1363' });
    return `${head}.${signature.toString('base64url')}`;
  }

  /** Returns the user of a valid token with one of the audiences. */
  read(token: string, audiences: readonly string[] = [ISSUER]): UserInfo | undefined {
    const claims = this.#claimsOf(token);
    if (claims === undefined || !claims.aud.some((audience) => audiences.includes(audience))) return undefined;
    return this.#problemOf(claims) === undefined ? userOf(claims) : undefined;
  }

  audiencesOf(token: string): readonly string[] | undefined {
    return this.#claimsOf(token)?.aud;
  }

  /** Returns the reason why a token is invalid. */
  problemOf(token: string): string | undefined {
    const claims = this.#claimsOf(token);
    return claims === undefined ? undefined : this.#problemOf(claims);
  }

  /** @see kubernetes pkg/serviceaccount/claims.go */
  #problemOf({ exp, 'kubernetes.io': { namespace, serviceaccount, pod, secret, node } }: Claims): string | undefined {
    if ((exp + LEEWAY_SECONDS) * 1000 < this.#clock.now().getTime()) return 'service account token has expired';
    const { name, uid = '' } = serviceaccount;
    const account = this.#stateOf('/serviceaccounts', namespace, name);
    if (account === undefined) return `serviceaccounts ${JSON.stringify(name)} not found`;
    if (account.uid !== uid) return `service account UID (${account.uid}) does not match claim (${uid})`;
    if (account.isDead) return `service account ${namespace}/${name} has been deleted`;
    return (
      this.#boundProblem('/secrets', namespace, secret, 'secret') ??
      this.#boundProblem('/pods', namespace, pod, 'pod') ??
      // The token of a pod names a node only as information, so the token stays valid after the deletion of the node.
      (pod === undefined ? this.#boundProblem('/nodes', '', node, 'node') : undefined)
    );
  }

  #boundProblem(
    resource: string,
    namespace: string,
    reference: Reference | undefined,
    words: string,
  ): string | undefined {
    if (reference === undefined) return undefined;
    const state = this.#stateOf(resource, namespace, reference.name);
    if (state === undefined) return 'service account token has been invalidated';
    const { uid = '' } = reference;
    if (state.uid !== uid) {
      return `${words} UID (${state.uid}) does not match service account ${words} ref claim (${uid})`;
    }
    return state.isDead ? 'service account token has been invalidated' : undefined;
  }

  #claimsOf(token: string): Claims | undefined {
    const known = this.#genuine.get(token);
    if (known !== undefined) return known;
    const [head = '', body = '', signature = '', ...rest] = token.split('.');
    if (signature === '' || rest.length > 0) return undefined;
    const genuine = verify(
      'sha256',
      Buffer.from(`${head}.${body}`),
      { key: this.#keys().publicKey, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    );
    const claims = genuine ? decode<Claims>(body) : undefined;
    if (claims === undefined || claims.iss !== ISSUER) return undefined;
    const [oldest] = this.#genuine.keys();
    if (this.#genuine.size >= REMEMBERED_TOKENS && oldest !== undefined) this.#genuine.delete(oldest);
    this.#genuine.set(token, claims);
    return claims;
  }

  /**
   * Returns the UID of a stored object. The second result states whether the object is being deleted, so its tokens are
   * invalid. A deleted object with finalizers is still stored, so the function checks the deletion time.
   */
  #stateOf(resource: string, namespace: string, name: string): { uid: string; isDead: boolean } | undefined {
    const json = this.#store.get(resource, namespace, name)?.json;
    if (json === undefined) return undefined;
    const uid = /"uid":"([^"]*)"/.exec(json)?.[1] ?? '';
    if (!json.includes('"deletionTimestamp"')) return { uid, isDead: false };
    const { metadata } = JSON.parse(json) as ApiObject;
    const end = Date.parse(metadata.deletionTimestamp ?? '') + LEEWAY_SECONDS * 1000;
    return { uid, isDead: end < this.#clock.now().getTime() };
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
