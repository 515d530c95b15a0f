import { errorText } from '../../base/error-text.ts';
import { pause } from '../../clock/clock.ts';
import type { KubeClient } from '../../contract/client.ts';
import { ignoreNotFound } from '../../contract/errors.ts';
import type { InformerRuntime } from '../../informer/create-informer.ts';
import { namespaces, type Secret } from '../../types/core.ts';
import type { KeptSecret } from '../kept-secret.ts';

const RETRY_MS = 10_000;

/** Removes the finalizer from Secrets that the fleet no longer needs. */
export class FreedSecrets {
  readonly #seed: KubeClient;
  readonly #kept: KeptSecret;
  readonly #runtime: InformerRuntime;
  readonly #signal: AbortSignal;
  readonly #checked = new Set<string>();

  constructor(seed: KubeClient, kept: KeptSecret, runtime: InformerRuntime, signal: AbortSignal) {
    this.#seed = seed;
    this.#kept = kept;
    this.#runtime = runtime;
    this.#signal = signal;
  }

  async now(secret: Secret): Promise<void> {
    if (this.#kept.isKept(secret)) await this.#kept.free(this.#seed, secret);
  }

  /**
   * The cached namespace may be older than the cached Secret, so the method reads the namespace from the API server.
   */
  async ifNamespaceStays(secret: Secret): Promise<void> {
    const { namespace = '', uid } = secret.metadata;
    if (!this.#kept.isKept(secret) || this.#checked.has(uid)) return;
    this.#checked.add(uid);
    const { clock, log } = this.#runtime;
    while (!this.#signal.aborted) {
      try {
        const found = await ignoreNotFound(this.#seed.resource(namespaces).get(namespace, { signal: this.#signal }));
        if (found !== undefined && found.metadata.deletionTimestamp === undefined) await this.now(secret);
        return;
      } catch (error) {
        log.warn('Cannot read the namespace of a deleted kubeconfig Secret', { namespace, error: errorText(error) });
      }
      await pause(clock, RETRY_MS, this.#signal);
    }
  }
}
