import { errorText } from '../../base/error-text.ts';
import { pause } from '../../clock/clock.ts';
import type { KubeClient } from '../../contract/client.ts';
import { ignoreNotFound } from '../../contract/errors.ts';
import type { Informer } from '../../contract/informer.ts';
import { type KubeObject, makeKey } from '../../contract/objects.ts';
import { createInformer, type InformerRuntime } from '../../informer/create-informer.ts';
import { namespaces, type Secret, secrets } from '../../types/core.ts';
import { FleetAnnotations } from '../../types/fleet-annotations.ts';
import type { KeptSecret } from '../kept-secret.ts';
import type { Discovered, Discovery } from '../member.ts';

export interface NamespaceDiscoveryOptions {
  readonly seed: KubeClient;
  readonly selector: string;
  readonly secret: string;
  /** Maintains the finalizer of the Secrets. If the Secrets have no finalizer, `kept` is undefined. */
  readonly kept: KeptSecret | undefined;
  readonly runtime: InformerRuntime;
}

/** The label of a cluster's namespace that contains the region. */
const REGION = 'topology.kubernetes.io/region';
/** Delay after a failed read of a namespace. */
const RETRY_MS = 10_000;
/** The key of the kubeconfig in the Secret. In Cluster API, the key of the kubeconfig is `value`. */
const KEYS = ['kubeconfig', 'value'] as const;
/** The largest share of a cluster. */
const MOST_SHARE = 100;

/** Reads the share of a cluster. An invalid value counts as 1. */
function shareOf({ metadata }: KubeObject): number {
  const share = Number(metadata.annotations?.[FleetAnnotations.Share] ?? 1);
  return Number.isInteger(share) && share >= 1 && share <= MOST_SHARE ? share : 1;
}

/**
 * Finds one cluster for each selected namespace of a seed. The Secret of the namespace contains the kubeconfig of the
 * target cluster. While the seed does not respond, the list of clusters stays unchanged.
 */
export function namespaceDiscovery({ seed, selector, secret, kept, runtime }: NamespaceDiscoveryOptions): Discovery {
  return {
    source: `namespaces ${selector}`,
    run: async (found, signal) => {
      const selected = createInformer<KubeObject>(seed, namespaces, { ...runtime, labelSelector: selector });
      const fieldSelector = `metadata.name=${secret}`;
      const credentials = createInformer<Secret>(seed, secrets, { ...runtime, fieldSelector });
      const free = kept && new FreedSecrets(seed, kept, runtime, signal);
      const members = new Members(selected, credentials, secret, found, free);
      const running = [selected.run(signal), credentials.run(signal)];
      try {
        await Promise.all([selected.whenSynced(signal), credentials.whenSynced(signal)]);
        members.start();
      } catch (error) {
        if (!signal.aborted) throw error;
      }
      await Promise.all(running);
    },
  };
}

/** Removes the finalizer from Secrets that the fleet no longer needs. */
class FreedSecrets {
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
   * Frees a Secret that a user deletes to remove or replace the kubeconfig. The deletion of a namespace also deletes
   * its Secret. The cached namespace may be older than the cached Secret, so the method reads the namespace.
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

class Members {
  readonly #selected: Informer<KubeObject>;
  readonly #credentials: Informer<Secret>;
  readonly #secret: string;
  readonly #found: Discovered;
  readonly #free: FreedSecrets | undefined;
  /** Other fleets use the same finalizer, so this process frees only Secrets of clusters that it knows. */
  readonly #engaged = new Set<string>();

  constructor(
    selected: Informer<KubeObject>,
    credentials: Informer<Secret>,
    secret: string,
    found: Discovered,
    free: FreedSecrets | undefined,
  ) {
    this.#selected = selected;
    this.#credentials = credentials;
    this.#secret = secret;
    this.#found = found;
    this.#free = free;
  }

  /** Starts when both caches are complete. In an incomplete cache, an existing Secret would count as absent. */
  start(): void {
    this.#selected.onChange(({ object }) => this.#look(object.metadata.name));
    this.#credentials.onChange(({ object }) => this.#look(object.metadata.namespace ?? ''));
  }

  #look(name: string): void {
    const namespace = this.#selected.store.get(makeKey(undefined, name));
    const secret = this.#credentials.store.get(makeKey(name, this.#secret));
    if (namespace === undefined) {
      this.#found.disengage(name);
      if (this.#engaged.delete(name) && secret !== undefined) void this.#free?.now(secret);
      return;
    }
    const ends = namespace.metadata.deletionTimestamp !== undefined;
    // The machines of a terminating namespace must not wait for a process that may never start.
    const handedOver = ends ? undefined : namespace.metadata.annotations?.[FleetAnnotations.HandedOver];
    if (handedOver !== undefined) {
      this.#found.handOver(name, handedOver);
      if (this.#engaged.delete(name) && secret !== undefined) void this.#free?.now(secret);
      return;
    }
    if (!ends && secret?.metadata.deletionTimestamp !== undefined) void this.#free?.ifNamespaceStays(secret);
    const data = KEYS.map((key) => secret?.data?.[key]).find((value) => value !== undefined);
    if (secret !== undefined && data !== undefined) {
      const kubeconfig = Buffer.from(data, 'base64').toString('utf8');
      const source = `Secret ${name}/${this.#secret}`;
      const { labels } = namespace.metadata;
      const region = labels?.[REGION];
      this.#engaged.add(name);
      this.#found.engage({
        name,
        namespace: name,
        kubeconfig,
        source,
        region,
        labels,
        share: shareOf(namespace),
        folder: undefined,
        about: secret,
      });
    }
    if (ends) this.#found.deleting(name);
    // The machines of a terminating namespace still need their controllers, even if the Secret is already deleted.
    if (ends || data !== undefined) return;
    const missing =
      secret === undefined ? 'does not exist; create the Secret' : `has no key ${KEYS.join(' or ')}; add this key`;
    this.#found.refuse(name, `Secret ${name}/${this.#secret} ${missing} with the kubeconfig of the target cluster`);
  }
}
