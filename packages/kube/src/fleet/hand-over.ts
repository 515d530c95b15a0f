import { errorText } from '../base/error-text.ts';
import { type Clock, pause } from '../clock/clock.ts';
import type { KubeClient } from '../contract/client.ts';
import type { Logger } from '../contract/logger.ts';
import type { Meters } from '../metrics/meters.ts';
import { namespaces } from '../types/core.ts';
import { FleetAnnotations } from '../types/fleet-annotations.ts';

const MIB = 2 ** 20;
/**
 * The fleet hands a cluster over only if its caches exceed the limit for this time, so a short drain causes no
 * hand-over.
 */
const CONFIRM_MS = 30_000;
const RETRY_MS = 300_000;

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
  readonly program: string;
  readonly client: KubeClient;
  readonly namespace: string;
  readonly report: (reason: string, sentence: string) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Adds an annotation to the namespace of a cluster whose caches exceed the limit. If the replica cannot write the
 * annotation, the replica continues to serve the cluster.
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

async function mark({ client, namespace }: HandOverParts, reason: string, signal: AbortSignal): Promise<boolean> {
  const resource = client.resource(namespaces);
  const { metadata } = await resource.get(namespace, { signal });
  if (metadata.deletionTimestamp !== undefined) return false;
  const body = { metadata: { uid: metadata.uid, annotations: { [FleetAnnotations.HandedOver]: reason } } };
  await resource.patch(namespace, { type: 'merge', body });
  return true;
}
