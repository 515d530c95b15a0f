import { isPlain, look } from '../../kinds/plain.ts';
import type { ApiObject } from '../../object.ts';
import { type LabelSelector, selectorOf } from '../../registry/label-selector.ts';
import { type Api, allowing, type Resource } from '../runtime/api.ts';
import type { Informer } from '../runtime/informer.ts';
import { controllerOf, isDying, namespaceOf, ownerReference } from '../runtime/objects.ts';

type SelectorSpec = Parameters<typeof selectorOf>[0];

const NOTHING: LabelSelector = () => false;

/**
 * Who belongs to whom: an owner takes objects without a controller that its selector matches, and gives up those that it
 * matches no more (`ControllerRefManager`).
 */
export class Adoption {
  readonly #api: Api;
  readonly #resource: Resource;
  readonly #of: (uid: string) => ApiObject[];
  readonly #orphansIn: (namespace: string) => ApiObject[];
  readonly #selectors = new WeakMap<ApiObject, LabelSelector>();

  constructor(api: Api, resource: Resource, objects: Informer) {
    this.#api = api;
    this.#resource = resource;
    this.#of = objects.index((object) => {
      const owner = controllerOf(object);
      return owner === undefined ? [] : [owner.uid];
    });
    this.#orphansIn = objects.index((object) => (controllerOf(object) === undefined ? [namespaceOf(object)] : []));
  }

  /** Whether an owner's selector matches an object; compiled once a version of the owner. */
  selects(owner: ApiObject, object: ApiObject): boolean {
    let selector = this.#selectors.get(owner);
    if (selector === undefined) {
      const given = look(owner, 'spec').selector;
      selector = isPlain(given) ? selectorOf(given as SelectorSpec) : NOTHING;
      this.#selectors.set(owner, selector);
    }
    return selector(object.metadata.labels ?? {});
  }

  /** The owner's objects after taking and giving up what there is. `mayAdopt`: which orphans it wants. */
  async claim(owner: ApiObject, mayAdopt: (object: ApiObject) => boolean = () => true): Promise<ApiObject[]> {
    const claimed: ApiObject[] = [];
    for (const object of this.#of(owner.metadata.uid ?? '')) {
      if (this.selects(owner, object)) claimed.push(object);
      else if (!isDying(owner)) await this.#release(owner, object);
    }
    if (isDying(owner)) return claimed;
    for (const object of this.#orphansIn(namespaceOf(owner))) {
      if (isDying(object) || !this.selects(owner, object) || !mayAdopt(object)) continue;
      const adopted = await this.#adopt(owner, object);
      if (adopted !== undefined) claimed.push(adopted);
    }
    return claimed;
  }

  #adopt(owner: ApiObject, object: ApiObject): Promise<ApiObject | undefined> {
    const { namespace, name, uid, ownerReferences = [] } = object.metadata;
    const patch = { metadata: { uid, ownerReferences: [...ownerReferences, ownerReference(owner)] } };
    return allowing(this.#api.patch(this.#resource, { namespace, name }, patch), 404, 409, 422);
  }

  async #release(owner: ApiObject, object: ApiObject): Promise<void> {
    const { namespace, name, uid, ownerReferences = [] } = object.metadata;
    const others = ownerReferences.filter((one) => one.uid !== owner.metadata.uid);
    const patch = { metadata: { uid, ownerReferences: others.length === 0 ? null : others } };
    await allowing(this.#api.patch(this.#resource, { namespace, name }, patch), 404, 409, 422);
  }
}
