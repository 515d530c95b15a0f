import { errorText } from '../base/error-text.ts';
import { type Clock, pause } from '../clock/clock.ts';
import type { KubeClient } from '../contract/client.ts';
import type { Logger } from '../contract/logger.ts';
import type { Meters } from '../metrics/meters.ts';
import { namespaces } from '../types/core.ts';
import { FleetAnnotations } from '../types/fleet-annotations.ts';

const MIB = 2 ** 20;
/**
 * A cluster is handed over only if its caches exceed the limit for this time. A short drain of a few Nodes therefore
 * does not move the cluster.
 */
const CONFIRM_MS = 30_000;
/** Delay after a failed write of the annotation. */
const RETRY_MS = 300_000;

/** The estimated size of all caches of one cluster. */
export class CacheSize {
  readonly #limitBytes: number;
  #bytes = 0;
  #onExcess: () => void = () => undefined;

  constructor(limitMiB: number) {
    this.#limitBytes = limitMiB * MIB;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get exceeds(): boolean {
    return this.#bytes > this.#limitBytes;
  }

  readonly changed = (changeBytes: number): void => {
    this.#bytes += changeBytes;
    if (this.exceeds) this.#onExcess();
  };

  /** Resolves when the size exceeds the limit, or when the signal aborts. */
  excess(signal: AbortSignal): Promise<void> {
    if (this.exceeds || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        signal.removeEventListener('abort', done);
        this.#onExcess = () => undefined;
        resolve();
      };
      this.#onExcess = done;
      signal.addEventListener('abort', done, { once: true });
    });
  }
}

/** Registers the metric of the caches of one cluster. */
export const registerCacheSize = (meters: Meters, { bytes }: { readonly bytes: () => number }): void =>
  meters.observed(
    {
      name: 'mcm_fleet_cache_bytes',
      help: 'Estimated size of all caches of a cluster, in bytes, with --fleet-cache-limit',
    },
    () => [{ value: bytes() }],
  );

export interface HandOverParts {
  readonly size: CacheSize;
  readonly limitMiB: number;
  /** The name of the program that hands the cluster over. */
  readonly program: string;
  /** The client of the seed. Each write of the client needs the Lease of the cluster. */
  readonly client: KubeClient;
  readonly namespace: string;
  /** Records an event about the cluster. The event needs no Lease, because the Lease may already be released. */
  readonly report: (reason: string, sentence: string) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Adds an annotation to the namespace of a cluster whose caches exceed the limit. All replicas of both programs read
 * the annotation. The replica that serves the cluster releases its Lease when it has read the annotation. If the
 * annotation cannot be written, the replica continues to serve the cluster, because the next replica would have equally
 * large caches.
 */
export async function handOverLarge(parts: HandOverParts, signal: AbortSignal): Promise<void> {
  const { size, limitMiB, program, namespace, report, clock, log } = parts;
  while (!signal.aborted) {
    await size.excess(signal);
    await pause(clock, CONFIRM_MS, signal);
    if (signal.aborted || !size.exceeds) continue;
    const reason = `the caches of ${program} have about ${Math.ceil(size.bytes / MIB)} MiB, and the limit is ${limitMiB} MiB (--fleet-cache-limit)`;
    try {
      if (!(await mark(parts, reason, signal))) return;
      log.warn('The fleet hands the cluster over to its own process', { namespace, reason });
      report(
        'FleetClusterHandedOver',
        `The fleet releases the cluster, because ${reason}. Run the machine-controller-manager and the machine controller of this cluster in their own pod`,
      );
      return;
    } catch (error) {
      if (signal.aborted) return;
      const because = errorText(error);
      log.warn('Cannot hand the cluster over to its own process; the fleet continues to serve the cluster', {
        namespace,
        reason,
        error: because,
      });
      report('FleetHandOverFailed', `The fleet cannot release the cluster although ${reason}: ${because}`);
      await pause(clock, RETRY_MS, signal);
    }
  }
}

/** Writes the annotation. Returns false if the namespace is being deleted, because its caches will become smaller. */
async function mark({ client, namespace }: HandOverParts, reason: string, signal: AbortSignal): Promise<boolean> {
  const resource = client.resource(namespaces);
  const { metadata } = await resource.get(namespace, { signal });
  if (metadata.deletionTimestamp !== undefined) return false;
  const body = { metadata: { uid: metadata.uid, annotations: { [FleetAnnotations.HandedOver]: reason } } };
  // The watch may deliver the annotation before the response arrives. The run then ends, and `signal` aborts.
  await resource.patch(namespace, { type: 'merge', body });
  return true;
}
