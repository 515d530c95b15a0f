import { items, look, text } from '../../kinds/plain.ts';
import type { ApiObject } from '../../object.ts';
import type { Informer } from '../runtime/informer.ts';
import { isDying, namespaceOf, phaseOf } from '../runtime/objects.ts';
import { matchesNodeSelector } from './fit.ts';

/** Says to the volume binder on which node a claim's first pod goes. */
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node';

/** Names of the claims that a pod's volumes use, those of ephemeral volumes included. */
export function claimNamesOf(pod: ApiObject): string[] {
  const names: string[] = [];
  for (const volume of items(look(pod, 'spec'), 'volumes')) {
    const claim = text(look(volume, 'persistentVolumeClaim'), 'claimName');
    if (claim !== '') names.push(claim);
    else if (volume.ephemeral !== undefined) names.push(`${pod.metadata.name}-${text(volume, 'name')}`);
  }
  return names;
}

/** Caches of everything about volumes. */
export interface VolumeCaches {
  readonly claims: Informer;
  readonly volumes: Informer;
  readonly classes: Informer;
}

/** What a pod's claims mean for its place. */
export interface VolumeNeeds {
  /** Why the pod cannot go anywhere yet. */
  readonly blocked: string | undefined;
  /** Volumes whose node affinity must hold. */
  readonly volumes: readonly ApiObject[];
  /** Claims that are bound once a node is chosen. */
  readonly waiting: readonly ApiObject[];
}

export function volumeNeeds(pod: ApiObject, { claims, volumes, classes }: VolumeCaches): VolumeNeeds {
  const bound: ApiObject[] = [];
  const waiting: ApiObject[] = [];
  const blocked = (why: string): VolumeNeeds => ({ blocked: why, volumes: [], waiting: [] });
  for (const name of claimNamesOf(pod)) {
    const claim = claims.get(`${namespaceOf(pod)}/${name}`);
    if (claim === undefined) return blocked(`persistentvolumeclaim "${name}" not found`);
    if (isDying(claim)) return blocked(`persistentvolumeclaim "${name}" is being deleted`);
    const volume = volumes.get(text(look(claim, 'spec'), 'volumeName'));
    if (phaseOf(claim) === 'Bound' && volume !== undefined) {
      bound.push(volume);
      continue;
    }
    const storageClass = classes.get(text(look(claim, 'spec'), 'storageClassName'));
    if (storageClass?.volumeBindingMode !== 'WaitForFirstConsumer') {
      return blocked('pod has unbound immediate PersistentVolumeClaims');
    }
    waiting.push(claim);
  }
  return { blocked: undefined, volumes: bound, waiting };
}

/** Whether all volumes can be reached from a node. */
export const reachesVolumes = (volumes: readonly ApiObject[], node: ApiObject): boolean =>
  volumes.every((volume) => {
    const required = look(volume, 'spec', 'nodeAffinity').required;
    return required === undefined || matchesNodeSelector(required, node);
  });
