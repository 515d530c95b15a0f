import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { copyJson } from '../../../apimachinery/objects/object-text.ts';
import { items, look, number, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { podOf, replicasOf } from '../pods.ts';

const REVISION_LABEL = 'controller-revision-hash';
const POD_NAME_LABEL = 'statefulset.kubernetes.io/pod-name';
const INDEX_LABEL = 'apps.kubernetes.io/pod-index';

/** Returns the ordinal in the name of a pod. */
export function ordinalOf(set: ApiObject, pod: ApiObject): number {
  const prefix = `${set.metadata.name}-`;
  const { name = '' } = pod.metadata;
  const rest = name.startsWith(prefix) ? name.slice(prefix.length) : '';
  return /^\d+$/.test(rest) ? Number(rest) : -1;
}

export const firstOrdinal = (set: ApiObject): number => number(look(set, 'spec', 'ordinals'), 'start') ?? 0;

export const inRange = (set: ApiObject, ordinal: number): boolean =>
  ordinal >= firstOrdinal(set) && ordinal < firstOrdinal(set) + replicasOf(set);

export const revisionOfPod = (pod: ApiObject): string => pod.metadata.labels?.[REVISION_LABEL] ?? '';

export const claimTemplates = (set: ApiObject): Plain[] => items(look(set, 'spec'), 'volumeClaimTemplates');

export const claimName = (template: Plain, set: ApiObject, ordinal: number): string =>
  `${text(look(template, 'metadata'), 'name')}-${set.metadata.name}-${ordinal}`;

export function statefulPod(set: ApiObject, ordinal: number, template: Plain, revision: string): Plain {
  const pod = copyJson(podOf(set, template));
  const name = `${set.metadata.name}-${ordinal}`;
  const spec: Plain = { ...look(pod, 'spec'), hostname: name };
  const claimed = claimTemplates(set).map((claim) => ({
    name: text(look(claim, 'metadata'), 'name'),
    persistentVolumeClaim: { claimName: claimName(claim, set, ordinal) },
  }));
  const names = new Set(claimed.map((volume) => volume.name));
  const others = items(spec, 'volumes').filter((volume) => !names.has(text(volume, 'name')));
  const metadata = look(pod, 'metadata');
  const serviceName = text(look(set, 'spec'), 'serviceName');
  if (serviceName !== '') spec.subdomain = serviceName;
  const volumes = [...claimed, ...others];
  if (volumes.length > 0) spec.volumes = volumes;
  return {
    ...pod,
    metadata: {
      ...metadata,
      name,
      labels: {
        ...look(metadata, 'labels'),
        [POD_NAME_LABEL]: name,
        [INDEX_LABEL]: String(ordinal),
        [REVISION_LABEL]: revision,
      },
    },
    spec,
  };
}

/** Returns the identity labels that a pod lacks. */
export function missingIdentity(set: ApiObject, pod: ApiObject): Record<string, string> {
  const { name = '', labels = {} } = pod.metadata;
  const wanted = { [POD_NAME_LABEL]: name, [INDEX_LABEL]: String(ordinalOf(set, pod)) };
  return Object.fromEntries(Object.entries(wanted).filter(([label, value]) => labels[label] !== value));
}
