import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { CLAIMS, PODS, STORAGE_CLASSES, VOLUMES } from '../../client/resources.ts';
import { isTerminal, nodeNameOf } from '../../objects/fields.ts';
import { keyOf } from '../../objects/keys.ts';
import type { ControllerContext } from '../../runtime/controller.ts';
import type { Informer } from '../../runtime/informer.ts';
import { claimWords } from './claims.ts';
import { type ClaimView, isUnbound, volumeNameOf } from './decide.ts';
import { defaultClass } from './default-class.ts';
import { claimKeyOf, classOfClaim, classOfVolume, hasClaimRef } from './match.ts';

type Lookup = (key: string) => ApiObject[];

export class BinderCaches {
  readonly claims: Informer;
  readonly volumes: Informer;
  readonly classes: Informer;
  readonly pods: Informer;
  readonly #podsUsing: Lookup;
  readonly #freeOf: Lookup;
  /** Finds the volumes that are reserved for a claim. */
  readonly promisedTo: Lookup;
  readonly unboundOf: Lookup;
  readonly naming: Lookup;

  constructor(informer: ControllerContext['informer']) {
    this.claims = informer(CLAIMS);
    this.volumes = informer(VOLUMES);
    this.classes = informer(STORAGE_CLASSES);
    this.pods = informer(PODS);
    this.#podsUsing = this.pods.index(claimWords);
    this.#freeOf = this.volumes.index((volume) => (hasClaimRef(volume) ? [] : [classOfVolume(volume)]));
    this.promisedTo = this.volumes.index((volume) => {
      const key = claimKeyOf(volume);
      return key === undefined ? [] : [key];
    });
    this.unboundOf = this.claims.index((claim) => (isUnbound(claim) ? [classOfClaim(claim)] : []));
    this.naming = this.claims.index((claim) => [volumeNameOf(claim)]);
  }

  observe(claim: ApiObject): ClaimView {
    const key = keyOf(claim);
    const className = classOfClaim(claim);
    const delayed = this.classes.get(className)?.volumeBindingMode === 'WaitForFirstConsumer';
    const isFree = isUnbound(claim) && volumeNameOf(claim) === '';
    return {
      claim,
      named: this.volumes.get(volumeNameOf(claim)),
      candidates: isFree ? [...this.promisedTo(key), ...(delayed ? [] : this.#freeOf(className))] : [],
      delayed,
      defaultClass: isFree ? defaultClass(this.classes.all())?.metadata.name : undefined,
      unscheduledPods: this.#livingPods(key)
        .filter((pod) => nodeNameOf(pod) === '')
        .map((pod) => pod.metadata.name ?? ''),
    };
  }

  claimOf(volume: ApiObject): ApiObject | undefined {
    return this.claims.get(claimKeyOf(volume) ?? '');
  }

  /** Returns the pods that still use the claim of a released volume, as `namespace/name`. */
  usersOf(volume: ApiObject): string[] {
    const key = claimKeyOf(volume);
    return key === undefined || this.claims.get(key) !== undefined ? [] : this.#livingPods(key).map(keyOf);
  }

  #livingPods(key: string): ApiObject[] {
    return this.#podsUsing(key).filter((pod) => !isTerminal(pod));
  }
}
