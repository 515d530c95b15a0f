export const PULL_SECRET_PATH = '/var/lib/kubelet/config.json';
export const KUBELET_CA_PATH = '/etc/kubernetes/kubelet-ca.crt';
export const ROOT_CA_PATH = '/etc/kubernetes/root-ca.crt';
export const TRUST_BUNDLE_PATH = '/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt';
export const CLOUD_CA_PATH = '/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem';
export const REGISTRY_PULL_SECRET_PATH = '/etc/mco/internal-registry-pull-secret.json';
export const REGISTRY_CERTIFICATES_DIRECTORY = '/etc/docker/certs.d';

/** The paths of certificate files, which nodes get immediately and without a rollout. */
export const CERTIFICATE_PATHS: readonly string[] = [
  ...[KUBELET_CA_PATH, ROOT_CA_PATH, TRUST_BUNDLE_PATH, CLOUD_CA_PATH, PULL_SECRET_PATH, REGISTRY_PULL_SECRET_PATH],
  REGISTRY_CERTIFICATES_DIRECTORY,
];

/** Returns true if a file contains a certificate, a CA bundle or a pull secret. */
export const isCertificatePath = (path: string): boolean =>
  CERTIFICATE_PATHS.includes(path) || isRegistryCertificate(path);

const isRegistryCertificate = (path: string): boolean => path.startsWith(`${REGISTRY_CERTIFICATES_DIRECTORY}/`);
