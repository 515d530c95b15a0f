import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';

const VOLUMES: readonly (readonly [field: string, what: string])[] = [
  ['configMap', 'configmaps (via configmap volumes)'],
  ['secret', 'secrets (via secret volumes)'],
  ['csi', 'csidrivers (via CSI volumes)'],
  ['glusterfs', 'endpoints (via glusterFS volumes)'],
  ['persistentVolumeClaim', 'persistentvolumeclaims'],
  ['ephemeral', 'persistentvolumeclaims (via ephemeral volumes)'],
  ['azureFile', 'secrets (via azureFile volumes)'],
];

const PROJECTED: readonly (readonly [field: string, what: string])[] = [
  ['configMap', 'configmaps (via projected volumes)'],
  ['secret', 'secrets (via projected volumes)'],
  ['serviceAccountToken', 'serviceaccounts (via projected volumes)'],
  ['clusterTrustBundle', 'clustertrustbundles'],
  ['podCertificate', 'podcertificates'],
];

const WITH_SECRETS = ['cephfs', 'cinder', 'flexVolume', 'rbd', 'scaleIO', 'iscsi', 'storageos'];

const find = (holder: Plain, fields: readonly (readonly [string, string])[]): string | undefined =>
  fields.find(([field]) => isRecord(holder[field]))?.[1];

const usesEnv = (containers: readonly Plain[], kind: 'secret' | 'configMap'): boolean =>
  containers.some(
    (container) =>
      items(container, 'envFrom').some((source) => isRecord(source[`${kind}Ref`])) ||
      items(container, 'env').some((variable) => isRecord(look(variable, 'valueFrom')[`${kind}KeyRef`])),
  );

/** Returns the kind of the first API object to which a pod refers. A static pod must not refer to API objects. */
export function apiReference(pod: ApiObject): string | undefined {
  const spec = look(pod, 'spec');
  if (text(spec, 'serviceAccountName') !== '') return 'serviceaccounts';
  const containers = ['initContainers', 'containers', 'ephemeralContainers'].flatMap((field) => items(spec, field));
  const volumes = items(spec, 'volumes');
  const holds = (field: string, source: string): boolean =>
    volumes.some(
      (volume) =>
        isRecord(volume[field]) || items(look(volume, 'projected'), 'sources').some((item) => isRecord(item[source])),
    );
  const hasSecrets =
    items(spec, 'imagePullSecrets').length > 0 ||
    usesEnv(containers, 'secret') ||
    holds('secret', 'secret') ||
    volumes.some(
      (volume) =>
        isRecord(volume.azureFile) ||
        WITH_SECRETS.some((field) => isRecord(look(volume, field).secretRef)) ||
        isRecord(look(volume, 'csi').nodePublishSecretRef),
    );
  if (hasSecrets) return 'secrets';
  if (usesEnv(containers, 'configMap') || holds('configMap', 'configMap')) return 'configmaps';
  if (items(spec, 'resourceClaims').length > 0) return 'resourceclaims';
  for (const volume of volumes) {
    const found =
      find(volume, VOLUMES) ??
      items(look(volume, 'projected'), 'sources')
        .map((source) => find(source, PROJECTED))
        .find((what) => what !== undefined);
    if (found !== undefined) return found;
  }
  return undefined;
}
