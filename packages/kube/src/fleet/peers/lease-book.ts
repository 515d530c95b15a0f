import type { Clock } from '../../clock/clock.ts';
import type { KubeClient } from '../../contract/client.ts';
import { readRecord } from '../../election/record.ts';
import type { ObservedLease } from '../../election/settings.ts';
import { createInformer, type InformerRuntime } from '../../informer/create-informer.ts';
import { type Lease, leases } from '../../types/groups.ts';

/**
 * Watches the Leases of all clusters of a seed. Without the permission to watch Leases, the replica waits for a
 * complete lease duration before it takes over a cluster.
 */
export class LeaseBook {
  readonly #clock: Clock;
  readonly #known = new Map<string, ObservedLease>();
  readonly #ends = new Map<string, number>();
  readonly #run: (signal: AbortSignal) => Promise<void>;

  constructor(seed: KubeClient, name: string, runtime: InformerRuntime) {
    this.#clock = runtime.clock;
    const informer = createInformer<Lease>(seed, leases, { ...runtime, fieldSelector: `metadata.name=${name}` });
    informer.onChange(({ type, object }) => {
      const namespace = object.metadata.namespace ?? '';
      if (type === 'deleted') {
        this.#known.delete(namespace);
        this.#ends.delete(namespace);
      } else this.#note(namespace, object);
    });
    this.#run = (signal) => informer.run(signal);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#run(signal);
  }

  of(namespace: string): ObservedLease | undefined {
    return this.#known.get(namespace);
  }

  /**
   * Returns the monotonic time at which a Lease expires if it is not renewed, or undefined if the Lease does not exist.
   */
  endsAt(namespace: string): number | undefined {
    return this.#ends.get(namespace);
  }

  #note(namespace: string, lease: Lease): void {
    const spec = JSON.stringify(lease.spec);
    if (this.#known.get(namespace)?.spec === spec) return;
    const { holder, leaseDurationSeconds } = readRecord(lease);
    const atMs = this.#clock.monotonic();
    this.#known.set(namespace, { spec, holder, atMs });
    this.#ends.set(namespace, holder === '' ? atMs : atMs + leaseDurationSeconds * 1000);
  }
}
