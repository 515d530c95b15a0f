import type { ControllerConfig } from '../kinds/controller-config.ts';
import { cloudProviderOf, platformOf } from './platform.ts';

/** Template variables that do not come from the ControllerConfig. */
export interface TemplateInputs {
  readonly pullSecret?: string | undefined;
  readonly tlsMinVersion: string;
  readonly tlsCipherSuites: readonly string[];
  /** The settings of the container runtime for templates, or undefined for their defaults. */
  readonly containerRuntime?: RuntimeSettings;
}

/** The variable `containerRuntime` of templates. */
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
