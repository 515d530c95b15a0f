import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look, text } from '../../../apimachinery/objects/plain.ts';
import { isDying, phaseOf } from '../../objects/fields.ts';
import { BIND_COMPLETED, BOUND_BY_CONTROLLER, hasAnnotation } from './bind.ts';
import { SELECTED_NODE } from './claims.ts';
import {
  asksForClass,
  claimRefOf,
  classOfClaim,
  differInMode,
  findVolume,
  hasClaimRef,
  isFor,
  mismatchOf,
} from './match.ts';
import { PROVISIONED_BY } from './provision.ts';
import { finalizersOf } from './reclaim.ts';

export const volumeNameOf = (claim: ApiObject): string => text(look(claim, 'spec'), 'volumeName');

export const isUnbound = (claim: ApiObject): boolean => !hasAnnotation(claim, BIND_COMPLETED);

export interface BinderEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export interface ClaimView {
  readonly claim: ApiObject;
  readonly named: ApiObject | undefined;
  /**
   * If a claim names no volume, these volumes are candidates: volumes that refer to the claim, and free volumes of the
   * class. With `delayed`, free volumes are not candidates.
   */
  readonly candidates: readonly ApiObject[];
  /** Whether the scheduler chooses the volume, because the StorageClass has the binding mode `WaitForFirstConsumer`. */
  readonly delayed: boolean;
  readonly defaultClass: string | undefined;
  readonly unscheduledPods: readonly string[];
}

export type ClaimStep =
  | { readonly kind: 'bind'; readonly volume: ApiObject }
  | { readonly kind: 'use class'; readonly name: string }
  | { readonly kind: 'provision' }
  | { readonly kind: 'phase'; readonly phase: 'Pending' | 'Lost'; readonly event?: BinderEvent }
  | { readonly kind: 'report'; readonly event: BinderEvent }
  | { readonly kind: 'nothing' };

export function decideClaim(view: ClaimView): ClaimStep {
  if (!isUnbound(view.claim)) return decideBound(view);
  return volumeNameOf(view.claim) === '' ? decideFree(view) : decideNaming(view);
}

function decideFree({ claim, candidates, delayed, defaultClass, unscheduledPods }: ClaimView): ClaimStep {
  const volume = findVolume(claim, candidates, delayed);
  if (volume !== undefined) return { kind: 'bind', volume };
  if (!asksForClass(claim) && defaultClass !== undefined) return { kind: 'use class', name: defaultClass };
  if (delayed && !hasAnnotation(claim, SELECTED_NODE)) {
    return { kind: 'phase', phase: 'Pending', event: waitingEvent(unscheduledPods) };
  }
  if (classOfClaim(claim) !== '') return { kind: 'provision' };
  const message = 'no persistent volumes available for this claim and no storage class is set';
  return { kind: 'phase', phase: 'Pending', event: { type: 'Normal', reason: 'FailedBinding', message } };
}

function waitingEvent(pods: readonly string[]): BinderEvent {
  if (pods.length === 0) {
    const message = 'waiting for first consumer to be created before binding';
    return { type: 'Normal', reason: 'WaitForFirstConsumer', message };
  }
  const message = `waiting for ${pods.length === 1 ? 'pod' : 'pods'} ${pods.join(',')} to be scheduled`;
  return { type: 'Normal', reason: 'WaitForPodScheduled', message };
}

function decideNaming({ claim, named }: ClaimView): ClaimStep {
  if (named === undefined) return { kind: 'phase', phase: 'Pending' };
  const name = volumeNameOf(claim);
  if (hasClaimRef(named)) {
    if (isFor(named, claim)) return { kind: 'bind', volume: named };
    const message = `volume "${name}" already bound to a different claim.`;
    const event: BinderEvent = { type: 'Warning', reason: 'FailedBinding', message };
    return hasAnnotation(claim, BOUND_BY_CONTROLLER)
      ? { kind: 'report', event }
      : { kind: 'phase', phase: 'Pending', event };
  }
  const why = mismatchOf(named, claim);
  if (why === undefined) return { kind: 'bind', volume: named };
  const message = `Cannot bind to requested volume "${name}": ${why}`;
  return { kind: 'phase', phase: 'Pending', event: { type: 'Warning', reason: 'VolumeMismatch', message } };
}

function decideBound({ claim, named }: ClaimView): ClaimStep {
  const lost = (reason: string, message: string): ClaimStep =>
    phaseOf(claim) === 'Lost'
      ? { kind: 'nothing' }
      : { kind: 'phase', phase: 'Lost', event: { type: 'Warning', reason, message } };
  if (named === undefined) {
    const what = volumeNameOf(claim) === '' ? 'reference to PersistentVolume' : 'its PersistentVolume';
    return lost('ClaimLost', `Bound claim has lost ${what}. Data on the volume is lost!`);
  }
  if (!hasClaimRef(named) || text(claimRefOf(named), 'uid') === claim.metadata.uid) {
    return { kind: 'bind', volume: named };
  }
  return lost('ClaimMisbound', 'Two claims are bound to the same volume, this one is bound incorrectly');
}

export type VolumeStep =
  | { readonly kind: 'finalizers'; readonly finalizers: readonly string[] }
  | { readonly kind: 'phase'; readonly phase: 'Available' | 'Bound' }
  | { readonly kind: 'reclaim' }
  | { readonly kind: 'unbind' }
  /**
   * The binder processes the claim first, because the decision about the claim also determines the binding of the
   * volume.
   */
  | { readonly kind: 'ask claim'; readonly claim: ApiObject }
  | {
      readonly kind: 'report';
      readonly claim: ApiObject;
      readonly onVolume: BinderEvent;
      readonly onClaim: BinderEvent;
    };

export function decideVolume(volume: ApiObject, claim: ApiObject | undefined): VolumeStep {
  const finalizers = finalizersOf(volume);
  if (finalizers !== undefined && !isDying(volume)) return { kind: 'finalizers', finalizers };
  const uid = text(claimRefOf(volume), 'uid');
  if (uid === '') return { kind: 'phase', phase: 'Available' };
  if (claim === undefined || claim.metadata.uid !== uid) return { kind: 'reclaim' };
  const named = volumeNameOf(claim);
  if (named === volume.metadata.name) return { kind: 'phase', phase: 'Bound' };
  if (named !== '') {
    const { persistentVolumeReclaimPolicy: policy } = look(volume, 'spec');
    return { kind: hasAnnotation(volume, PROVISIONED_BY) && policy === 'Delete' ? 'reclaim' : 'unbind' };
  }
  if (!differInMode(volume, claim)) return { kind: 'ask claim', claim };
  const why = 'due to incompatible volumeMode.';
  const mismatch = (message: string): BinderEvent => ({ type: 'Warning', reason: 'VolumeMismatch', message });
  return {
    kind: 'report',
    claim,
    onVolume: mismatch(
      `Cannot bind PersistentVolume to requested PersistentVolumeClaim "${claim.metadata.name}" ${why}`,
    ),
    onClaim: mismatch(
      `Cannot bind PersistentVolume "${volume.metadata.name}" to requested PersistentVolumeClaim ${why}`,
    ),
  };
}
