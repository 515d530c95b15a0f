import {
  badRequest,
  conflict,
  invalid,
  invalidValue,
  methodNotAllowed,
  notFound,
} from '../../apimachinery/errors/errors.ts';
import { pathSegmentProblems } from '../../apimachinery/errors/names.ts';
import { keepEmpties } from '../../apimachinery/objects/empties.ts';
import type { ApiObject, Json } from '../../apimachinery/objects/object.ts';
import { formatTime } from '../../apimachinery/objects/object-text.ts';
import { defined, look, text } from '../../apimachinery/objects/plain.ts';
import { ISSUER } from '../../auth/authentication/service-account-tokens.ts';
import type { WriteOptions } from '../../resources/options.ts';
import type { BoundObject, Registry } from '../../resources/registry.ts';
import type { SubresourceAnswer, SubresourceRequest } from '../../resources/subresource.ts';
import { CARRIED_TOKEN_REQUEST, carried } from '../bodies/carried.ts';
import { decodeObject } from '../bodies/decode.ts';
import { parseApiVersion } from '../bodies/type-meta.ts';
import { receive, track } from '../writes/create.ts';

const TOKEN_REQUEST = { group: 'authentication.k8s.io', kind: 'TokenRequest' };
const DEFAULT_SECONDS = 3600;
const SHORTEST_SECONDS = 600;
const LONGEST_SECONDS = 2 ** 32;

interface Spec {
  readonly audiences?: string[] | null;
  readonly expirationSeconds?: number;
  readonly boundObjectRef?: {
    readonly apiVersion?: string;
    readonly kind?: string;
    readonly name?: string;
    readonly uid?: string;
  } | null;
}

const NO_TOKEN = { token: '', expirationTimestamp: null };

/**
 * The kinds of objects to which a client can bind a token. After the deletion of the bound object, the token is
 * invalid.
 */
const BINDABLE: Readonly<Record<string, { readonly plural: string; readonly namespaced: boolean }>> = {
  Pod: { plural: 'pods', namespaced: true },
  Secret: { plural: 'secrets', namespaced: true },
  Node: { plural: 'nodes', namespaced: false },
};

export async function requestToken(request: SubresourceRequest): Promise<SubresourceAnswer> {
  const { registry, target } = request;
  if (request.method !== 'POST') throw methodNotAllowed();
  const options = request.options('CreateOptions');
  const posted = await request.readBody('TokenRequest');
  const { kinds } = registry;
  const decoded = decodeObject(posted, CARRIED_TOKEN_REQUEST, kinds, options, request.call.warn);
  const sent = sentRequest(request, decoded, options);
  const attributes = registry.attributes(request.call, target, {
    operation: 'CREATE',
    object: sent,
    old: undefined,
    carries: carried(CARRIED_TOKEN_REQUEST),
    dryRun: options.dryRun,
    options: options.given,
  });
  const admitted = (await registry.admission.admit(attributes)) ?? sent;
  checkName(admitted, target);
  const given = (admitted.spec ?? {}) as Spec;
  const record = registry.store.get(target.served.resource, target.namespace, target.name);
  if (record === undefined) throw notFound(target.served.kind, target.name);
  const account = registry.parse(target.served, record);
  checkUid(admitted, account, target);
  const expirationSeconds = given.expirationSeconds ?? DEFAULT_SECONDS;
  checkExpiration(expirationSeconds);
  const { name = '', namespace = '', uid = '' } = account.metadata;
  const object: ApiObject = {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { ...admitted.metadata, name, namespace, uid, creationTimestamp: formatTime(registry.now()) },
  };
  const audiences = (given.audiences ?? []).length === 0 ? [ISSUER] : (given.audiences ?? []);
  const spec = {
    audiences,
    expirationSeconds,
    boundObjectRef: given.boundObjectRef ?? null,
  };
  await registry.admission.validate({ ...attributes, object: { ...object, spec, status: NO_TOKEN } });
  const bound = boundObject(request, given);
  const token = registry.tokens.issue({ account, audiences, expirationSeconds, bound });
  const expires = new Date(registry.now().getTime() + expirationSeconds * 1000);
  const body: ApiObject = {
    ...object,
    spec,
    status: { token, expirationTimestamp: formatTime(expires) },
  };
  return { status: 201, body: body as Json };
}

