import type { KubeClient } from '../../contract/client.ts';
import type { Informer } from '../../contract/informer.ts';
import { type KubeObject, makeKey } from '../../contract/objects.ts';
import { createInformer, type InformerRuntime } from '../../informer/create-informer.ts';
import { type Secret, secrets } from '../../types/core.ts';
import { FleetSourceLabels } from '../../types/fleet-source-keys.ts';
import type { Discovered, Discovery } from '../member.ts';
import { servedKind } from './served-kind.ts';
import { CLUSTER_PROFILES, CLUSTER_PROFILE_KEY as KEY } from './source-kinds.ts';

export interface ClusterProfileOptions {
  readonly hub: KubeClient;
  readonly namespace: string;
  readonly selector: string;
  readonly runtime: InformerRuntime;
}

const PROFILE = FleetSourceLabels.Profile;
const REGION = 'topology.kubernetes.io/region';
const BY_PROFILE = 'profile';

const projectProfile = ({ apiVersion, kind, metadata }: KubeObject): KubeObject => ({ apiVersion, kind, metadata });

/**
 * Finds one cluster for each selected ClusterProfile. A Secret with the label of the profile contains the kubeconfig,
 * and the cluster itself contains the machine objects.
 */
export function clusterProfileDiscovery({ hub, namespace, selector, runtime }: ClusterProfileOptions): Discovery {
  return {
    source: `ClusterProfiles ${selector}`,
    run: async (found, signal) => {
      const definition = await servedKind<KubeObject>(hub, CLUSTER_PROFILES, runtime, signal);
      if (definition === undefined) return;
      const profiles = createInformer<KubeObject>(hub, definition, {
        ...runtime,
        namespace,
        labelSelector: selector,
        project: projectProfile,
      });
      const credentials = createInformer<Secret>(hub, secrets, {
        ...runtime,
        namespace,
        labelSelector: PROFILE,
        indexes: { [BY_PROFILE]: ({ metadata }) => [metadata.labels?.[PROFILE] ?? ''] },
      });
      const look = (name: string): void => lookAt(name, namespace, profiles, credentials, found);
      const running = [profiles.run(signal), credentials.run(signal)];
      try {
        await Promise.all([profiles.whenSynced(signal), credentials.whenSynced(signal)]);
        profiles.onChange(({ object }) => look(object.metadata.name));
        credentials.onChange((change) => {
          look(change.object.metadata.labels?.[PROFILE] ?? '');
          if (change.type === 'updated') look(change.old.metadata.labels?.[PROFILE] ?? '');
        });
      } catch (error) {
        if (!signal.aborted) throw error;
      }
      await Promise.all(running);
    },
  };
}

function lookAt(
  name: string,
  namespace: string,
  profiles: Informer<KubeObject>,
  credentials: Informer<Secret>,
  found: Discovered,
): void {
  const profile = profiles.store.get(makeKey(namespace, name));
  if (profile === undefined) {
    found.disengage(name);
    return;
  }
  const [secret, ...more] = credentials.store.byIndex(BY_PROFILE, name);
  const data = secret?.data?.[KEY];
  if (secret === undefined || more.length > 0 || data === undefined) {
    found.refuse(name, problemOf(name, namespace, secret, more));
    return;
  }
  const { labels } = profile.metadata;
  found.engage({
    name,
    namespace: undefined,
    kubeconfig: Buffer.from(data, 'base64').toString('utf8'),
    source: `Secret ${namespace}/${secret.metadata.name}`,
    region: labels?.[REGION],
    labels,
    folder: undefined,
    about: profile,
  });
}

function problemOf(name: string, namespace: string, secret: Secret | undefined, more: readonly Secret[]): string {
  const label = `${PROFILE}=${name}`;
  if (secret === undefined)
    return `ClusterProfile ${namespace}/${name} has no Secret; create a Secret with the label ${label}, and the kubeconfig under the key ${KEY}`;
  if (more.length === 0)
    return `Secret ${namespace}/${secret.metadata.name} has no key ${KEY}; add this key with the kubeconfig of the cluster`;
  const names = [secret, ...more].map(({ metadata }) => metadata.name).sort();
  return `the Secrets ${names.join(', ')} of namespace ${namespace} have the label ${label}; keep only one of these Secrets`;
}
