import type { KubeClient } from '../../contract/client.ts';
import { type KubeObject, makeKey } from '../../contract/objects.ts';
import { createInformer, type InformerRuntime } from '../../informer/create-informer.ts';
import { namespaces, type Secret, secrets } from '../../types/core.ts';
import type { KeptSecret } from '../kept-secret.ts';
import type { Discovery } from '../member.ts';
import { FreedSecrets } from './freed-secrets.ts';
import { SeedMembers } from './seed-members.ts';

export interface NamespaceDiscoveryOptions {
  readonly seed: KubeClient;
  readonly selector: string;
  readonly secret: string;
  readonly kept: KeptSecret | undefined;
  readonly runtime: InformerRuntime;
}

const KEYS = ['kubeconfig', 'value'] as const;

/**
 * The Secret of the namespace contains the kubeconfig of the target cluster. Finds one cluster for each selected
 * namespace of a seed. A Secret in the namespace contains the kubeconfig.
 */
export function namespaceDiscovery({ seed, selector, secret, kept, runtime }: NamespaceDiscoveryOptions): Discovery {
  return {
    source: `namespaces ${selector}`,
    run: async (found, signal) => {
      const selected = createInformer<KubeObject>(seed, namespaces, { ...runtime, labelSelector: selector });
      const fieldSelector = `metadata.name=${secret}`;
      const credentials = createInformer<Secret>(seed, secrets, { ...runtime, fieldSelector });
      const members = new SeedMembers(found, kept && new FreedSecrets(seed, kept, runtime, signal));
      const look = (name: string): void => {
        const namespace = selected.store.get(makeKey(undefined, name));
        const kubeconfig = credentials.store.get(makeKey(name, secret));
        if (namespace === undefined) members.leaves(name, kubeconfig);
        else members.look({ namespace, labelled: namespace, secretName: secret, secret: kubeconfig, keys: KEYS });
      };
      const running = [selected.run(signal), credentials.run(signal)];
      try {
        await Promise.all([selected.whenSynced(signal), credentials.whenSynced(signal)]);
        selected.onChange(({ object }) => look(object.metadata.name));
        credentials.onChange(({ object }) => look(object.metadata.namespace ?? ''));
      } catch (error) {
        if (!signal.aborted) throw error;
      }
      await Promise.all(running);
    },
  };
}
