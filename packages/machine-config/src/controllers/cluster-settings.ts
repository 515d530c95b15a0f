import type { Informer, KubeObject, ResourceDefinition } from '@mcm/kube';
import { withoutUndefined } from '@mcm/kube';
import type { TlsProfile } from '../config/tls.ts';

/** Settings of the cluster that affect its kubelets. */
export interface ClusterSettings {
  readonly featureGates: Readonly<Record<string, boolean>>;
  readonly tlsProfile?: TlsProfile | null | undefined;
  readonly latencyProfile?: string | undefined;
}

/** A source of cluster settings, which calls a function after each change. */
export interface ClusterSettingsSource {
  get(): ClusterSettings;
  onChange(listener: () => void): void;
}

/** Returns a source of settings that never change. */
export const fixedSettings = (settings: ClusterSettings): ClusterSettingsSource => ({
  get: () => settings,
  onChange: () => undefined,
});

/** The APIServer object of OpenShift, which contains the TLS profile of the cluster. */
export interface ApiServerConfig extends KubeObject {
  readonly spec?: { readonly tlsSecurityProfile?: TlsProfile | null };
}

/** The resource of {@link ApiServerConfig}. */
export const apiServerConfigs: ResourceDefinition<ApiServerConfig> = {
  group: 'config.openshift.io',
  version: 'v1',
  plural: 'apiservers',
  kind: 'APIServer',
  namespaced: false,
};

/** Returns cluster settings with the TLS profile in the watched APIServer object. */
export function watchedSettings(base: ClusterSettings, servers: Informer<ApiServerConfig>): ClusterSettingsSource {
  const profile = () => servers.store.get('cluster')?.spec?.tlsSecurityProfile;
  return {
    get: () => {
      const tlsProfile = profile() ?? base.tlsProfile;
      return { ...base, ...withoutUndefined({ tlsProfile: tlsProfile ?? undefined }) };
    },
    onChange: (listener) => {
      servers.onChange(() => listener());
    },
  };
}
