export {
  baseKubeletConfiguration,
  type ClusterSettings,
  cgroupArguments,
  kubeletConfOf,
  reportFrequency,
  withLatency,
} from './base.ts';
export {
  decodeKubelet,
  type KubeletConfiguration,
  KubeletConfigurationError,
  overlayKubelet,
  serialiseKubelet,
} from './configuration.ts';
export { kubeletFiles, parseKubeletConf } from './files.ts';
export { type TlsProfile, type TlsSettings, tlsSettings } from './tls.ts';
export {
  isControlPlanePool,
  KubeletConfigError,
  validateKubeletConfig,
  validateStaticPodPath,
} from './validate.ts';
