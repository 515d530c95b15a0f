import type { ApiObject, JsonObject } from '../apimachinery/objects/object.ts';
import { jsonEquals } from '../apimachinery/objects/object-text.ts';
import type { UserInfo } from '../apimachinery/users/user.ts';
import type { ServedKind } from './kind-registry.ts';

export interface CarriedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface AdmissionAttributes {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  readonly served: ServedKind;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  /** A mutating plugin changes `object`, or returns another object. */
  readonly object: ApiObject | undefined;
  readonly old: ApiObject | undefined;
  readonly carries?: CarriedKind | undefined;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** The options in the request, without kind and version. */
  readonly options?: JsonObject | undefined;
  readonly warn: (message: string) => void;
  /** The state of the second round. If the server calls only one plugin, `reinvocation` is undefined. */
  readonly reinvocation?: Reinvocation;
}

/** Records which webhooks or policies each mutating plugin calls again in the second round. */
export class Reinvocation {
  round = 0;
  wanted = false;
  readonly #kept = new Map<object, Repeats>();

  of(owner: object): Repeats {
    let kept = this.#kept.get(owner);
    if (kept === undefined) {
      kept = new Repeats(this);
      this.#kept.set(owner, kept);
    }
    return kept;
  }
}

/** With a reinvocation policy, a webhook or policy runs again if the object changed after its first run. */
export class Repeats {
  readonly #reinvocation: Reinvocation;
  #ran = new Set<object>();
  readonly #again = new Set<object>();
  #output: ApiObject | undefined;

  constructor(reinvocation: Reinvocation) {
    this.#reinvocation = reinvocation;
  }

  /** If other plugins changed the object, all webhooks with a reinvocation policy run again. */
  begin(object: ApiObject | undefined): void {
    if (this.#reinvocation.round > 0 && !jsonEquals(this.#output, object)) this.#repeatAll();
  }

  /** Returns whether the second round skips a webhook or policy, because it needs no reinvocation. */
  isSkipped(one: object): boolean {
    return this.#reinvocation.round > 0 && !this.#again.has(one);
  }

  ran(one: object, wantsAgain: boolean, changed: boolean): void {
    if (changed) {
      this.#repeatAll();
      this.#reinvocation.wanted = true;
    }
    if (wantsAgain) this.#ran.add(one);
  }

  end(object: ApiObject | undefined): void {
    this.#output = object;
  }

  #repeatAll(): void {
    for (const one of this.#ran) this.#again.add(one);
    this.#ran = new Set();
  }
}

/**
 * `admit` may change the object, and `validate` may only refuse it. A plugin throws a StatusError to refuse the
 * request. If the stored object changes before the promise of a plugin resolves, the server repeats the write.
 */
export interface AdmissionPlugin {
  readonly name: string;
  readonly admit?: (attributes: AdmissionAttributes) => undefined | ApiObject | Promise<ApiObject | undefined>;
  /** Checks the object after all mutating plugins, and before the validation of its fields. */
  readonly check?: (attributes: AdmissionAttributes) => undefined;
  readonly validate?: (attributes: AdmissionAttributes) => undefined | Promise<undefined>;
}

export class AdmissionChain {
  readonly #plugins: AdmissionPlugin[] = [];

  add(plugin: AdmissionPlugin): void {
    this.#plugins.push(plugin);
  }

  /** Runs all mutating plugins, then the checks of their result, and returns the resulting object. */
  async admit(attributes: AdmissionAttributes): Promise<ApiObject | undefined> {
    const object = await this.#mutate(attributes);
    for (const { check } of this.#plugins) check?.({ ...attributes, object });
    return object;
  }

  async #mutate(attributes: AdmissionAttributes): Promise<ApiObject | undefined> {
    const reinvocation = new Reinvocation();
    let object = attributes.object;
    for (;;) {
      for (const { admit } of this.#plugins) {
        if (admit === undefined) continue;
        const answer = admit({ ...attributes, object, reinvocation });
        object = (answer instanceof Promise ? await answer : answer) ?? object;
      }
      if (!reinvocation.wanted || reinvocation.round > 0) return object;
      reinvocation.round++;
    }
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    for (const { validate } of this.#plugins) {
      const answer = validate?.(attributes);
      if (answer instanceof Promise) await answer;
    }
  }
}
