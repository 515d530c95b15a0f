export { type TlsProfile, type TlsSettings, tlsSettings } from '../config/tls.ts';
export type { ClusterSettings } from '../controllers/cluster-settings.ts';
export {
  baseKubeletConfiguration,
  cgroupArguments,
  kubeletConfOf,
  reportFrequency,
  withLatency,
} from './base.ts';
export { withVerdict } from './conditions.ts';
export {
  decodeKubelet,
  type KubeletConfiguration,
  KubeletConfigurationError,
  overlayKubelet,
  serialiseKubelet,
} from './configuration.ts';
export { createKubeletConfigController } from './controller.ts';
export { kubeletFiles, parseKubeletConf } from './files.ts';
export { formerNames, nameKubeletConfig, planKubeletConfig } from './kind.ts';
export {
  isControlPlanePool,
  KubeletConfigError,
  validateKubeletConfig,
  validateStaticPodPath,
} from './validate.ts';
