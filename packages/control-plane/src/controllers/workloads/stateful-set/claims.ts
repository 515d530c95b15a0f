import type { ApiObject, OwnerReference } from '../../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../../apimachinery/objects/object-text.ts';
import { look, type Plain } from '../../../apimachinery/objects/plain.ts';
import { type Api, allowing, hasCode } from '../../client/api.ts';
import { CLAIMS } from '../../client/resources.ts';
import type { Recorder } from '../../events/events.ts';
import { controllerOf, isDying, namespaceOf, ownerReference } from '../../objects/fields.ts';
import type { Informer } from '../../runtime/informer.ts';
import { claimName, claimTemplates, inRange } from './identity.ts';

/**
 * Returns the owners of a claim, which the retention policy determines. The garbage collector deletes a claim together
 * with its owner.
 */
function claimOwners(set: ApiObject, ordinal: number, pod: ApiObject | undefined, claim: ApiObject): OwnerReference[] {
  const isOurs = ({ uid, kind, name }: OwnerReference): boolean =>
    uid === set.metadata.uid || (kind === 'Pod' && name === `${set.metadata.name}-${ordinal}`);
  const others = (claim.metadata.ownerReferences ?? []).filter((reference) => !isOurs(reference));
  const controller = controllerOf(claim);
  // If another controller owns the claim, the owners stay unchanged.
  if (controller !== undefined && !isOurs(controller)) return others;
  const { whenDeleted, whenScaled } = look(set, 'spec', 'persistentVolumeClaimRetentionPolicy');
  const isCondemned = !inRange(set, ordinal);
  if (whenScaled === 'Delete' && isCondemned) {
    return pod === undefined ? others : [...others, ownerReference({ ...pod, apiVersion: 'v1', kind: 'Pod' })];
  }
  return whenDeleted === 'Delete' ? [...others, ownerReference(set)] : others;
}

/**
 * Creates the claims of a StatefulSet before their pods. The retention policy of the StatefulSet decides whether claims
 * are kept or deleted.
 */
export class StatefulClaims {
  readonly #api: Api;
  readonly #claims: Informer;
  readonly #tell: Recorder;

  constructor(api: Api, claims: Informer, tell: Recorder) {
    this.#api = api;
    this.#claims = claims;
    this.#tell = tell;
  }

  /** Creates the claims of a pod. If a claim is terminating, the pod waits for a new claim. */
  async ensure(set: ApiObject, ordinal: number): Promise<boolean> {
    for (const template of claimTemplates(set)) {
      const name = claimName(template, set, ordinal);
      const known = this.#claims.get(`${namespaceOf(set)}/${name}`);
      if (known !== undefined && isDying(known)) return false;
      if (known === undefined) await this.#create(set, ordinal, name, template);
    }
    return true;
  }

  async #create(set: ApiObject, ordinal: number, name: string, template: Plain): Promise<void> {
    const { labels, annotations } = look(template, 'metadata');
    const selected = look(set, 'spec', 'selector', 'matchLabels');
    const metadata = { name, labels: { ...(labels as object | undefined), ...selected }, annotations };
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: template.spec };
    const about = `Claim ${name} Pod ${set.metadata.name}-${ordinal} in StatefulSet ${set.metadata.name}`;
    try {
      await this.#api.create(CLAIMS, claim, { namespace: namespaceOf(set) });
      this.#tell(set, 'Normal', 'SuccessfulCreate', `Create ${about} success`);
    } catch (error) {
      if (hasCode(error, 409)) return;
      const why = error instanceof Error ? error.message : String(error);
      const failed = about.replace(' Pod ', ' for Pod ');
      this.#tell(set, 'Warning', 'FailedCreate', `Create ${failed} failed error: ${why}`);
      throw error;
    }
  }

  async keepOwners(set: ApiObject, ordinal: number, pod: ApiObject | undefined): Promise<void> {
    for (const template of claimTemplates(set)) {
      const claim = this.#claims.get(`${namespaceOf(set)}/${claimName(template, set, ordinal)}`);
      if (claim === undefined || isDying(claim)) continue;
      const owners = claimOwners(set, ordinal, pod, claim);
      if (jsonEquals(owners, claim.metadata.ownerReferences ?? [])) continue;
      const { namespace, name, uid } = claim.metadata;
      const patch = { metadata: { uid, ownerReferences: owners.length === 0 ? null : owners } };
      await allowing(this.#api.patch(CLAIMS, { namespace, name }, patch), 404, 409);
    }
  }
}
