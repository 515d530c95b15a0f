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

/** The name of the MachineConfig with the certificates of a pool. No pool selects it: it has no labels. */
export const certificatesName = (pool: string): string => `certificates-${pool}`;

/**
 * The MachineConfig with the certificates, CA bundles and pull secrets of a pool. Nodes take them at once: also of a
 * paused pool, and also where another part of the pool cannot be rendered.
 * @param configs what the pool selects, in any order
 * @returns undefined if the pool has no such file
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
  // The API server adds the rest of the metadata.
  const metadata: Partial<MachineConfig['metadata']> = {
    name: certificatesName(pool.metadata.name),
    ownerReferences: [ownerOf(pool)],
  };
  return {
    ...{ apiVersion: API_VERSION, kind: 'MachineConfig' },
    metadata: metadata as MachineConfig['metadata'],
    spec: { config: { ...emptyIgnition(), storage: { files: [...files.values()] } } },
  };
}

/** A MachineConfig that cannot be read has none: the pool says what is wrong with it. */
function filesOf(config: MachineConfig): readonly IgnitionFile[] {
  try {
    return ignitionOf(config)?.storage?.files ?? [];
  } catch (error) {
    if (error instanceof IgnitionError) return [];
    throw error;
  }
}

/** The rendering refuses content that cannot be read, and the pool says so. */
function isReadable({ contents }: IgnitionFile): boolean {
  try {
    decodeContents(contents?.source, contents?.compression);
    return true;
  } catch (error) {
    if (error instanceof DataUrlError) return false;
    throw error;
  }
}

/** The certificates that the ControllerConfig holds, each in its place on a node. Source: the original's certificate writer. */
export function controllerCertificates(config: ControllerConfig | undefined): readonly IgnitionFile[] {
  const { kubeAPIServerServingCAData, cloudProviderCAData, internalRegistryPullSecret } = config?.spec ?? {};
  return [
    ...certificateFile(KUBELET_CA_PATH, kubeAPIServerServingCAData),
    ...certificateFile(CLOUD_CA_PATH, cloudProviderCAData),
    ...certificateFile(REGISTRY_PULL_SECRET_PATH, internalRegistryPullSecret, 0o600),
    ...registryCertificates(config),
  ];
}

/** The authority of each registry; `..` in the name of a bundle is the colon before the port. */
export function registryCertificates(config: ControllerConfig | undefined): readonly IgnitionFile[] {
  const { imageRegistryBundleUserData = [], imageRegistryBundleData = [] } = config?.spec ?? {};
  return [...imageRegistryBundleData, ...imageRegistryBundleUserData].flatMap(({ file, data }) => {
    const host = file.replace('..', ':');
    if (!/^[\w.:-]+$/.test(host) || host.startsWith('.')) return [];
    return certificateFile(`${REGISTRY_CERTIFICATES_DIRECTORY}/${host}/ca.crt`, data ?? '');
  });
}

/** @param data base64; absent or null: there is no such certificate */
function certificateFile(path: string, data: string | null | undefined, mode = 0o644): readonly IgnitionFile[] {
  if (data === undefined || data === null || (data === '' && !path.startsWith(REGISTRY_CERTIFICATES_DIRECTORY)))
    return [];
  const source = encodeBase64DataUrl(Buffer.from(data, 'base64').toString('utf8'));
  return [{ path, mode, overwrite: true, contents: { source } }];
}

const versions = new WeakMap<object, string>();

/** What a node is told of certificates: their MachineConfig, and a hash of what is in it. */
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

/** The name of the MachineConfig in what a node is told of certificates. */
export const certificatesConfigOf = (version: string): string => version.replace(/@[^@]*$/, '');

/** The files of a MachineConfig with certificates. Anything else in it is not a certificate, and left out. */
export const certificateFiles = (config: MachineConfig): readonly IgnitionFile[] =>
  (ignitionOf(config)?.storage?.files ?? []).filter(({ path }) => isCertificatePath(path));

/** What a daemon keeps of the certificates that its disk has. */
export interface CertificatesNote {
  /** As the node was told. */
  readonly version: string;
  readonly files: readonly IgnitionFile[];
  /** Files that were written, and whose services do not know it yet. */
  readonly pending: readonly string[];
}

/** The note of certificates that are on a disk from its first boot. */
export const certificatesNote = (config: MachineConfig): CertificatesNote => ({
  ...{ version: certificatesVersion(config), files: certificateFiles(config), pending: [] },
});

/** Whether two rendered MachineConfigs have all in common but certificates, CA bundles and pull secrets. */
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
