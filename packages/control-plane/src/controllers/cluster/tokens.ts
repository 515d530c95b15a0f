import { createHmac } from 'node:crypto';
import { look, text } from '../../kinds/plain.ts';
import type { ApiObject } from '../../object.ts';
import { allowing } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { keyOf, splitKey } from '../runtime/informer.ts';
import { isDying, namespaceOf } from '../runtime/objects.ts';
import { CONFIG_MAPS, SECRETS } from '../runtime/resources.ts';

const TOKEN_TYPE = 'bootstrap.kubernetes.io/token';
const TOKEN_NAMESPACE = 'kube-system';
const INFO_KEY = 'kube-public/cluster-info';
const SIGNATURE_PREFIX = 'jws-kubeconfig-';

const isToken = (secret: ApiObject): boolean => secret.type === TOKEN_TYPE && namespaceOf(secret) === TOKEN_NAMESPACE;

const dataOf = (secret: ApiObject, key: string): string =>
  Buffer.from(text(look(secret, 'data'), key), 'base64').toString('utf8');

/** When a bootstrap token ends; undefined for never, and for a time that is none (the server refuses that token itself). */
export function expirationOf(secret: ApiObject): Date | undefined {
  const time = Date.parse(dataOf(secret, 'expiration'));
  return Number.isNaN(time) ? undefined : new Date(time);
}

function setupCleaner({ api, clock, informer, queue }: ControllerContext): void {
  const secrets = informer(SECRETS);
  const work = queue(async (key) => {
    const secret = secrets.get(key);
    if (secret === undefined || isDying(secret)) return;
    const at = expirationOf(secret);
    if (at === undefined) return;
    if (at > clock.now()) return work.addAt(key, at);
    const preconditions = { uid: secret.metadata.uid ?? '' };
    await allowing(api.delete(SECRETS, splitKey(key), { preconditions }), 404, 409);
  });
  secrets.onChange(({ type, object }) => {
    if (type !== 'deleted' && isToken(object)) work.add(keyOf(object));
  });
}

/** Deletes bootstrap tokens that have ended. @see kubernetes pkg/controller/bootstrap/tokencleaner.go */
export const tokenCleaner: Controller = { name: 'token-cleaner', setup: setupCleaner };

const base64url = (value: string | Buffer): string => Buffer.from(value).toString('base64url');

/** A detached JWS of the kubeconfig, keyed with the token: who knows the token can trust the kubeconfig. */
export function detachedSignature(content: string, tokenId: string, tokenSecret: string): string {
  const header = base64url(JSON.stringify({ alg: 'HS256', kid: tokenId }));
  const signed = `${header}.${base64url(content)}`;
  return `${header}..${createHmac('sha256', tokenSecret).update(signed).digest('base64url')}`;
}

function setupSigner({ api, informer, queue }: ControllerContext): void {
  const secrets = informer(SECRETS);
  const configMaps = informer(CONFIG_MAPS);
  const work = queue(async (key) => {
    const info = configMaps.get(key);
    const kubeconfig = text(look(info, 'data'), 'kubeconfig');
    if (info === undefined || kubeconfig === '') return;
    const wanted: Record<string, string> = {};
    for (const secret of secrets.all()) {
      if (!isToken(secret) || isDying(secret) || dataOf(secret, 'usage-bootstrap-signing') !== 'true') continue;
      const id = dataOf(secret, 'token-id');
      wanted[`${SIGNATURE_PREFIX}${id}`] = detachedSignature(kubeconfig, id, dataOf(secret, 'token-secret'));
    }
    const data = look(info, 'data');
    const patch: Record<string, string | null> = {};
    for (const name of Object.keys(data)) {
      if (name.startsWith(SIGNATURE_PREFIX) && !Object.hasOwn(wanted, name)) patch[name] = null;
    }
    for (const [name, signature] of Object.entries(wanted)) if (data[name] !== signature) patch[name] = signature;
    if (Object.keys(patch).length === 0) return;
    await allowing(api.patch(CONFIG_MAPS, splitKey(key), { data: patch }), 404, 409);
  });
  secrets.onChange(({ object }) => {
    if (isToken(object)) work.add(INFO_KEY);
  });
  configMaps.onChange(({ object }) => {
    if (keyOf(object) === INFO_KEY) work.add(INFO_KEY);
  });
}

/** Signs `kube-public/cluster-info` with every bootstrap token. @see kubernetes pkg/controller/bootstrap/bootstrapsigner.go */
export const bootstrapSigner: Controller = { name: 'bootstrap-signer', setup: setupSigner };
