import { notFound } from '../../apimachinery/errors/errors.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import type { AdmissionAttributes } from '../../resources/admission.ts';
import type { Registry } from '../../resources/registry.ts';
import { type Refuse, stored } from './pods.ts';

const VERB = 'request-serviceaccounts-token-audience';

function find({ store }: Registry, group: string, singular: string, namespace: string, name: string): ApiObject {
  const record = store.get(`${group}/${singular}s`, namespace, name);
  if (record === undefined) throw notFound({ group, plural: singular }, name);
  return JSON.parse(record.json) as ApiObject;
}

/** @throws StatusError 404 */
function driverOfClaim(registry: Registry, namespace: string, claim: string): string {
  const { spec } = find(registry, '', 'persistentvolumeclaim', namespace, claim);
  const volume = find(registry, '', 'persistentvolume', '', text((spec ?? {}) as Plain, 'volumeName'));
  return text(look(look(volume, 'spec'), 'csi'), 'driver');
}

/** Returns the CSI driver of a volume. The function does not translate in-tree volumes to CSI volumes. */
function driverOf(registry: Registry, pod: ApiObject, volume: Plain): string {
  const { name = '', namespace = '' } = pod.metadata;
  if (isRecord(look(volume, 'ephemeral').volumeClaimTemplate)) {
    return driverOfClaim(registry, namespace, `${name}-${text(volume, 'name')}`);
  }
  if (isRecord(volume.persistentVolumeClaim)) {
    return driverOfClaim(registry, namespace, text(volume.persistentVolumeClaim, 'claimName'));
  }
  return text(look(volume, 'csi'), 'driver');
}

/** Returns whether the pod requests tokens for this audience, in a projected volume or through a CSI driver. */
function wants(
  registry: Registry,
  pod: ApiObject,
  audience: string,
): { readonly found: boolean; readonly why: string } {
  const problems: string[] = [];
  for (const volume of items(look(pod, 'spec'), 'volumes')) {
    const sources = items(look(volume, 'projected'), 'sources');
    const asks = (source: Plain): boolean =>
      isRecord(source.serviceAccountToken) && text(source.serviceAccountToken, 'audience') === audience;
    if (sources.some(asks)) return { found: true, why: '' };
    try {
      const name = driverOf(registry, pod, volume);
      if (name === '') continue;
      const driver = find(registry, 'storage.k8s.io', 'csidriver', '', name);
      const requests = items(look(driver, 'spec'), 'tokenRequests');
      if (requests.some((request) => text(request, 'audience') === audience)) return { found: true, why: '' };
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  const [first = '', ...more] = [...new Set(problems)];
  return { found: false, why: more.length === 0 ? first : `[${[first, ...more].join(', ')}]` };
}

/** If no volume of the pod requests the audience, RBAC decides. */
function checkAudience(registry: Registry, pod: ApiObject, attributes: AdmissionAttributes, refuse: Refuse): void {
  const { user, namespace, name } = attributes;
  const audiences = strings(look(attributes.object, 'spec'), 'audiences');
  if (audiences.length > 1) refuse('node may only request 0 or 1 audiences');
  const [audience = ''] = audiences;
  const { found, why } = wants(registry, pod, audience);
  if (found) return;
  const shown = JSON.stringify(audience);
  if (why !== '') refuse(`error validating audience ${shown}: ${why}`);
  const access = { user, verb: VERB, path: '', group: '', version: 'v1', subresource: '', namespace, name };
  if (registry.authorize({ ...access, resource: audience }).allowed === true) return;
  refuse(
    `audience ${shown} not found in pod spec volume, ${user.name} is not authorized to request tokens for this audience`,
  );
}

/**
 * A node may request a token only if the token is bound to a pod of the node and the pod names the audience.
 * @throws StatusError 403, or 404 for an unknown pod
 */
export function checkToken(registry: Registry, node: string, attributes: AdmissionAttributes, refuse: Refuse): void {
  const { operation, subresource, namespace, object } = attributes;
  if (operation !== 'CREATE' || subresource !== 'token') return;
  const bound = look(look(object, 'spec'), 'boundObjectRef');
  const name = text(bound, 'name');
  if (text(bound, 'apiVersion') !== 'v1' || text(bound, 'kind') !== 'Pod' || name === '') {
    refuse('node requested token not bound to a pod');
  }
  const uid = text(bound, 'uid');
  if (uid === '') refuse('node requested token with a pod binding without a uid');
  const pod = stored(registry, 'pod', namespace, name);
  if (uid !== pod.metadata.uid) {
    refuse(
      `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  if (text(look(pod, 'spec'), 'nodeName') !== node) {
    refuse('node requested token bound to a pod scheduled on a different node');
  }
  checkAudience(registry, pod, attributes, refuse);
}
