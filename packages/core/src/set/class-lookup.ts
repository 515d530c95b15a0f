import { type MachineClass, machineClasses } from '@mcm/api';
import { isNotFound, isPathSegment, makeKey, type ResourceClient } from '@mcm/kube';
import type { ControllerContext } from '../control/caches.ts';

/** A class may exist on the API server before the cache contains it, so mcm checks the cache again after this delay. */
export const CLASS_LOOK_MS = 1_000;

export class ClassLookup {
  readonly #context: ControllerContext;
  readonly #classes: ResourceClient<MachineClass>;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#classes = context.client.resource<MachineClass>(machineClasses, context.namespace);
  }

  /**
   * Returns true if the cache does not contain the class. For a class of another kind, or without permission to read
   * classes, `lacks` returns false.
   */
  lacks({ kind, name = '' }: { readonly kind?: string | undefined; readonly name?: string | undefined }): boolean {
    const { safeguards, namespace } = this.#context;
    if (safeguards.classes.refused) return false;
    return kind === 'MachineClass' && safeguards.classes.store.get(makeKey(namespace, name)) === undefined;
  }

  /**
   * The cache may lack a new class, so mcm reads the class from the API server before it sends a warning. A slash in
   * the name would change the path of the request, so mcm refuses such a name.
   */
  async isThere(name: string, signal: AbortSignal): Promise<boolean> {
    if (!isPathSegment(name)) return false;
    try {
      await this.#classes.get(name, { signal });
      return true;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return false;
    }
  }
}