/**
 * Checks that a UID in the body equals the UID of the service account.
 * @throws StatusError 409 if the UIDs differ
 */
function checkUid(request: ApiObject, account: ApiObject, { name }: SubresourceRequest['target']): void {
  const { uid: given = '' } = request.metadata;
  const { uid = '' } = account.metadata;
  if (given === '' || given === uid) return;
  const why = `the UID in the token request (${given}) does not match the UID of the service account (${uid})`;
  throw conflict({ group: TOKEN_REQUEST.group, plural: TOKEN_REQUEST.kind }, name, why);
}

function checkExpiration(seconds: number): void {
  const refuse = (why: string) => invalid(TOKEN_REQUEST, '', [invalidValue('spec.expirationSeconds', seconds, why)]);
  if (seconds < SHORTEST_SECONDS) throw refuse('may not specify a duration less than 10 minutes');
  if (seconds > LONGEST_SECONDS) throw refuse('may not specify a duration larger than 2^32 seconds');
}

/** @throws StatusError 400 for a kind that cannot be bound, 404 or 409 if the object does not exist */
function boundObject({ registry, target }: SubresourceRequest, { boundObjectRef: ref }: Spec): BoundObject | undefined {
  if (ref === undefined || ref === null) return undefined;
  const { kind = '', apiVersion = '', name = '', uid = '' } = ref;
  // As in kube-apiserver, the check of the apiVersion ignores the version.
  const { group, version } = parseApiVersion(apiVersion) ?? { group: '', version: '' };
  const bindable = Object.hasOwn(BINDABLE, kind) && group === '' ? BINDABLE[kind] : undefined;
  if (bindable === undefined) {
    throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`);
  }
  const { plural, namespaced } = bindable;
  if (name === '') throw badRequest('Name parameter required.');
  const problems = pathSegmentProblems(name);
  if (problems.length > 0) {
    throw badRequest(`Name parameter invalid: ${JSON.stringify(name)}: ${problems.join(';')}`);
  }
  const record = registry.store.get(`/${plural}`, namespaced ? target.namespace : '', name);
  if (record === undefined) throw notFound({ group: '', plural }, name);
  const object = JSON.parse(record.json) as ApiObject;
  if (kind === 'Pod' && text(look(object, 'spec'), 'serviceAccountName') !== target.name) {
    const account = JSON.stringify(target.name);
    throw badRequest(
      `cannot bind token for serviceaccount ${account} to pod running with different serviceaccount name.`,
    );
  }
  const found = object.metadata.uid ?? '';
  if (uid !== '' && uid !== found) {
    const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict({ group: '', plural: kind }, name, why);
  }
  const node = kind === 'Pod' ? nodeOf(registry, text(look(object, 'spec'), 'nodeName')) : undefined;
  return defined({ kind: kind as BoundObject['kind'], name, uid: found, node });
}

function nodeOf(registry: Registry, name: string): { name: string; uid?: string } | undefined {
  if (name === '') return undefined;
  const record = registry.store.get('/nodes', '', name);
  const uid = record === undefined ? undefined : (JSON.parse(record.json) as ApiObject).metadata.uid;
  return defined({ name, uid });
}

/**
 * Returns the body of a token request with its defaults, for the admission attributes.
 * @throws StatusError 400 for an invalid body
 */
function sentRequest(
  { registry, target, call }: SubresourceRequest,
  decoded: ApiObject,
  options: WriteOptions,
): ApiObject {
  const given = look(decoded, 'spec');
  const object: ApiObject = defined({
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { ...decoded.metadata },
    spec: keepEmpties({ ...given, expirationSeconds: given.expirationSeconds ?? DEFAULT_SECONDS }, given),
    status: decoded.status,
  });
  receive(object, target, call);
  track(registry, CARRIED_TOKEN_REQUEST, undefined, object, options, target.subresource);
  const { audiences = null, boundObjectRef = null } = given;
  object.spec = { audiences, boundObjectRef, ...(object.spec as object) };
  object.status = NO_TOKEN;
  return object;
}

function checkName({ metadata }: ApiObject, { name }: SubresourceRequest['target']): void {
  const given = metadata.name ?? '';
  if (given === '' || given === name) return;
  const why = 'must match the service account name if specified';
  throw invalid(TOKEN_REQUEST, name, [invalidValue('metadata.name', given, why)]);
}
