import type { Machine } from '@mcm/api';
import type { Informer } from '@mcm/kube';

/**
 * UIDs of the machines that existed when this process became the leader. Another process may have sent calls for these
 * machines. For each machine that is created later, this process knows every call.
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

  /**
   * Adds machines after the API server was restored from a backup. An earlier call for such a machine may be unknown to
   * every process.
   */
  takeAll(uids: Iterable<string>): void {
    for (const uid of uids) this.#uids.add(uid);
  }

  /** Records that this process is now the leader. Other processes then send no further calls. */
  lead(): void {
    this.#leads = true;
  }

  has(uid: string): boolean {
    return this.#uids.has(uid);
  }
}
