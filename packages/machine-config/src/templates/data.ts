import type { ControllerConfig } from '../kinds/controller-config.ts';
import { cloudProviderOf, platformOf } from './platform.ts';

/** Variables of templates in addition to the ControllerConfig. */
export interface TemplateInputs {
  /** The pull secret as compact JSON. */
  readonly pullSecret?: string | undefined;
  /** The minimum TLS version in the kubelet's spelling, such as `VersionTLS12`. */
  readonly tlsMinVersion: string;
  readonly tlsCipherSuites: readonly string[];
  /** If `containerRuntime` is absent, the templates have their defaults. */
  readonly containerRuntime?: RuntimeSettings;
}

/**
 * The variable `containerRuntime` for templates of container runtimes. Absent values of the settings are empty, or 0.
 */
export interface RuntimeSettings {
  readonly logLevel?: string;
  readonly defaultRuntime?: string;
  readonly pidsLimit?: number;
  readonly logSizeMax?: string | number;
  readonly overlaySize?: string | number;
}

const NO_RUNTIME_SETTINGS = { logLevel: '', defaultRuntime: '', pidsLimit: 0, logSizeMax: '', overlaySize: '' };

/** Paths on a node that templates and controllers use. */
export const TEMPLATE_CONSTANTS = { apiServerURLFile: '/etc/kubernetes/apiserver-url.env' } as const;

/** Fields that a template may use even if the ControllerConfig does not set them. */
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

/** Returns every field of the ControllerConfig's spec by its name, and the additional inputs. */
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
