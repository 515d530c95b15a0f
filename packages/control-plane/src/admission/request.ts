import { showUser } from '../auth/reviews/answer.ts';
import type { ApiObject } from '../object.ts';
import type { AdmissionAttributes } from '../registry/admission.ts';
import type { ServedKind } from '../registry/kind-registry.ts';
import { tidyMeta } from '../registry/object-text.ts';
import { scaleOf } from '../registry/subresources/scale.ts';

const OPTIONS = {
  CREATE: 'CreateOptions',
  UPDATE: 'UpdateOptions',
  DELETE: 'DeleteOptions',
  CONNECT: 'PodExecOptions',
} as const;

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Subresources that carry an object of their own. */
const BODIES: Readonly<Record<string, GroupVersionKind>> = {
  scale: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
  eviction: { group: 'policy', version: 'v1', kind: 'Eviction' },
  binding: { group: '', version: 'v1', kind: 'Binding' },
};

/** The kind of what a request carries. */
const kindOf = ({ kind }: ServedKind, subresource: string): GroupVersionKind =>
  (Object.hasOwn(BODIES, subresource) ? BODIES[subresource] : undefined) ?? {
    group: kind.group,
    version: kind.version,
    kind: kind.kind,
  };

const resourceOf = ({ kind: { group, version, plural } }: ServedKind) => ({ group, version, resource: plural });

/** An object as its review shows it, in the version that was asked for. Other versions differ by name only. */
export function presented(object: ApiObject | undefined, as: ServedKind, subresource: string): ApiObject | null {
  if (object === undefined) return null;
  if (subresource === 'scale') return scaleOf(as, object) as unknown as ApiObject;
  if (Object.hasOwn(BODIES, subresource)) return { ...object, metadata: tidyMeta(object.metadata) };
  return { ...object, apiVersion: as.apiVersion, metadata: tidyMeta(object.metadata) };
}

/** `AdmissionRequest` without the objects, as webhooks and expressions see it. */
export function describeRequest(attributes: AdmissionAttributes, as: ServedKind, uid: string): Record<string, unknown> {
  const { served, subresource, name, namespace, operation, user, dryRun } = attributes;
  const part = subresource === '' ? {} : { subResource: subresource };
  const requestPart = subresource === '' ? {} : { requestSubResource: subresource };
  return {
    uid,
    kind: kindOf(as, subresource),
    resource: resourceOf(as),
    ...part,
    requestKind: kindOf(served, subresource),
    requestResource: resourceOf(served),
    ...requestPart,
    ...(name === '' ? {} : { name }),
    ...(namespace === '' ? {} : { namespace }),
    operation,
    userInfo: showUser(user),
    dryRun,
    options: { kind: OPTIONS[operation], apiVersion: 'meta.k8s.io/v1', ...attributes.options },
  };
}
