import type { UserInfo } from '../auth/user.ts';
import type { ApiObject, JsonObject } from '../object.ts';
import type { ServedKind } from './kind-registry.ts';

/** The kind of a body that is no object of its resource. */
export interface CarriedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** One write on its way in, as admission sees it. */
export interface AdmissionAttributes {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  readonly served: ServedKind;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  /** The new object; a mutating plugin changes it in place or returns another. Absent for a delete. */
  readonly object: ApiObject | undefined;
  readonly old: ApiObject | undefined;
  /** What `object` and `old` are where the request carries something else than an object: a Scale, a Binding, options of a connection. */
  readonly carries?: CarriedKind | undefined;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** What the client gave as options of the request, without kind and version. */
  readonly options?: JsonObject | undefined;
  /** Adds a warning to the answer. */
  readonly warn: (message: string) => void;
}

/**
 * A step between a request and the store. `admit` may change the object, `validate` may only refuse; both refuse by
 * throwing a StatusError. A plugin that needs to wait returns a promise; the write is tried again when the object has changed meanwhile.
 */
export interface AdmissionPlugin {
  readonly name: string;
  readonly admit?: (attributes: AdmissionAttributes) => undefined | ApiObject | Promise<ApiObject | undefined>;
  readonly validate?: (attributes: AdmissionAttributes) => undefined | Promise<undefined>;
}

/** The plugins in the order in which they are asked. */
export class AdmissionChain {
  readonly #plugins: AdmissionPlugin[] = [];

  add(plugin: AdmissionPlugin): void {
    this.#plugins.push(plugin);
  }

  /** The object after all mutating plugins. */
  async admit(attributes: AdmissionAttributes): Promise<ApiObject | undefined> {
    let object = attributes.object;
    for (const { admit } of this.#plugins) {
      if (admit === undefined) continue;
      const answer = admit({ ...attributes, object });
      object = (answer instanceof Promise ? await answer : answer) ?? object;
    }
    return object;
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    for (const { validate } of this.#plugins) {
      const answer = validate?.(attributes);
      if (answer instanceof Promise) await answer;
    }
  }
}
