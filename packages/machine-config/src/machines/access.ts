import type { Informer, KubeError, KubeObject } from '@mcm/kube';
import { refusalText } from '../conditions/forbidden.ts';

/**
 * Whether machines may be looked at. What a role forbids, keeps nobody waiting: pools over machines say it and stand
 * still, everything else goes on.
 */
export class MachineAccess {
  readonly #refused = new Map<string, string>();
  readonly #listeners: (() => void)[] = [];

  /** What the role lacks, in words; undefined: nothing, or nobody has asked yet. */
  get refusal(): string | undefined {
    return this.#refused.size === 0 ? undefined : [...this.#refused.values()].join('; ');
  }

  /** Calls back when it has become another one. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Takes note of what came of asking for a resource. */
  readonly noteOf =
    (resource: string) =>
    (refused: KubeError | undefined): void => {
      const before = this.refusal;
      if (refused) this.#refused.set(resource, refusalText(refused));
      else this.#refused.delete(resource);
      if (this.refusal !== before) for (const listener of this.#listeners) listener();
    };

  /** Whether the resource is known not to be allowed. */
  isRefused = (resource: string): boolean => this.#refused.has(resource);

  /** The informer; nobody waits for one whose resource is not allowed. */
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
      // Pools over machines ask for the refusal themselves.
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
