import { API_VERSION } from '@mcm/api';
import { controllerOf, type KubeObject, type OwnerReference } from '@mcm/kube';
import type { Matcher } from './selector.ts';

export interface Claim<T> {
  readonly owned: readonly T[];
  readonly adopt: readonly T[];
  readonly release: readonly T[];
}

export interface Owner {
  readonly uid: string;
  readonly deleting: boolean;
}

/**
 * Decides which objects an owner adopts, keeps and releases (docs/compatibility/rules-deployments.md §1.5 and 7.3). An
 * owner that is being deleted neither adopts nor releases objects. The function ignores an object whose controller has
 * another UID, even if the names of both owners are equal.
 */
export function claim<T extends KubeObject>(owner: Owner, matches: Matcher, candidates: Iterable<T>): Claim<T> {
  const owned: T[] = [];
  const adopt: T[] = [];
  const release: T[] = [];
  for (const candidate of candidates) {
    const controller = controllerOf(candidate);
    const selected = matches(candidate.metadata.labels);
    if (controller !== undefined) {
      if (controller.uid !== owner.uid) continue;
      if (selected) owned.push(candidate);
      else if (!owner.deleting) release.push(candidate);
    } else if (selected && !owner.deleting && candidate.metadata.deletionTimestamp === undefined) {
      adopt.push(candidate);
    }
  }
  return { owned, adopt, release };
}

export const controllerReference = (owner: KubeObject): OwnerReference => ({
  apiVersion: API_VERSION,
  kind: owner.kind,
  name: owner.metadata.name,
  uid: owner.metadata.uid,
  controller: true,
  blockOwnerDeletion: true,
});

/**
 * Creates the merge patch that makes `owner` the controller of `child`. In contrast to the original, other owner
 * references stay. The patch contains the resource version, so the API server refuses it if another owner adopts the
 * object.
 */
export const adoptionPatch = (owner: KubeObject, child: KubeObject) => ({
  metadata: {
    uid: child.metadata.uid,
    resourceVersion: child.metadata.resourceVersion,
    ownerReferences: [...(child.metadata.ownerReferences ?? []), controllerReference(owner)],
  },
});

/**
 * The original never releases an object, because custom resources do not support the strategic merge patch that it uses
 * (BUG-1).
 */
export const releasePatch = (ownerUid: string, child: KubeObject) => ({
  metadata: {
    uid: child.metadata.uid,
    resourceVersion: child.metadata.resourceVersion,
    ownerReferences: (child.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== ownerUid),
  },
});
