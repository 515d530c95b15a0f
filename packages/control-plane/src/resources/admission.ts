import type { ApiObject, JsonObject } from '../apimachinery/objects/object.ts';
import { jsonEquals } from '../apimachinery/objects/object-text.ts';
import type { UserInfo } from '../apimachinery/users/user.ts';
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
  /** What mutating plugins keep from the first round to the second. Absent outside of a chain. */
  readonly reinvocation?: Reinvocation;
}

/**
 * The second round of mutating admission. Who has changed an object so that others may want to look again asks for one; every mutating
 * plugin runs in it, and decides by what it has kept whom it asks again.
 */
export class Reinvocation {
  /** 0, or 1 in the second round. */
  round = 0;
  wanted = false;
  readonly #kept = new Map<object, Repeats>();

  /** What the plugin `owner` keeps. */
  of(owner: object): Repeats {
    let kept = this.#kept.get(owner);
    if (kept === undefined) {
      kept = new Repeats(this);
      this.#kept.set(owner, kept);
    }
    return kept;
  }
}

/** Whom one plugin asks again in the second round: those who asked for it and stand before a change. */
export class Repeats {
  readonly #reinvocation: Reinvocation;
  #ran = new Set<object>();
  readonly #again = new Set<object>();
  #output: ApiObject | undefined;

  constructor(reinvocation: Reinvocation) {
    this.#reinvocation = reinvocation;
  }

  /** At the plugin's turn. In the second round a change by other plugins means that all who have run look again. */
  begin(object: ApiObject | undefined): void {
    if (this.#reinvocation.round > 0 && !jsonEquals(this.#output, object)) this.#repeatAll();
  }

  /** Nobody is asked for the first time in the second round. */
  isSkipped(one: object): boolean {
    return this.#reinvocation.round > 0 && !this.#again.has(one);
  }

  /** After one has been asked. */
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
