import { createHmac } from 'node:crypto';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { look, text } from '../../apimachinery/objects/plain.ts';
import { allowing } from '../client/api.ts';
import { CONFIG_MAPS, SECRETS } from '../client/resources.ts';
import { isDying, namespaceOf } from '../objects/fields.ts';
import { keyOf, splitKey } from '../objects/keys.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';

const TOKEN_TYPE = 'bootstrap.kubernetes.io/token';
const TOKEN_NAMESPACE = 'kube-system';
const INFO_KEY = 'kube-public/cluster-info';
const SIGNATURE_PREFIX = 'jws-kubeconfig-';

const isToken = (secret: ApiObject): boolean => secret.type === TOKEN_TYPE && namespaceOf(secret) === TOKEN_NAMESPACE;

const dataOf = (secret: ApiObject, key: string): string =>
  Buffer.from(text(look(secret, 'data'), key), 'base64').toString('utf8');

const NAME = /^bootstrap-token-([a-z0-9]{6})$/;

/**
 * Returns the expiry of a bootstrap token. A token without an expiry never expires, and a token with an invalid expiry
 * has already expired.
 */
function expirationOf(secret: ApiObject): number {
  const expiration = dataOf(secret, 'expiration');
  if (expiration === '') return Number.POSITIVE_INFINITY;
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(expiration);
  const time = isTime ? Date.parse(expiration) : Number.NaN;
  return Number.isNaN(time) ? Number.NEGATIVE_INFINITY : time;
}

/**
 * If a Secret allows signatures with its bootstrap token, returns the token. The name of the Secret must contain the
 * token ID.
 */
function signingToken(secret: ApiObject, now: Date): { id: string; secret: string } | undefined {
  const id = dataOf(secret, 'token-id');
  const value = dataOf(secret, 'token-secret');
  if (id === '' || NAME.exec(secret.metadata.name ?? '')?.[1] !== id || value === '') return undefined;
  if (expirationOf(secret) <= now.getTime() || dataOf(secret, 'usage-bootstrap-signing') !== 'true') return undefined;
  return { id, secret: value };
}

function setupCleaner({ api, clock, informer, queue }: ControllerContext): void {
  const secrets = informer(SECRETS);
  const work = queue(async (key) => {
    const secret = secrets.get(key);
    if (secret === undefined || isDying(secret)) return;
    const at = expirationOf(secret);
    if (at === Number.POSITIVE_INFINITY) return;
    if (at > clock.now().getTime()) return work.addAt(key, new Date(at));
    const preconditions = { uid: secret.metadata.uid ?? '' };
    await allowing(api.delete(SECRETS, splitKey(key), { preconditions }), 404, 409);
  });
  secrets.onChange(({ type, object }) => {
    if (type !== 'deleted' && isToken(object)) work.add(keyOf(object));
  });
}

/** @see kubernetes pkg/controller/bootstrap/tokencleaner.go */
export const tokenCleaner: Controller = { name: 'token-cleaner', setup: setupCleaner };

const base64url = (value: string | Buffer): string => Buffer.from(value).toString('base64url');

/** Signs the kubeconfig with a bootstrap token (detached JWS). A client with the token can verify the kubeconfig. */
function detachedSignature(content: string, tokenId: string, tokenSecret: string): string {
  const header = base64url(JSON.stringify({ alg: 'HS256', kid: tokenId }));
  const signed = `${header}.${base64url(content)}`;
  return `${header}..${createHmac('sha256', tokenSecret).update(signed).digest('base64url')}`;
}

function setupSigner({ api, clock, informer, queue }: ControllerContext): void {
  const secrets = informer(SECRETS);
  const configMaps = informer(CONFIG_MAPS);
  const work = queue(async (key) => {
    const info = configMaps.get(key);
    const { kubeconfig } = look(info, 'data');
    if (info === undefined || typeof kubeconfig !== 'string') return;
    const wanted: Record<string, string> = {};
    for (const secret of secrets.all()) {
      const token = isToken(secret) ? signingToken(secret, clock.now()) : undefined;
      if (token === undefined) continue;
      wanted[`${SIGNATURE_PREFIX}${token.id}`] = detachedSignature(kubeconfig, token.id, token.secret);
    }
    const data = look(info, 'data');
    const patch: Record<string, string | null> = {};
    for (const name of Object.keys(data)) {
      if (name.startsWith(SIGNATURE_PREFIX) && !Object.hasOwn(wanted, name)) patch[name] = null;
    }
    for (const [name, signature] of Object.entries(wanted)) if (data[name] !== signature) patch[name] = signature;
    if (Object.keys(patch).length === 0) return;
    const { resourceVersion } = info.metadata;
    await allowing(api.patch(CONFIG_MAPS, splitKey(key), { metadata: { resourceVersion }, data: patch }), 404, 409);
  });
  secrets.onChange(({ object }) => {
    if (isToken(object)) work.add(INFO_KEY);
  });
  configMaps.onChange(({ object }) => {
    if (keyOf(object) === INFO_KEY) work.add(INFO_KEY);
  });
}

/**
 * Signs the ConfigMap `kube-public/cluster-info` with every bootstrap token. @see kubernetes
 * pkg/controller/bootstrap/bootstrapsigner.go
 */
export const bootstrapSigner: Controller = { name: 'bootstrap-signer', setup: setupSigner };
