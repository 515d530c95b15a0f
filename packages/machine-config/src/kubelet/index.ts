export {
  baseKubeletConfiguration,
  type ClusterSettings,
  cgroupArguments,
  kubeletConfOf,
  reportFrequency,
  withLatency,
} from './base.ts';
export { verdictIsTold, withVerdict } from './conditions.ts';
export {
  decodeKubelet,
  type KubeletConfiguration,
  KubeletConfigurationError,
  overlayKubelet,
  serialiseKubelet,
} from './configuration.ts';
export { createKubeletConfigController, type KubeletConfigControllerOptions } from './controller.ts';
export { kubeletFiles, parseKubeletConf } from './files.ts';
export { formerNames, type KubeletName, nameKubeletConfig, suffixOf, withSuffixFor } from './names.ts';
export { type KubeletPlan, type KubeletSnapshot, planKubeletConfig } from './plan.ts';
export { type TlsProfile, type TlsSettings, tlsSettings } from './tls.ts';
export {
  isControlPlanePool,
  KubeletConfigError,
  validateKubeletConfig,
  validateStaticPodPath,
} from './validate.ts';
