import { KUBELET_CA_PATH, ROOT_CA_PATH } from '../config/certificate-paths.ts';
import { KUBELET_KUBECONFIG_PATHS } from '../config/daemon-paths.ts';
import { type Entry, type NodeDisk, readText, type WantedFile } from './disk/disk.ts';

/** Matches the CA data of a kubeconfig, in YAML and in JSON. */
const AUTHORITY_DATA = /(?<=\bcertificate-authority-data["']?\s*:\s*["']?)[A-Za-z0-9+/]+=*/g;
const AUTHORITY_PATH = /(?<=\bcertificate-authority["']?\s*:\s*["']?)\/[^\s"',}]+/g;

const textOf = (content: string | Uint8Array): string => Buffer.from(content).toString('utf8').trim();

/** A kubeconfig whose CA changed, so that the kubelet must restart. */
export interface RotatedKubeconfig {
  readonly path: string;
  readonly entry?: WantedFile;
}

/**
 * Returns the kubeconfigs of the kubelet whose CA changes with `kubelet-ca.crt` or `root-ca.crt`. When the kubelet
 * joins, it copies the CA into its kubeconfig, so a new CA file alone has no effect.
 */
export async function rotatedKubeconfigs(
  disk: NodeDisk,
  wanted: ReadonlyMap<string, Entry>,
  own: ReadonlyMap<string, Entry>,
): Promise<readonly RotatedKubeconfig[]> {
  const rotating = new Set<string>();
  const successors = new Map<string, string>();
  for (const path of [ROOT_CA_PATH, KUBELET_CA_PATH]) {
    const [old, entry] = [textOf((await readText(disk, path)) ?? ''), wanted.get(path)];
    if (entry?.kind !== 'file' || old === textOf(entry.content)) continue;
    rotating.add(path);
    successors.set(old, Buffer.from(entry.content).toString('base64'));
  }
  if (rotating.size === 0) return [];
  const rotated: RotatedKubeconfig[] = [];
  for (const path of KUBELET_KUBECONFIG_PATHS) {
    const found = await disk.read(path);
    if (found?.kind !== 'file') continue;
    const before = Buffer.from(found.content).toString('utf8');
    const after = before.replace(AUTHORITY_DATA, (data) => successors.get(textOf(Buffer.from(data, 'base64'))) ?? data);
    if (after !== before && !own.has(path)) rotated.push({ path, entry: { ...found, content: Buffer.from(after) } });
    else if ([...before.matchAll(AUTHORITY_PATH)].some(([one]) => rotating.has(one))) rotated.push({ path });
  }
  return rotated;
}
