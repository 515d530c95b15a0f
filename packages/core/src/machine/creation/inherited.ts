import type { Machine } from '@mcm/api';
import type { Informer } from '@mcm/kube';

/**
 * UIDs of the machines that existed when this process became leader. An earlier process may have sent calls for them.
 * For later machines this process knows every call.
 */
export class InheritedMachines {
  readonly #uids = new Set<string>();
  #leads = false;

  constructor(machines: Pick<Informer<Machine>, 'onChange' | 'synced'>) {
    machines.onChange(({ type, object: { metadata } }) => {
      if (type === 'deleted') this.#uids.delete(metadata.uid);
      else if (type === 'added' && !(this.#leads && machines.synced)) this.#uids.add(metadata.uid);
    });
  }

  /** The server of the machines was restored. Calls may have been sent for its machines that no process remembers. */
  takeAll(uids: Iterable<string>): void {
    for (const uid of uids) this.#uids.add(uid);
  }

  /** From now on only this process sends calls. */
  lead(): void {
    this.#leads = true;
  }

  has(uid: string): boolean {
    return this.#uids.has(uid);
  }
}
