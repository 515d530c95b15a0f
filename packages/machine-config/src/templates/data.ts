import type { ControllerConfig } from '../kinds/controller-config.ts';
import { cloudProviderOf, platformOf } from './platform.ts';

/** What templates are filled with besides the ControllerConfig. */
export interface TemplateInputs {
  /** The pull secret as compact JSON; absent: there is none. */
  readonly pullSecret?: string;
  /** As the kubelet spells it: `VersionTLS12`. */
  readonly tlsMinVersion: string;
  readonly tlsCipherSuites: readonly string[];
  /** Settings of container runtimes by a ContainerRuntimeConfig; absent: the templates' own. */
  readonly containerRuntime?: RuntimeSettings;
}

/** What templates of container runtimes are filled with as `containerRuntime`; what is not set is empty, or 0. */
export interface RuntimeSettings {
  readonly logLevel?: string;
  readonly defaultRuntime?: string;
  readonly pidsLimit?: number;
  readonly logSizeMax?: string | number;
  readonly overlaySize?: string | number;
}

const NO_RUNTIME_SETTINGS = { logLevel: '', defaultRuntime: '', pidsLimit: 0, logSizeMax: '', overlaySize: '' };

/** Places that both templates and controllers know. */
export const TEMPLATE_CONSTANTS = { apiServerURLFile: '/etc/kubernetes/apiserver-url.env' } as const;

/** Fields that a template may ask for although the ControllerConfig does not set them. */
const DEFAULTS = {
  ...{ clusterDNSIP: '', clusterDomain: 'cluster.local', apiServerURL: '', images: {}, parameters: {} },
  ...{ rootCAData: '', kubeAPIServerServingCAData: '', additionalTrustBundle: '', cloudProviderConfig: '' },
  ...{ releaseImage: '', networkType: '', ipFamilies: '', osImageURL: '', baseOSContainerImage: '' },
};

/** The variables of templates: every field of the ControllerConfig's spec by its name, and what is given besides. */
export function templateData(config: ControllerConfig, inputs: TemplateInputs): object {
  const platform = platformOf(config);
  const spec = Object.fromEntries(Object.entries(config.spec ?? {}).filter(([, value]) => value !== null));
  return {
    ...DEFAULTS,
    ...spec,
    pullSecret: inputs.pullSecret ?? '',
    tlsMinVersion: inputs.tlsMinVersion,
    tlsCipherSuites: inputs.tlsCipherSuites,
    containerRuntime: { ...NO_RUNTIME_SETTINGS, ...inputs.containerRuntime },
    constants: TEMPLATE_CONSTANTS,
    platform: platform.name,
    cloudProvider: cloudProviderOf(platform),
  };
}
