import type { Machine } from '@mcm/api';
import type { Informer } from '@mcm/kube';

/**
 * The machines that were there when this process began to lead, by UID. An earlier process may have sent calls for them.
 * Of machines that come later, this process knows every call.
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

  /** The server of the machines went back: of those that are there now, calls may have been sent that nobody remembers. */
  takeAll(uids: Iterable<string>): void {
    for (const uid of uids) this.#uids.add(uid);
  }

  /** From now on no other process sends calls. */
  lead(): void {
    this.#leads = true;
  }

  has(uid: string): boolean {
    return this.#uids.has(uid);
  }
}
