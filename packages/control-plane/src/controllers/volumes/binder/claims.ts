import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { items, look, text } from '../../../apimachinery/objects/plain.ts';
import { namespaceOf } from '../../objects/fields.ts';

/** The volume binder reads the annotation with the selected node. */
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node';

/** Returns the claim names of all volumes in a pod, including ephemeral volumes. */
export function claimNamesOf(pod: ApiObject): string[] {
  const names: string[] = [];
  for (const volume of items(look(pod, 'spec'), 'volumes')) {
    const claim = text(look(volume, 'persistentVolumeClaim'), 'claimName');
    if (claim !== '') names.push(claim);
    else if (volume.ephemeral !== undefined) names.push(`${pod.metadata.name}-${text(volume, 'name')}`);
  }
  return names;
}

export const claimWords = (pod: ApiObject): readonly string[] =>
  claimNamesOf(pod).map((name) => `${namespaceOf(pod)}/${name}`);
