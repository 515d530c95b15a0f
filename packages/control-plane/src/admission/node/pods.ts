import { isDeepStrictEqual } from 'node:util';
import { notFound } from '../../apimachinery/errors/errors.ts';
import type { ApiObject, OwnerReference } from '../../apimachinery/objects/object.ts';
import { look, text } from '../../apimachinery/objects/plain.ts';
import type { AdmissionAttributes } from '../../resources/admission.ts';
import type { Registry } from '../../resources/registry.ts';
import { apiReference } from './references.ts';

const MIRROR = 'kubernetes.io/config.mirror';

export type Refuse = (why: string) => never;

const nodeOf = (pod: ApiObject | undefined): string => text(look(pod, 'spec'), 'nodeName');

/** @throws StatusError 404 for a missing object; as in client-go, the message contains the singular name of the kind */
export function stored({ store }: Registry, kind: 'pod' | 'node', namespace: string, name: string): ApiObject {
  const record = store.get(`/${kind}s`, namespace, name);
  if (record === undefined) throw notFound({ group: '', plural: kind }, name);
  return JSON.parse(record.json) as ApiObject;
}

function checkOwner(registry: Registry, node: string, owners: readonly OwnerReference[], refuse: Refuse): void {
  const [owner] = owners;
  const whose = `node "${node}" can only create pods with`;
  if (owners.length > 1) refuse(`${whose} a single owner reference set to itself`);
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node) {
    refuse(`${whose} an owner reference set to itself`);
    return;
  }
  if (owner.controller !== true) refuse(`${whose} a controller owner reference set to itself`);
  if (owner.blockOwnerDeletion === true) {
    refuse(`node "${node}" must not set blockOwnerDeletion on an owner reference`);
  }
  const { uid } = stored(registry, 'node', '', node).metadata;
  if (owner.uid !== uid) refuse(`node ${node} UID mismatch: expected ${owner.uid} got ${uid}`);
}

/** A node may create only mirror pods, and a mirror pod must not refer to API objects. */
function checkMirror(registry: Registry, node: string, pod: ApiObject, refuse: Refuse): void {
  const { annotations = {}, ownerReferences = [] } = pod.metadata;
  if (annotations[MIRROR] === undefined) {
    refuse(`pod does not have "${MIRROR}" annotation, node "${node}" can only create mirror pods`);
  }
  if (nodeOf(pod) !== node) refuse(`node "${node}" can only create pods with spec.nodeName set to itself`);
  checkOwner(registry, node, ownerReferences, refuse);
  const reference = apiReference(pod);
  if (reference !== undefined) refuse(`node "${node}" can not create pods that reference ${reference}`);
}

function checkStatus(node: string, { operation, object, old }: AdmissionAttributes, refuse: Refuse): void {
  if (operation !== 'UPDATE') refuse(`unexpected operation "${operation}"`);
  if (nodeOf(old) !== node) {
    refuse(`node "${node}" can only update pod status for pods with spec.nodeName set to itself`);
  }
  if (!isDeepStrictEqual(object?.metadata.labels ?? {}, old?.metadata.labels ?? {})) {
    refuse(`node "${node}" cannot update labels through pod status`);
  }
  const same = (field: string, none: unknown): boolean =>
    isDeepStrictEqual(look(object, 'status')[field] ?? none, look(old, 'status')[field] ?? none);
  if (!same('resourceClaimStatuses', [])) refuse(`node "${node}" cannot update resource claim statues`);
  if (!same('extendedResourceClaimStatus', null)) {
    refuse(`node "${node}" cannot update extended resource claim status`);
  }
}

function checkOwnership(registry: Registry, node: string, attributes: AdmissionAttributes, refuse: Refuse): void {
  const { subresource, operation, object, namespace, name } = attributes;
  if (operation === 'CREATE' && subresource === '' && object !== undefined) {
    checkMirror(registry, node, object, refuse);
    return;
  }
  const isEviction = subresource === 'eviction';
  if (!isEviction && operation !== 'DELETE') {
    refuse(`unexpected operation "${operation}", node "${node}" can only create and delete mirror pods`);
  }
  if (nodeOf(stored(registry, 'pod', namespace, name)) === node) return;
  const whose = isEviction ? `node ${node} can only evict` : `node "${node}" can only delete`;
  refuse(`${whose} pods with spec.nodeName set to itself`);
}

export function checkPod(registry: Registry, node: string, attributes: AdmissionAttributes, refuse: Refuse): void {
  const { subresource } = attributes;
  if (subresource === 'status') checkStatus(node, attributes, refuse);
  else if (subresource === '' || subresource === 'eviction') checkOwnership(registry, node, attributes, refuse);
  else refuse(`unexpected pod subresource "${subresource}", only 'status' and 'eviction' are allowed`);
}
