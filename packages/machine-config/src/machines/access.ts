import type { Informer, KubeError, KubeObject } from '@mcm/kube';
import { refusalText } from '../conditions/forbidden.ts';

/**
 * Tracks whether the controller has permission to read machines. Without this permission, the controller blocks only
 * the pools that refer to machines.
 */
export class MachineAccess {
  readonly #refused = new Map<string, string>();
  readonly #listeners: (() => void)[] = [];

  get refusal(): string | undefined {
    return this.#refused.size === 0 ? undefined : [...this.#refused.values()].join('; ');
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  readonly noteOf =
    (resource: string) =>
    (refused: KubeError | undefined): void => {
      const before = this.refusal;
      if (refused) this.#refused.set(resource, refusalText(refused));
      else this.#refused.delete(resource);
      if (this.refusal !== before) for (const listener of this.#listeners) listener();
    };

  isRefused = (resource: string): boolean => this.#refused.has(resource);

  unlessRefused<T extends KubeObject>(informer: Informer<T>): Informer<T> {
    const refused = Promise.withResolvers<void>();
    const { isRefused } = this;
    this.onChange(() => {
      if (isRefused(informer.resource)) refused.resolve();
    });
    return {
      resource: informer.resource,
      get store() {
        return informer.store;
      },
      get synced() {
        return informer.synced || isRefused(informer.resource);
      },
      whenSynced: (signal) => Promise.race([informer.whenSynced(signal), refused.promise]),
      onChange: (handler) => informer.onChange(handler),
      // The pools that refer to machines check the permission themselves, so this informer reports no refusal.
      refused: undefined,
      onRefused: () => () => undefined,
      get doubted() {
        return informer.doubted;
      },
      get proven() {
        return informer.proven;
      },
      onDoubt: (handler) => informer.onDoubt(handler),
      run: (signal) => informer.run(signal),
      readOnce: (signal) => informer.readOnce(signal),
      recordWrite: (object) => informer.recordWrite(object),
      sinceDataMs: () => informer.sinceDataMs(),
      behindForMs: () => informer.behindForMs(),
      get malformed() {
        return informer.malformed;
      },
    };
  }
}
