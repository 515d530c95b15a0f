import type { ControllerConfig } from '../kinds/controller-config.ts';
import { cloudProviderOf, platformOf } from './platform.ts';

/** What templates are filled with besides the ControllerConfig. */
export interface TemplateInputs {
  /** The pull secret as compact JSON; absent: there is none. */
  readonly pullSecret?: string;
  /** As the kubelet spells it: `VersionTLS12`. */
  readonly tlsMinVersion: string;
  readonly tlsCipherSuites: readonly string[];
}

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
    constants: TEMPLATE_CONSTANTS,
    platform: platform.name,
    cloudProvider: cloudProviderOf(platform),
  };
}
