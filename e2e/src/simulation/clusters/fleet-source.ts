import {
  ignoreNotFound,
  type KubeClient,
  type KubeObject,
  namespaces,
  type ResourceDefinition,
  secrets,
} from '@mcm/kube';
import { kubeconfigOf } from './wires.ts';

/** How the fleet of a history finds its clusters. */
export type SourceName = 'namespaces' | 'clusters' | 'profiles';

const kindOf = (group: string, version: string, plural: string, kind: string) =>
  ({ group, version, plural, kind, namespaced: true }) satisfies ResourceDefinition<KubeObject>;
const CLUSTERS = kindOf('cluster.x-k8s.io', 'v1beta2', 'clusters', 'Cluster');
const PROFILES = kindOf('multicluster.x-k8s.io', 'v1alpha1', 'clusterprofiles', 'ClusterProfile');

/** The CRDs of the kinds with which a fleet finds its clusters. */
export const SOURCE_CRDS: readonly object[] = [CLUSTERS, PROFILES].map(({ group, version, plural, kind }) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}));

/** Cluster API deletes a Cluster only after its infrastructure. */
const CLUSTER_FINALIZER = 'cluster.cluster.x-k8s.io';
/** The Cluster in the namespace of each cluster. The fleet refuses a second Cluster in the namespace. */
const NAME = 'main';
const SECOND = 'second';

/** Creates and changes the objects with which the fleet finds its clusters. */
export class FleetSource {
  readonly name: SourceName;
  readonly #admin: KubeClient;
  /** The namespace of ClusterProfiles. */
  readonly #home: string;
  readonly #labels = new Map<string, Readonly<Record<string, string>>>();

  constructor(name: SourceName, admin: KubeClient, home: string) {
    this.name = name;
    this.#admin = admin;
    this.#home = home;
  }

  get flag(): string {
    if (this.name === 'clusters') return '--fleet-clusters=fleet=yes';
    return this.name === 'profiles' ? '--fleet-cluster-profiles=fleet=yes' : '--fleet-namespaces=fleet=yes';
  }

  /** Creates the objects that make a cluster a part of the fleet. */
  async furnish(cluster: string, labels: Readonly<Record<string, string>>): Promise<void> {
    const own = this.name === 'namespaces' ? { name: cluster, labels } : { name: cluster };
    await this.#admin.resource(namespaces).create({ metadata: own });
    const { namespace, secret, key, secretLabels } = this.#secretOf(cluster);
    await this.#admin
      .resource(secrets, namespace)
      .create({ metadata: { name: secret, labels: secretLabels }, stringData: { [key]: kubeconfigOf(cluster) } });
    this.#labels.set(cluster, labels);
    await this.#create(cluster);
  }

  async #create(cluster: string): Promise<void> {
    const labels = this.#labels.get(cluster) ?? {};
    if (this.name === 'clusters')
      await this.#admin.resource(CLUSTERS, cluster).create({
        metadata: { name: NAME, namespace: cluster, labels, finalizers: [CLUSTER_FINALIZER] },
      });
    if (this.name === 'profiles')
      await this.#admin
        .resource(PROFILES, this.#home)
        .create({ metadata: { name: cluster, namespace: this.#home, labels } });
  }

  #secretOf(cluster: string) {
    if (this.name === 'clusters')
      return { namespace: cluster, secret: `${NAME}-kubeconfig`, key: 'value', secretLabels: {} };
    if (this.name === 'profiles')
      return {
        namespace: this.#home,
        secret: cluster,
        key: 'Config',
        secretLabels: { 'x-k8s.io/cluster-profile': cluster },
      };
    return { namespace: cluster, secret: 'fleet-kubeconfig', key: 'kubeconfig', secretLabels: {} };
  }

  async changeKubeconfig(cluster: string, kubeconfig: string): Promise<void> {
    const { namespace, secret, key } = this.#secretOf(cluster);
    const body = { stringData: { [key]: kubeconfig } };
    await this.#admin.resource(secrets, namespace).patch(secret, { type: 'merge', body });
  }

  async #patch(cluster: string, body: object): Promise<void> {
    const patch = { type: 'merge', body } as const;
    if (this.name === 'clusters') await this.#admin.resource(CLUSTERS, cluster).patch(NAME, patch);
    else if (this.name === 'profiles') await this.#admin.resource(PROFILES, this.#home).patch(cluster, patch);
    else await this.#admin.resource(namespaces).patch(cluster, patch);
  }

  /** Adds the selected label of a cluster, or removes the label. */
  async join(cluster: string, joins: boolean): Promise<void> {
    await this.#patch(cluster, { metadata: { labels: { fleet: joins ? 'yes' : null } } });
  }

  /** Deletes the object that defines the cluster, or creates the object again. The machines of the cluster stay. */
  async exists(cluster: string, exists: boolean): Promise<void> {
    if (exists) return this.#create(cluster);
    if (this.name === 'profiles') await this.#admin.resource(PROFILES, this.#home).delete(cluster);
    else {
      await this.#admin.resource(CLUSTERS, cluster).delete(NAME);
      await this.release(cluster);
    }
  }

  /** Pauses a Cluster with its field or with its annotation, or ends the pause. */
  async pause(cluster: string, how: 'field' | 'annotation' | undefined): Promise<void> {
    const annotations = { 'cluster.x-k8s.io/paused': how === 'annotation' ? '' : null };
    await this.#patch(cluster, { metadata: { annotations }, spec: { paused: how === 'field' ? true : null } });
  }

  /** Creates a second Cluster in the namespace of a cluster, or deletes the second Cluster. */
  async second(cluster: string, exists: boolean): Promise<void> {
    const all = this.#admin.resource(CLUSTERS, cluster);
    if (exists) await all.create({ metadata: { name: SECOND, namespace: cluster, labels: { fleet: 'yes' } } });
    else await ignoreNotFound(all.delete(SECOND));
  }

  /** Returns true if the Secret with the kubeconfig of a cluster has a finalizer. */
  async isKept(cluster: string): Promise<boolean> {
    const { namespace, secret } = this.#secretOf(cluster);
    const found = await ignoreNotFound(this.#admin.resource(secrets, namespace).get(secret));
    return (found?.metadata.finalizers ?? []).length > 0;
  }

  /** Ends the deletion of a Cluster, as Cluster API does. */
  async release(cluster: string): Promise<void> {
    if (this.name !== 'clusters') return;
    const body = { metadata: { finalizers: null } };
    await ignoreNotFound(this.#admin.resource(CLUSTERS, cluster).patch(NAME, { type: 'merge', body }));
  }
}
