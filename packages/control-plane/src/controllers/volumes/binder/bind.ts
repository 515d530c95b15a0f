import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../../apimachinery/objects/object-text.ts';
import { defined, look, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { type Api, allowing } from '../../client/api.ts';
import { CLAIMS, VOLUMES } from '../../client/resources.ts';
import { namespaceOf, phaseOf } from '../../objects/fields.ts';
import { claimRefOf, isFor } from './match.ts';

export const BIND_COMPLETED = 'pv.kubernetes.io/bind-completed';
export const BOUND_BY_CONTROLLER = 'pv.kubernetes.io/bound-by-controller';
const PRE_RESIZE = 'volume.alpha.kubernetes.io/pre-resize-capacity';

export const hasAnnotation = ({ metadata }: ApiObject, name: string): boolean =>
  metadata.annotations?.[name] !== undefined;

export const referenceTo = (claim: ApiObject): Plain => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  namespace: namespaceOf(claim),
  name: claim.metadata.name,
  uid: claim.metadata.uid,
  resourceVersion: claim.metadata.resourceVersion,
});

/** Returns the patch that reserves a volume for a claim. */
export function promisePatch(volume: ApiObject, claim: ApiObject): Plain | undefined {
  if (isFor(volume, claim) && text(claimRefOf(volume), 'uid') === claim.metadata.uid) return undefined;
  // If the volume already refers to the claim, a user has reserved the volume, so the annotation must be absent.
  const annotations = isFor(volume, claim) ? {} : { annotations: { [BOUND_BY_CONTROLLER]: 'yes' } };
  const { resourceVersion } = volume.metadata;
  return { metadata: { resourceVersion, ...annotations }, spec: { claimRef: referenceTo(claim) } };
}

/** Writes the bindings of volumes and claims, and omits writes that would change nothing. */
export class BindingWriter {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  patchVolume(volume: ApiObject, patch: unknown, subresource?: string): Promise<ApiObject | undefined> {
    return allowing(this.#api.patch(VOLUMES, { name: volume.metadata.name, subresource }, patch), 404, 409);
  }

  patchClaim({ metadata }: ApiObject, patch: unknown, subresource?: string): Promise<ApiObject | undefined> {
    const { namespace, name } = metadata;
    return allowing(this.#api.patch(CLAIMS, { namespace, name, subresource }, patch), 404, 409);
  }

  /** Writes the phase of a volume. */
  async setPhase(volume: ApiObject, phase: string, message?: string): Promise<ApiObject | undefined> {
    if (phaseOf(volume) === phase) return volume;
    const { resourceVersion } = volume.metadata;
    const status = { phase, message: message ?? null };
    return this.patchVolume(volume, { metadata: { resourceVersion }, status }, 'status');
  }

  /** Writes the status of a claim, and returns whether the status has changed. */
  async setClaimStatus(claim: ApiObject, phase: string, volume?: ApiObject): Promise<boolean> {
    const patch = volume === undefined ? unboundStatus(claim, phase) : boundStatus(claim, phase, volume);
    if (Object.keys(patch).length === 0) return false;
    return (await this.patchClaim(claim, { status: patch }, 'status')) !== undefined;
  }

  /** The method writes the volume first, so no other claim can use the volume. */
  async bind(volume: ApiObject, claim: ApiObject): Promise<void> {
    const promise = promisePatch(volume, claim);
    const promised = promise === undefined ? volume : await this.patchVolume(volume, promise);
    if (promised === undefined || (await this.setPhase(promised, 'Bound')) === undefined) return;
    const patch = claimPatch(claim, promised);
    const bound = patch === undefined ? claim : await this.patchClaim(claim, patch);
    if (bound !== undefined) await this.setClaimStatus(bound, 'Bound', promised);
  }

  /**
   * Releases a volume from its claim. If a user reserved the volume for the claim, the method keeps the reservation.
   */
  async unbind(volume: ApiObject): Promise<void> {
    const { resourceVersion } = volume.metadata;
    const patch = hasAnnotation(volume, BOUND_BY_CONTROLLER)
      ? { metadata: { resourceVersion, annotations: { [BOUND_BY_CONTROLLER]: null } }, spec: { claimRef: null } }
      : { metadata: { resourceVersion }, spec: { claimRef: { uid: null } } };
    const free = await this.patchVolume(volume, patch);
    if (free !== undefined) await this.setPhase(free, 'Available');
  }
}

function claimPatch(claim: ApiObject, volume: ApiObject): Plain | undefined {
  const { name } = volume.metadata;
  const named = text(look(claim, 'spec'), 'volumeName') === name;
  if (named && hasAnnotation(claim, BIND_COMPLETED)) return undefined;
  const annotations = defined({ [BIND_COMPLETED]: 'yes', [BOUND_BY_CONTROLLER]: named ? undefined : 'yes' });
  const { resourceVersion } = claim.metadata;
  return defined({ metadata: { resourceVersion, annotations }, spec: named ? undefined : { volumeName: name } });
}

function unboundStatus(claim: ApiObject, phase: string): Plain {
  const status = look(claim, 'status');
  const patch: Plain = phaseOf(claim) === phase ? {} : { phase };
  for (const field of ['accessModes', 'capacity', 'currentVolumeAttributesClassName']) {
    if (status[field] !== undefined) patch[field] = null;
  }
  return patch;
}

function boundStatus(claim: ApiObject, phase: string, volume: ApiObject): Plain {
  const status = look(claim, 'status');
  const { accessModes, capacity, volumeAttributesClassName } = look(volume, 'spec');
  const patch: Plain = jsonEquals(status.accessModes, accessModes) ? {} : { accessModes };
  // While the file system of a bound claim is being resized, the claim and the volume may have different sizes.
  if (phaseOf(claim) === phase) return patch;
  const size = volume.metadata.annotations?.[PRE_RESIZE];
  patch.phase = phase;
  patch.capacity = size === undefined ? capacity : { storage: size };
  if (volumeAttributesClassName !== undefined) patch.currentVolumeAttributesClassName = volumeAttributesClassName;
  return patch;
}
