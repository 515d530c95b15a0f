import type { Machine } from '@mcm/api';
import type { Informer } from '@mcm/kube';

export class InheritedMachines {
  readonly #uids = new Set<string>();
  #leads = false;

  constructor(machines: Pick<Informer<Machine>, 'onChange' | 'synced'>) {
    machines.onChange(({ type, object: { metadata } }) => {
      if (type === 'deleted') this.#uids.delete(metadata.uid);
      else if (type === 'added' && !(this.#leads && machines.synced)) this.#uids.add(metadata.uid);
    });
  }

  /** After a restore of the API server, no process knows the earlier driver calls for machines from the backup. */
  takeAll(uids: Iterable<string>): void {
    for (const uid of uids) this.#uids.add(uid);
  }

  lead(): void {
    this.#leads = true;
  }

  has(uid: string): boolean {
    return this.#uids.has(uid);
  }
}
