import { type MachineClass, machineClasses } from '@mcm/api';
import { isNotFound, makeKey, type ResourceClient } from '@mcm/kube';
import type { ControllerContext } from '../control/caches.ts';

/** A cache that has not heard of a class that is there is asked again after so long, should no event come. */
export const CLASS_LOOK_MS = 1_000;

/** Whether a template's class is there. */
export class ClassLookup {
  readonly #context: ControllerContext;
  readonly #classes: ResourceClient<MachineClass>;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#classes = context.client.resource<MachineClass>(machineClasses, context.namespace);
  }

  /** Whether the cache has no such class. Another kind, or classes that may not be read, are somebody else's to know. */
  lacks({ kind, name = '' }: { readonly kind?: string | undefined; readonly name?: string | undefined }): boolean {
    const { safeguards, namespace } = this.#context;
    if (safeguards.classes.refused) return false;
    return kind === 'MachineClass' && safeguards.classes.store.get(makeKey(namespace, name)) === undefined;
  }

  /**
   * Asks the server, before anybody is warned: a class that is created together with what names it may reach the cache
   * a moment later.
   */
  async isThere(name: string, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#classes.get(name, { signal });
      return true;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return false;
    }
  }
}
