import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { tidyMeta } from '../../apimachinery/objects/object-text.ts';
import { defined } from '../../apimachinery/objects/plain.ts';
import { showUser } from '../../auth/reviews/answer.ts';
import type { AdmissionAttributes, CarriedKind } from '../../resources/admission.ts';
import type { ServedKind } from '../../resources/kind-registry.ts';

const OPTIONS = {
  CREATE: 'CreateOptions',
  UPDATE: 'UpdateOptions',
  DELETE: 'DeleteOptions',
} as const;

const kindOf = ({ kind }: ServedKind, carries: CarriedKind | undefined): CarriedKind =>
  carries ?? { group: kind.group, version: kind.version, kind: kind.kind };

const resourceOf = ({ kind: { group, version, plural } }: ServedKind) => ({ group, version, resource: plural });

export function presented(
  object: ApiObject | undefined,
  as: ServedKind,
  { carries, operation }: Pick<AdmissionAttributes, 'carries' | 'operation'>,
): ApiObject | null {
  if (object === undefined) return null;
  if (operation === 'CONNECT') {
    // Options objects such as DeleteOptions have no metadata, so the review contains no metadata.
    const { metadata: _metadata, ...options } = object;
    return options as ApiObject;
  }
  const metadata = tidyMeta(object.metadata);
  return carries === undefined ? { ...object, apiVersion: as.apiVersion, metadata } : { ...object, metadata };
}

/** The namespace of a Namespace object is its own name. */
export const requestNamespace = ({ served, namespace, name }: AdmissionAttributes): string =>
  served.resource === '/namespaces' ? name : namespace;

export function describeRequest(attributes: AdmissionAttributes, as: ServedKind, uid: string): Record<string, unknown> {
  const { served, subresource, carries, name, operation, user, dryRun } = attributes;
  const namespace = requestNamespace(attributes);
  return defined({
    uid,
    kind: kindOf(as, carries),
    resource: resourceOf(as),
    subResource: subresource || undefined,
    requestKind: kindOf(served, carries),
    requestResource: resourceOf(served),
    requestSubResource: subresource || undefined,
    name: name || undefined,
    namespace: namespace || undefined,
    operation,
    userInfo: showUser(user),
    dryRun,
    options:
      operation === 'CONNECT'
        ? null
        : { kind: OPTIONS[operation], apiVersion: 'meta.k8s.io/v1', ...attributes.options },
  });
}
