import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look, type Plain, strings, text } from '../../../apimachinery/objects/plain.ts';
import { quantityNanos } from '../../../apimachinery/objects/quantity.ts';
import { selectorOf } from '../../../selectors/label-selector.ts';
import { isDying, namespaceOf, phaseOf } from '../../objects/fields.ts';

/** An old annotation that contains the StorageClass name of a claim or volume. */
const BETA_CLASS = 'volume.beta.kubernetes.io/storage-class';

const classIn = (object: ApiObject): string =>
  object.metadata.annotations?.[BETA_CLASS] ?? text(look(object, 'spec'), 'storageClassName');

export const classOfClaim: (claim: ApiObject) => string = classIn;

export const classOfVolume: (volume: ApiObject) => string = classIn;

/** Returns whether a claim specifies a class. */
export const asksForClass = (claim: ApiObject): boolean =>
  claim.metadata.annotations?.[BETA_CLASS] !== undefined || look(claim, 'spec').storageClassName !== undefined;

export const claimRefOf = (volume: ApiObject): Plain => look(volume, 'spec', 'claimRef');

export const hasClaimRef = (volume: ApiObject): boolean => look(volume, 'spec').claimRef !== undefined;

/** Returns the claim that has reserved the volume, as `namespace/name`. */
export function claimKeyOf(volume: ApiObject): string | undefined {
  if (!hasClaimRef(volume)) return undefined;
  const reference = claimRefOf(volume);
  return `${text(reference, 'namespace')}/${text(reference, 'name')}`;
}

export const isFor = (volume: ApiObject, claim: ApiObject): boolean => {
  if (claimKeyOf(volume) !== `${namespaceOf(claim)}/${claim.metadata.name}`) return false;
  const uid = text(claimRefOf(volume), 'uid');
  return uid === '' || uid === claim.metadata.uid;
};

const storageOf = (amounts: unknown): bigint => quantityNanos(look({ amounts }, 'amounts').storage);
const sizeOf = (volume: ApiObject): bigint => storageOf(look(volume, 'spec').capacity);

/** Returns the requested size of a claim. */
export const requestOf = (claim: ApiObject): bigint => storageOf(look(claim, 'spec', 'resources').requests);

const modeOf = (object: ApiObject): unknown => look(object, 'spec').volumeMode ?? 'Filesystem';
const attributesOf = (object: ApiObject): string => text(look(object, 'spec'), 'volumeAttributesClassName');

export const differInMode = (volume: ApiObject, claim: ApiObject): boolean => modeOf(volume) !== modeOf(claim);

const offersModes = (volume: ApiObject, claim: ApiObject): boolean => {
  const offered = strings(look(volume, 'spec'), 'accessModes');
  return strings(look(claim, 'spec'), 'accessModes').every((mode) => offered.includes(mode));
};

/** Returns the reason why a claim cannot use the volume that its spec names. */
export function mismatchOf(volume: ApiObject, claim: ApiObject): string | undefined {
  if (isDying(volume)) return `the volume is marked for deletion "${volume.metadata.name}"`;
  if (sizeOf(volume) < requestOf(claim)) return 'requested PV is too small';
  if (classOfVolume(volume) !== classOfClaim(claim)) return 'storageClassName does not match';
  if (attributesOf(volume) !== attributesOf(claim)) return 'volumeAttributesClassName does not match';
  if (differInMode(volume, claim)) return 'incompatible volumeMode';
  return offersModes(volume, claim) ? undefined : 'incompatible accessMode';
}

const isSelected = (volume: ApiObject, claim: ApiObject): boolean => {
  const { selector } = look(claim, 'spec');
  const labels = volume.metadata.labels ?? {};
  return selector === undefined || selectorOf(selector as Parameters<typeof selectorOf>[0])(labels);
};

const isFreeFor = (volume: ApiObject, claim: ApiObject): boolean =>
  !hasClaimRef(volume) &&
  phaseOf(volume) === 'Available' &&
  classOfVolume(volume) === classOfClaim(claim) &&
  isSelected(volume, claim);

const canHold = (volume: ApiObject, claim: ApiObject): boolean =>
  !isDying(volume) &&
  sizeOf(volume) >= requestOf(claim) &&
  !differInMode(volume, claim) &&
  attributesOf(volume) === attributesOf(claim) &&
  offersModes(volume, claim);

/**
 * Returns whether volume `a` is better than `b`. The function compares, in this order: fewer access modes, a
 * reservation, a smaller size, the name.
 */
function isBetter(a: ApiObject, b: ApiObject): boolean {
  const modes = (volume: ApiObject): number => strings(look(volume, 'spec'), 'accessModes').length;
  if (modes(a) !== modes(b)) return modes(a) < modes(b);
  if (hasClaimRef(a) !== hasClaimRef(b)) return hasClaimRef(a);
  if (sizeOf(a) !== sizeOf(b)) return sizeOf(a) < sizeOf(b);
  return (a.metadata.name ?? '') < (b.metadata.name ?? '');
}

/**
 * Finds a volume for a claim that names no volume: a reserved volume, or the smallest suitable free volume. With
 * `promisedOnly`, the function finds only reserved volumes, because the claim waits for a pod.
 * @see FindMatchingVolume of k8s.io/component-helpers
 */
export function findVolume(
  claim: ApiObject,
  volumes: Iterable<ApiObject>,
  promisedOnly = false,
): ApiObject | undefined {
  let best: ApiObject | undefined;
  for (const volume of volumes) {
    if (!canHold(volume, claim)) continue;
    if (!isFor(volume, claim) && (promisedOnly || !isFreeFor(volume, claim))) continue;
    if (best === undefined || isBetter(volume, best)) best = volume;
  }
  return best;
}
