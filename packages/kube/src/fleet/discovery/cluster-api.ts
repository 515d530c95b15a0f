import type { KubeClient } from '../../contract/client.ts';
import type { Informer } from '../../contract/informer.ts';
import { type KubeObject, makeKey, type ResourceDefinition } from '../../contract/objects.ts';
import { createInformer, type InformerRuntime } from '../../informer/create-informer.ts';
import { namespaces, type Secret, secrets } from '../../types/core.ts';
import type { KeptSecret } from '../kept-secret.ts';
import type { Discovery } from '../member.ts';
import { FreedSecrets } from './freed-secrets.ts';
import { SeedMembers } from './seed-members.ts';
import { servedKind } from './served-kind.ts';
import {
  CLUSTER_API_CLUSTERS,
  CLUSTER_API_KEY,
  type ClusterApiCluster as Cluster,
  clusterApiSecretOf,
  isPausedCluster,
} from './source-kinds.ts';

export interface ClusterApiOptions {
  readonly seed: KubeClient;
  readonly selector: string;
  readonly kept: KeptSecret | undefined;
  readonly runtime: InformerRuntime;
}

const KEYS = [CLUSTER_API_KEY] as const;
const BY_NAMESPACE = 'namespace';

const projectCluster = ({ apiVersion, kind, metadata, spec }: Cluster): Cluster => ({
  apiVersion,
  kind,
  metadata,
  spec: { paused: spec?.paused === true },
});

/**
 * Finds one cluster for each selected Cluster of Cluster API. The Secret `NAME-kubeconfig` contains the kubeconfig, and
 * the machine objects are in the namespace of the Cluster. While the seed does not respond, the list of clusters stays
 * unchanged.
 */
export function clusterApiDiscovery(options: ClusterApiOptions): Discovery {
  return {
    source: `Clusters ${options.selector}`,
    run: async (found, signal) => {
      const { seed, kept, runtime, selector } = options;
      const definition = await servedKind<Cluster>(seed, CLUSTER_API_CLUSTERS, runtime, signal);
      if (definition === undefined) return;
      const members = new SeedMembers(found, kept && new FreedSecrets(seed, kept, runtime, signal));
      await new Clusters({ seed, selector, runtime, definition, members, signal }).run();
    },
  };
}

interface ClustersParts extends Pick<ClusterApiOptions, 'seed' | 'selector' | 'runtime'> {
  readonly definition: ResourceDefinition<Cluster>;
  readonly members: SeedMembers;
  readonly signal: AbortSignal;
}

class Clusters {
  readonly #p: ClustersParts;
  readonly #clusters: Informer<Cluster>;
  readonly #namespaces: Informer<KubeObject>;
  readonly #secrets: ClusterSecrets;
  readonly #served = new Map<string, Cluster>();

  constructor(parts: ClustersParts) {
    const { seed, runtime, definition, selector, signal } = parts;
    this.#p = parts;
    this.#clusters = createInformer<Cluster>(seed, definition, {
      ...runtime,
      labelSelector: selector,
      project: projectCluster,
      indexes: { [BY_NAMESPACE]: ({ metadata }) => [metadata.namespace ?? ''] },
    });
    this.#namespaces = createInformer<KubeObject>(seed, namespaces, runtime);
    this.#secrets = new ClusterSecrets(seed, runtime, signal, (namespace) => this.#look(namespace));
  }

  async run(): Promise<void> {
    const { signal } = this.#p;
    const running = [this.#clusters.run(signal), this.#namespaces.run(signal)];
    try {
      await Promise.all([this.#clusters.whenSynced(signal), this.#namespaces.whenSynced(signal)]);
      this.#clusters.onChange(({ object }) => this.#look(object.metadata.namespace ?? ''));
      this.#namespaces.onChange(({ object }) => this.#look(object.metadata.name));
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    await Promise.all(running);
    await this.#secrets.ended();
  }

  #look(name: string): void {
    const { members } = this.#p;
    const namespace = this.#namespaces.store.get(makeKey(undefined, name));
    const [cluster, ...more] = this.#selected(name, namespace);
    if (namespace === undefined || cluster === undefined) {
      this.#served.delete(name);
      members.leaves(name, this.#secrets.stop(name));
      return;
    }
    if (more.length > 0) {
      const names = [cluster, ...more].map(({ metadata }) => metadata.name).sort();
      const problem = `namespace ${name} contains the Clusters ${names.join(', ')}; select only one Cluster in each namespace`;
      members.refuse(name, problem);
      return;
    }
    this.#served.set(name, cluster);
    const secretName = clusterApiSecretOf(cluster);
    const known = this.#secrets.watch(name, secretName);
    if (known.synced) {
      const secret = known.store.get(makeKey(name, secretName));
      members.look({ namespace, labelled: cluster, secretName, secret, keys: KEYS });
    } else if (known.refused !== undefined)
      members.refuse(name, `Secret ${name}/${secretName} cannot be read: ${known.refused.message}`);
  }

  /** The machines of a terminating namespace may exist longer than the Cluster, and need their controllers. */
  #selected(name: string, namespace: KubeObject | undefined): readonly Cluster[] {
    const existing = this.#clusters.store.byIndex(BY_NAMESPACE, name);
    const last = this.#served.get(name);
    if (existing.length === 0 && last !== undefined && namespace?.metadata.deletionTimestamp !== undefined)
      return [last];
    return existing.filter((cluster) => !isPausedCluster(cluster));
  }
}

interface Watched {
  readonly secretName: string;
  readonly informer: Informer<Secret>;
  readonly end: AbortController;
}

/**
 * The kubeconfig Secrets of the Clusters. Each Secret has its own watch, so that mcm does not read other Secrets of
 * Cluster API, which contain private keys.
 */
class ClusterSecrets {
  readonly #seed: KubeClient;
  readonly #runtime: InformerRuntime;
  readonly #signal: AbortSignal;
  readonly #changed: (namespace: string) => void;
  readonly #watched = new Map<string, Watched>();
  readonly #running = new Set<Promise<void>>();

  constructor(seed: KubeClient, runtime: InformerRuntime, signal: AbortSignal, changed: (namespace: string) => void) {
    this.#seed = seed;
    this.#runtime = runtime;
    this.#signal = signal;
    this.#changed = changed;
  }

  watch(namespace: string, secretName: string): Informer<Secret> {
    const known = this.#watched.get(namespace);
    if (known?.secretName === secretName) return known.informer;
    this.stop(namespace);
    const end = new AbortController();
    const signal = AbortSignal.any([this.#signal, end.signal]);
    const fieldSelector = `metadata.name=${secretName}`;
    const informer = createInformer<Secret>(this.#seed, secrets, { ...this.#runtime, namespace, fieldSelector });
    this.#watched.set(namespace, { secretName, informer, end });
    const changed = (): void => {
      if (!signal.aborted) this.#changed(namespace);
    };
    informer.onRefused(changed);
    informer.onChange(changed);
    const running = Promise.all([informer.run(signal), informer.whenSynced(signal).then(changed, () => undefined)]);
    const ended = running.then(() => {
      this.#running.delete(ended);
    });
    this.#running.add(ended);
    return informer;
  }

  stop(namespace: string): Secret | undefined {
    const known = this.#watched.get(namespace);
    if (known === undefined) return undefined;
    this.#watched.delete(namespace);
    known.end.abort();
    return known.informer.store.get(makeKey(namespace, known.secretName));
  }

  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }
}
