import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { items, look, text } from '../../../apimachinery/objects/plain.ts';

/** Says to the volume binder on which node a claim's first pod goes. */
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node';

/** Names of the claims of the volumes of a pod, including ephemeral volumes. */
export function claimNamesOf(pod: ApiObject): string[] {
  const names: string[] = [];
  for (const volume of items(look(pod, 'spec'), 'volumes')) {
    const claim = text(look(volume, 'persistentVolumeClaim'), 'claimName');
    if (claim !== '') names.push(claim);
    else if (volume.ephemeral !== undefined) names.push(`${pod.metadata.name}-${text(volume, 'name')}`);
  }
  return names;
}
