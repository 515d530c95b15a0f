import type { ControllerConfig } from '../kinds/controller-config.ts';
import { cloudProviderOf, platformOf } from './platform.ts';

/** The variables of templates that do not come from the ControllerConfig. */
export interface TemplateInputs {
  /** The pull secret as compact JSON. */
  readonly pullSecret?: string | undefined;
  /** The minimum TLS version with the name that the kubelet uses, such as `VersionTLS12`. */
  readonly tlsMinVersion: string;
  readonly tlsCipherSuites: readonly string[];
  /** The settings of the container runtime. Without `containerRuntime`, the templates use their defaults. */
  readonly containerRuntime?: RuntimeSettings;
}

/** The variable `containerRuntime` of templates. An absent setting is an empty text or 0. */
export interface RuntimeSettings {
  readonly logLevel?: string;
  readonly defaultRuntime?: string;
  readonly pidsLimit?: number;
  readonly logSizeMax?: string | number;
  readonly overlaySize?: string | number;
}

const NO_RUNTIME_SETTINGS = { logLevel: '', defaultRuntime: '', pidsLimit: 0, logSizeMax: '', overlaySize: '' };

/** Constants for templates, such as paths on a node. */
export const TEMPLATE_CONSTANTS = { apiServerURLFile: '/etc/kubernetes/apiserver-url.env' } as const;

/** Fields that a template may use although the ControllerConfig does not set them. */
const DEFAULTS = {
  clusterDNSIP: '',
  clusterDomain: 'cluster.local',
  apiServerURL: '',
  images: {},
  parameters: {},
  rootCAData: '',
  kubeAPIServerServingCAData: '',
  additionalTrustBundle: '',
  cloudProviderConfig: '',
  releaseImage: '',
  networkType: '',
  ipFamilies: '',
  osImageURL: '',
  baseOSContainerImage: '',
};

/**
 * Returns the variables of templates: every field of the ControllerConfig's spec by its name, and the additional
 * inputs.
 */
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
