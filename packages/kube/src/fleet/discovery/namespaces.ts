import type { KubeClient } from '../../contract/client.ts';
import type { Informer } from '../../contract/informer.ts';
import { type KubeObject, makeKey } from '../../contract/objects.ts';
import { createInformer, type InformerRuntime } from '../../informer/create-informer.ts';
import { namespaces, type Secret, secrets } from '../../types/core.ts';
import type { Discovered, Discovery } from '../member.ts';

export interface NamespaceDiscoveryOptions {
  readonly seed: KubeClient;
  readonly selector: string;
  readonly secret: string;
  readonly runtime: InformerRuntime;
}

/** Label of the namespace of a cluster. */
const REGION = 'topology.kubernetes.io/region';
/** The key of the kubeconfig in the Secret. In Cluster API, the key of the kubeconfig is `value`. */
const KEYS = ['kubeconfig', 'value'] as const;

/**
 * Finds one cluster for each selected namespace of a seed. The Secret of the namespace contains the kubeconfig of the
 * target cluster. While the seed does not respond, the list of clusters stays unchanged.
 */
export function namespaceDiscovery({ seed, selector, secret, runtime }: NamespaceDiscoveryOptions): Discovery {
  return {
    source: `namespaces ${selector}`,
    run: async (found, signal) => {
      const selected = createInformer<KubeObject>(seed, namespaces, { ...runtime, labelSelector: selector });
      const fieldSelector = `metadata.name=${secret}`;
      const credentials = createInformer<Secret>(seed, secrets, { ...runtime, fieldSelector });
      const members = new Members(selected, credentials, secret, found);
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

class Members {
  readonly #selected: Informer<KubeObject>;
  readonly #credentials: Informer<Secret>;
  readonly #secret: string;
  readonly #found: Discovered;

  constructor(selected: Informer<KubeObject>, credentials: Informer<Secret>, secret: string, found: Discovered) {
    this.#selected = selected;
    this.#credentials = credentials;
    this.#secret = secret;
    this.#found = found;
  }

  /** Starts after both caches are complete, so that a Secret that was not listed yet does not count as absent. */
  start(): void {
    this.#selected.onChange(({ object }) => this.#look(object.metadata.name));
    this.#credentials.onChange(({ object }) => this.#look(object.metadata.namespace ?? ''));
  }

  #look(name: string): void {
    const namespace = this.#selected.store.get(makeKey(undefined, name));
    if (namespace === undefined) {
      this.#found.disengage(name);
      return;
    }
    const secret = this.#credentials.store.get(makeKey(name, this.#secret));
    const data = KEYS.map((key) => secret?.data?.[key]).find((value) => value !== undefined);
    if (secret !== undefined && data !== undefined) {
      const kubeconfig = Buffer.from(data, 'base64').toString('utf8');
      const source = `Secret ${name}/${this.#secret}`;
      const { labels } = namespace.metadata;
      const region = labels?.[REGION];
      this.#found.engage({
        name,
        namespace: name,
        kubeconfig,
        source,
        region,
        labels,
        folder: undefined,
        about: secret,
      });
      return;
    }
    // The machines of a terminating namespace still need their controllers, even if the Secret is already deleted.
    if (namespace.metadata.deletionTimestamp !== undefined) return;
    const missing =
      secret === undefined ? 'does not exist; create the Secret' : `has no key ${KEYS.join(' or ')}; add this key`;
    this.#found.refuse(name, `Secret ${name}/${this.#secret} ${missing} with the kubeconfig of the target cluster`);
  }
}
