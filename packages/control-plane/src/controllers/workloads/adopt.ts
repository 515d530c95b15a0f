import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { look } from '../../apimachinery/objects/plain.ts';
import { type LabelSelector, selectorOf } from '../../selectors/label-selector.ts';
import { type Api, allowing } from '../client/api.ts';
import type { Resource } from '../client/resources.ts';
import { isDying, namespaceOf, ownerReference } from '../objects/fields.ts';
import { controllerWords, orphanWords } from '../objects/index-words.ts';
import type { Informer } from '../runtime/informer.ts';

type SelectorSpec = Parameters<typeof selectorOf>[0];

const NOTHING: LabelSelector = () => false;

export interface Household {
  readonly owners: Resource;
  readonly resource: Resource;
  readonly objects: Informer;
  readonly finalizers?: readonly string[];
  readonly taken?: (owner: ApiObject, object: ApiObject) => void;
}

/**
 * If a matching object has no controller, the owner adopts the object. The owner releases objects that no longer match
 * (`ControllerRefManager`).
 */
export class Adoption {
  readonly #api: Api;
  readonly #household: Household;
  readonly #of: (uid: string) => ApiObject[];
  readonly #orphansIn: (namespace: string) => ApiObject[];
  readonly #selectors = new WeakMap<ApiObject, LabelSelector>();

  constructor(api: Api, household: Household) {
    this.#api = api;
    this.#household = household;
    const { objects } = household;
    this.#of = objects.index(controllerWords);
    this.#orphansIn = objects.index(orphanWords);
  }

  /** Returns whether the selector of the owner matches. */
  selects(owner: ApiObject, object: ApiObject): boolean {
    let selector = this.#selectors.get(owner);
    if (selector === undefined) {
      const given = look(owner, 'spec').selector;
      selector = isRecord(given) ? selectorOf(given as SelectorSpec) : NOTHING;
      this.#selectors.set(owner, selector);
    }
    return selector(object.metadata.labels ?? {});
  }

  /**
   * Adopts and releases objects, and then returns the objects of the owner.
   * @param mayAdopt whether the owner may adopt the object
   * @throws StatusError, or Error if an object could not be adopted; the caller retries
   */
  async claim(owner: ApiObject, mayAdopt: (object: ApiObject) => boolean = () => true): Promise<ApiObject[]> {
    const claimed: ApiObject[] = [];
    for (const object of this.#of(owner.metadata.uid ?? '')) {
      if (this.selects(owner, object)) claimed.push(object);
      else if (!isDying(owner)) await this.#release(owner, object);
    }
    if (isDying(owner)) return claimed;
    let isChecked = false;
    for (const object of this.#orphansIn(namespaceOf(owner))) {
      if (isDying(object) || !this.selects(owner, object) || !mayAdopt(object)) continue;
      if (!isChecked) await this.#checkAlive(owner);
      isChecked = true;
      const adopted = await this.#adopt(owner, object);
      if (adopted !== undefined) claimed.push(adopted);
    }
    return claimed;
  }

  /**
   * Verifies that the owner is not terminating, because the garbage collector may have released the objects of a
   * terminating owner. The method reads the owner from the API server, because the cache may be outdated.
   */
  async #checkAlive({ kind, metadata: { namespace, name, uid } }: ApiObject): Promise<void> {
    const { metadata } = await this.#api.get(this.#household.owners, { namespace, name });
    if (metadata.uid !== uid) {
      throw new Error(`original ${kind} ${namespace}/${name} is gone: got uid ${metadata.uid}, wanted ${uid}`);
    }
    const { deletionTimestamp } = metadata;
    if (deletionTimestamp !== undefined) {
      throw new Error(`${namespace}/${name} has just been deleted at ${deletionTimestamp}`);
    }
  }

  async #adopt(owner: ApiObject, object: ApiObject): Promise<ApiObject | undefined> {
    const { resource, finalizers, taken } = this.#household;
    const { namespace, name, uid } = object.metadata;
    const metadata = { uid, ownerReferences: [ownerReference(owner)], finalizers };
    const adopted = await allowing(this.#api.merge(resource, { namespace, name }, { metadata }), 404);
    if (adopted !== undefined) taken?.(owner, adopted);
    return adopted;
  }

  async #release(owner: ApiObject, object: ApiObject): Promise<void> {
    const { resource, finalizers } = this.#household;
    const { namespace, name, uid } = object.metadata;
    const ownerReferences = [{ $patch: 'delete', uid: owner.metadata.uid }];
    const without = finalizers && { '$deleteFromPrimitiveList/finalizers': finalizers };
    const metadata = { uid, ownerReferences, ...without };
    await allowing(this.#api.merge(resource, { namespace, name }, { metadata }), 404, 409, 422);
  }
}
