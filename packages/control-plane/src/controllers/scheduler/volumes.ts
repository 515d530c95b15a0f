import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import { isDying, namespaceOf, phaseOf } from '../objects/fields.ts';
import type { Informer } from '../runtime/informer.ts';
import { claimNamesOf, SELECTED_NODE } from '../volumes/binder/claims.ts';
import { classOfClaim, findVolume, hasClaimRef, isFor, requestOf } from '../volumes/binder/match.ts';
import { matchesNodeSelector } from './node-match.ts';

export const isForOnePod = (claim: ApiObject | undefined): boolean =>
  strings(look(claim, 'spec'), 'accessModes').includes('ReadWriteOncePod');

export interface VolumeCaches {
  readonly claims: Informer;
  readonly volumes: Informer;
  readonly classes: Informer;
}

export interface VolumeNeeds {
  readonly blocked: string | undefined;
  /** The node must meet the node affinity of the volumes. */
  readonly volumes: readonly ApiObject[];
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

function reaches(volume: ApiObject, node: ApiObject): boolean {
  const required = look(volume, 'spec', 'nodeAffinity').required;
  return required === undefined || matchesNodeSelector(required, node);
}

export const reachesVolumes = (volumes: readonly ApiObject[], node: ApiObject): boolean =>
  volumes.every((volume) => reaches(volume, node));

export interface VolumePlan {
  readonly bindings: readonly { readonly volume: ApiObject; readonly claim: ApiObject }[];
  readonly provisions: readonly ApiObject[];
}

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

/** @see FindPodVolumes of the volume binder in kube-scheduler */
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
  // A claim with a reserved volume cannot use any other volume.
  const promised = left.find((volume) => hasClaimRef(volume) && isFor(volume, claim));
  if (promised !== undefined) return reaches(promised, node) ? promised : undefined;
  return findVolume(
    claim,
    left.filter((volume) => reaches(volume, node)),
  );
}
