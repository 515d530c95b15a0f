import { API_VERSION } from '@mcm/api';
import { controllerOf, type KubeObject, type OwnerReference } from '@mcm/kube';
import type { Matcher } from './selector.ts';

/** The objects that an owner keeps, adopts and releases. */
export interface Claim<T> {
  /** Objects that the owner controls and keeps. */
  readonly owned: readonly T[];
  /** Selected objects without a controller, to adopt unless the owner is being deleted. */
  readonly adopt: readonly T[];
  /** Objects that the owner controls but no longer selects, to release. */
  readonly release: readonly T[];
}

/** The parts of the owner that claiming reads. */
export interface Owner {
  readonly uid: string;
  readonly deleting: boolean;
}

/**
 * Sorts candidates by the owner's selector and their controller reference (docs/compatibility/rules-deployments.md §1.5 and 7.3).
 * An owner that is being deleted neither adopts nor releases. Objects of other controllers are ignored, also if the
 * controller has the owner's name but another uid.
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

/** The controller reference to an object of this group. */
export const controllerReference = (owner: KubeObject): OwnerReference => ({
  apiVersion: API_VERSION,
  kind: owner.kind,
  name: owner.metadata.name,
  uid: owner.metadata.uid,
  controller: true,
  blockOwnerDeletion: true,
});

/**
 * Merge patch that makes `owner` the controller of `child`. Other owners stay: the original replaces the list and
 * loses them. The resourceVersion makes a race with another adopter a conflict.
 */
export const adoptionPatch = (owner: KubeObject, child: KubeObject) => ({
  metadata: {
    uid: child.metadata.uid,
    resourceVersion: child.metadata.resourceVersion,
    ownerReferences: [...(child.metadata.ownerReferences ?? []), controllerReference(owner)],
  },
});

/**
 * Merge patch that removes the owner's reference from `child`. The original sends a strategic-merge marker, which custom
 * resources do not support, so it never releases an object (BUG-1 of docs/compatibility/rules-deployments.md).
 */
export const releasePatch = (ownerUid: string, child: KubeObject) => ({
  metadata: {
    uid: child.metadata.uid,
    resourceVersion: child.metadata.resourceVersion,
    ownerReferences: (child.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== ownerUid),
  },
});
