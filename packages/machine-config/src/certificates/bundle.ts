import { createHash } from 'node:crypto';
import {
  CLOUD_CA_PATH,
  isCertificatePath,
  KUBELET_CA_PATH,
  REGISTRY_CERTIFICATES_DIRECTORY,
  REGISTRY_PULL_SECRET_PATH,
} from '../config/certificate-paths.ts';
import { diffConfigs } from '../config/diff.ts';
import { hashedText } from '../config/name.ts';
import { mergeOrder } from '../config/order.ts';
import { ignitionOf } from '../config/parsed.ts';
import { irreconcilable } from '../config/reconcile.ts';
import { ownerOf } from '../config/render/render.ts';
import {
  DataUrlError,
  decodeContents,
  emptyIgnition,
  encodeBase64DataUrl,
  IgnitionError,
  type IgnitionFile,
} from '../ignition/index.ts';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import { API_VERSION } from '../kinds/group.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';

/** Returns the name of the MachineConfig with the certificates of a pool. */
export const certificatesName = (pool: string): string => `certificates-${pool}`;

/**
 * Returns the MachineConfig with the certificates, CA bundles and pull secrets of a pool. Nodes apply the certificates
 * of a pool immediately, even in a paused or invalid pool.
 */
export function certificatesOfPool(
  pool: MachineConfigPool,
  configs: readonly MachineConfig[],
  controllerConfig: ControllerConfig | undefined,
): MachineConfig | undefined {
  const files = new Map<string, IgnitionFile>();
  for (const file of controllerCertificates(controllerConfig)) files.set(file.path, file);
  const labelled = configs.filter(({ metadata }) => metadata.labels !== undefined);
  for (const file of mergeOrder(labelled).flatMap(filesOf)) {
    if (file.contents?.source === undefined || (file.append ?? []).length > 0 || !isReadable(file)) continue;
    if (isCertificatePath(file.path)) files.set(file.path, { ...files.get(file.path), ...file });
  }
  if (files.size === 0) return undefined;
  const metadata: Partial<MachineConfig['metadata']> = {
    name: certificatesName(pool.metadata.name),
    ownerReferences: [ownerOf(pool)],
  };
  return {
    apiVersion: API_VERSION,
    kind: 'MachineConfig',
    metadata: metadata as MachineConfig['metadata'],
    spec: { config: { ...emptyIgnition(), storage: { files: [...files.values()] } } },
  };
}

/**
 * Returns the files of a MachineConfig. For an unreadable MachineConfig, the result is empty, because the renderer
 * reports the error.
 */
function filesOf(config: MachineConfig): readonly IgnitionFile[] {
  try {
    return ignitionOf(config)?.storage?.files ?? [];
  } catch (error) {
    if (error instanceof IgnitionError) return [];
    throw error;
  }
}

/** Returns true if the content of a file can be decoded. For any other file, the renderer reports the error. */
function isReadable({ contents }: IgnitionFile): boolean {
  try {
    decodeContents(contents?.source, contents?.compression);
    return true;
  } catch (error) {
    if (error instanceof DataUrlError) return false;
    throw error;
  }
}

/** Returns the certificates of the controller, with the path of each certificate on a node. */
function controllerCertificates(config: ControllerConfig | undefined): readonly IgnitionFile[] {
  const { kubeAPIServerServingCAData, cloudProviderCAData, internalRegistryPullSecret } = config?.spec ?? {};
  return [
    ...certificateFile(KUBELET_CA_PATH, kubeAPIServerServingCAData),
    ...certificateFile(CLOUD_CA_PATH, cloudProviderCAData),
    ...certificateFile(REGISTRY_PULL_SECRET_PATH, internalRegistryPullSecret, 0o600),
    ...registryCertificates(config),
  ];
}

/**
 * Returns the files with the CA bundles of registries. The file name of a CA bundle contains `..` instead of the colon
 * between host and port.
 */
export function registryCertificates(config: ControllerConfig | undefined): readonly IgnitionFile[] {
  const { imageRegistryBundleUserData = [], imageRegistryBundleData = [] } = config?.spec ?? {};
  return [...imageRegistryBundleData, ...imageRegistryBundleUserData].flatMap(({ file, data }) => {
    const host = file.replace('..', ':');
    if (!/^[\w.:-]+$/.test(host) || host.startsWith('.')) return [];
    return certificateFile(`${REGISTRY_CERTIFICATES_DIRECTORY}/${host}/ca.crt`, data ?? '');
  });
}

function certificateFile(path: string, data: string | null | undefined, mode = 0o644): readonly IgnitionFile[] {
  if (data === undefined || data === null || (data === '' && !path.startsWith(REGISTRY_CERTIFICATES_DIRECTORY)))
    return [];
  // A CA bundle may contain bytes that are not UTF-8, so its content is encoded in base64.
  const source = encodeBase64DataUrl(Buffer.from(data, 'base64'));
  return [{ path, mode, overwrite: true, contents: { source } }];
}

const versions = new WeakMap<object, string>();

/**
 * Returns the version of the certificates for the annotation of a node: the name of their MachineConfig and a hash of
 * their content.
 */
export function certificatesVersion(config: MachineConfig): string {
  const known = versions.get(config);
  if (known !== undefined) return known;
  const hash = createHash('sha256')
    .update(hashedText(config.spec ?? {}))
    .digest('hex')
    .slice(0, 32);
  const version = `${config.metadata.name}@${hash}`;
  versions.set(config, version);
  return version;
}

/** Returns the name of the MachineConfig in a version of certificates. */
export const certificatesConfigOf = (version: string): string => version.replace(/@[^@]*$/, '');

/** Returns the certificate files of a MachineConfig. */
export const certificateFiles = (config: MachineConfig): readonly IgnitionFile[] =>
  (ignitionOf(config)?.storage?.files ?? []).filter(({ path }) => isCertificatePath(path));

/** The record that the daemon writes about the certificates on its disk. */
export interface CertificatesNote {
  readonly version: string;
  readonly files: readonly IgnitionFile[];
  readonly pending: readonly string[];
}

/** Returns the record for the certificates that Ignition wrote at the first boot. */
export const certificatesNote = (config: MachineConfig): CertificatesNote => ({
  version: certificatesVersion(config),
  files: certificateFiles(config),
  pending: [],
});

/** Returns true if two rendered MachineConfigs differ only by certificates, CA bundles and pull secrets. */
export function differOnlyByCertificates(old: MachineConfig, wanted: MachineConfig): boolean {
  try {
    if (irreconcilable(old, wanted)) return false;
    const { files, units, passwd, ...rest } = diffConfigs(old, wanted);
    return files.every(isCertificatePath) && units.length === 0 && !passwd && Object.values(rest).every((one) => !one);
  } catch (error) {
    if (error instanceof IgnitionError) return false;
    throw error;
  }
}
