import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import type { Informer } from '../runtime/informer.ts';
import { isDying, namespaceOf, phaseOf } from '../runtime/objects.ts';
import { claimNamesOf, SELECTED_NODE } from '../volumes/binder/claims.ts';
import { classOfClaim, findVolume, hasClaimRef, isFor, requestOf } from '../volumes/binder/match.ts';
import { matchesNodeSelector } from './node-match.ts';

/** Whether a claim is for a single pod. */
export const isForOnePod = (claim: ApiObject | undefined): boolean =>
  strings(look(claim, 'spec'), 'accessModes').includes('ReadWriteOncePod');

/** Caches of everything about volumes. */
export interface VolumeCaches {
  readonly claims: Informer;
  readonly volumes: Informer;
  readonly classes: Informer;
}

/** The effect of the claims of a pod on the choice of its node. */
export interface VolumeNeeds {
  /** The reason why the pod cannot be scheduled yet. */
  readonly blocked: string | undefined;
  /** Volumes whose node affinity must match. */
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
    const storageClass = classes.get(classOfClaim(claim));
    if (storageClass?.volumeBindingMode !== 'WaitForFirstConsumer') {
      return blocked('pod has unbound immediate PersistentVolumeClaims');
    }
    waiting.push(claim);
  }
  return { blocked: undefined, volumes: bound, waiting };
}

/** Whether a volume can be reached from a node. */
function reaches(volume: ApiObject, node: ApiObject): boolean {
  const required = look(volume, 'spec', 'nodeAffinity').required;
  return required === undefined || matchesNodeSelector(required, node);
}

/** Whether all volumes can be reached from a node. */
export const reachesVolumes = (volumes: readonly ApiObject[], node: ApiObject): boolean =>
  volumes.every((volume) => reaches(volume, node));

/** The plan for the claims that wait for a node, if the pod is assigned to this node. */
export interface VolumePlan {
  /** Available volumes. */
  readonly bindings: readonly { readonly volume: ApiObject; readonly claim: ApiObject }[];
  /** Claims that need a new volume. */
  readonly provisions: readonly ApiObject[];
}

/** Classes whose volumes an administrator creates manually. */
const BY_HAND = 'kubernetes.io/no-provisioner';

function canProvision(claim: ApiObject, node: ApiObject, classes: Informer): boolean {
  const storageClass = classes.get(classOfClaim(claim));
  if (storageClass === undefined || storageClass.provisioner === BY_HAND) return false;
  const terms = items(storageClass, 'allowedTopologies');
  const labels = node.metadata.labels ?? {};
  const isIn = (requirement: Plain): boolean => {
    const value = labels[text(requirement, 'key')];
    return value !== undefined && strings(requirement, 'values').includes(value);
  };
  return terms.length === 0 || terms.some((term) => items(term, 'matchLabelExpressions').every(isIn));
}

/**
 * How the claims of a pod would get their volumes on a node: the smallest claim chooses first. Undefined if a claim would get no volume.
 * @see FindPodVolumes of the scheduler's volume binder
 */
export function planVolumes(
  waiting: readonly ApiObject[],
  node: ApiObject,
  { volumes, classes }: Pick<VolumeCaches, 'volumes' | 'classes'>,
): VolumePlan | undefined {
  const bindings: { volume: ApiObject; claim: ApiObject }[] = [];
  const provisions: ApiObject[] = [];
  const bySize = [...waiting].sort((a, b) => Number(requestOf(a) - requestOf(b)));
  for (const claim of bySize) {
    const selected = claim.metadata.annotations?.[SELECTED_NODE];
    if (selected !== undefined && selected !== node.metadata.name) return undefined;
    const volume = selected === undefined ? matchOn(claim, node, volumes, bindings) : undefined;
    if (volume !== undefined) bindings.push({ volume, claim });
    else if (canProvision(claim, node, classes)) provisions.push(claim);
    else return undefined;
  }
  return { bindings, provisions };
}

function matchOn(
  claim: ApiObject,
  node: ApiObject,
  volumes: Informer,
  taken: readonly { readonly volume: ApiObject }[],
): ApiObject | undefined {
  const left = [...volumes.all()].filter((volume) => !taken.some((one) => one.volume === volume));
  // A volume that is promised to the claim is the only one for it, wherever it is.
  const promised = left.find((volume) => hasClaimRef(volume) && isFor(volume, claim));
  if (promised !== undefined) return reaches(promised, node) ? promised : undefined;
  return findVolume(
    claim,
    left.filter((volume) => reaches(volume, node)),
  );
}
