import type { Informer, KubeObject, ResourceDefinition } from '@mcm/kube';
import type { TlsProfile } from '../config/tls.ts';

/** What the cluster says about its kubelets. */
export interface ClusterSettings {
  /** Known gates with their values. */
  readonly featureGates: Readonly<Record<string, boolean>>;
  readonly tlsProfile?: TlsProfile | null;
  /** How patiently the cluster looks at its workers. */
  readonly latencyProfile?: string;
}

/** Where the settings of the cluster that concern kubelets come from, and who is told when they change. */
export interface ClusterSettingsSource {
  get(): ClusterSettings;
  onChange(listener: () => void): void;
}

/** Settings that stay as they are. */
export const fixedSettings = (settings: ClusterSettings): ClusterSettingsSource => ({
  get: () => settings,
  onChange: () => undefined,
});

/** The cluster's API server, as clusters that have the kind tell its TLS profile. There is one, named `cluster`. */
export interface ApiServerConfig extends KubeObject {
  readonly spec?: { readonly tlsSecurityProfile?: TlsProfile | null };
}

/** How it is reached. */
export const apiServerConfigs: ResourceDefinition<ApiServerConfig> = {
  ...{ group: 'config.openshift.io', version: 'v1', plural: 'apiservers', kind: 'APIServer', namespaced: false },
};

/** Settings whose TLS profile is the watched API server's. */
export function watchedSettings(base: ClusterSettings, servers: Informer<ApiServerConfig>): ClusterSettingsSource {
  const profile = () => servers.store.get('cluster')?.spec?.tlsSecurityProfile;
  return {
    get: () => {
      const tlsProfile = profile() ?? base.tlsProfile;
      return { ...base, ...(tlsProfile && { tlsProfile }) };
    },
    onChange: (listener) => {
      servers.onChange(() => listener());
    },
  };
}
