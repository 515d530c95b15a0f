import { ISSUER } from '../../auth/service-account-tokens.ts';
import type { ApiObject, Json } from '../../object.ts';
import { track } from '../create.ts';
import { badRequest, internal, invalid, invalidValue, methodNotAllowed, notFound } from '../errors.ts';
import { ServedKind } from '../kind-registry.ts';
import { formatTime } from '../object-text.ts';
import type { SubresourceAnswer, SubresourceRequest } from '../subresource.ts';

const TOKEN_REQUEST = { group: 'authentication.k8s.io', kind: 'TokenRequest' };
const DEFAULT_SECONDS = 3600;
const SHORTEST_SECONDS = 600;
const LONGEST_SECONDS = 2 ** 32;

interface Spec {
  readonly audiences?: string[];
  readonly expirationSeconds?: number;
  readonly boundObjectRef?: { readonly kind?: string; readonly name?: string; readonly uid?: string } | null;
}

/** TokenRequests are tracked by a schema that knows its fields. */
const tracked = new ServedKind({
  ...TOKEN_REQUEST,
  version: 'v1',
  listKind: 'TokenRequestList',
  plural: 'tokenrequests',
  singular: 'tokenrequest',
  namespaced: true,
  custom: false,
  schema: {
    type: 'object',
    properties: {
      metadata: { type: 'object' },
      spec: {
        type: 'object',
        properties: {
          audiences: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'atomic' },
          expirationSeconds: { type: 'integer' },
          boundObjectRef: {
            type: 'object',
            properties: Object.fromEntries(
              ['apiVersion', 'kind', 'name', 'uid'].map((field) => [field, { type: 'string' }]),
            ),
          },
        },
      },
    },
  },
});

/** `serviceaccounts/NAME/token`: a signed token for the account. */
export async function requestToken(request: SubresourceRequest): Promise<SubresourceAnswer> {
  const { registry, target } = request;
  if (request.method !== 'POST') throw methodNotAllowed();
  const options = request.options('CreateOptions');
  const { plain } = await request.readBody('TokenRequest');
  const given = (plain['spec'] ?? {}) as Spec;
  const record = registry.store.get(target.served.resource, target.namespace, target.name);
  if (record === undefined) throw notFound(target.served.kind, target.name);
  const account = registry.parse(target.served, record);
  const expirationSeconds = given.expirationSeconds ?? DEFAULT_SECONDS;
  checkExpiration(expirationSeconds);
  const { name = '', namespace = '', uid = '' } = account.metadata;
  const object: ApiObject = {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name, namespace, uid, creationTimestamp: formatTime(registry.now()) },
    spec: { ...given, expirationSeconds },
  };
  track(registry, tracked, undefined, object, options, 'token');
  const audiences = given.audiences === undefined || given.audiences.length === 0 ? [ISSUER] : given.audiences;
  const bound = boundPod(request, given);
  if (registry.tokens === undefined) throw internal('this server signs no tokens');
  const token = registry.tokens.issue({
    account,
    audiences,
    expirationSeconds,
    ...(bound === undefined ? {} : { pod: bound }),
  });
  const expires = new Date(registry.now().getTime() + expirationSeconds * 1000);
  const body = {
    ...object,
    spec: { audiences, expirationSeconds, boundObjectRef: given.boundObjectRef ?? null },
    status: { token, expirationTimestamp: formatTime(expires) },
  };
  return { status: 201, body: body as unknown as Json };
}

function checkExpiration(seconds: number): void {
  const refuse = (why: string) => invalid(TOKEN_REQUEST, '', [invalidValue('spec.expirationSeconds', seconds, why)]);
  if (seconds < SHORTEST_SECONDS) throw refuse('may not specify a duration less than 10 minutes');
  if (seconds > LONGEST_SECONDS) throw refuse('may not specify a duration larger than 2^32 seconds');
}

function boundPod({ registry, target }: SubresourceRequest, spec: Spec): { name: string; uid: string } | undefined {
  const ref = spec.boundObjectRef;
  if (ref === undefined || ref === null) return undefined;
  if (ref.kind !== 'Pod')
    throw badRequest(`cannot bind token for serviceaccount to ${ref.kind ?? ''}: only pods can be bound to`);
  const record = registry.store.get('/pods', target.namespace, ref.name ?? '');
  if (record === undefined) throw notFound({ group: '', plural: 'pods' }, ref.name ?? '');
  const { metadata } = JSON.parse(record.json) as ApiObject;
  return { name: metadata.name ?? '', uid: metadata.uid ?? '' };
}
