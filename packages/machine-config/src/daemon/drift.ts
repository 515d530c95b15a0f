import type { MachineConfig } from '../kinds/machine-config.ts';
import type { Entry, NodeDisk } from './disk/disk.ts';
import { resolveWanted } from './disk/resolve.ts';

/** Files that other programs on the node update. */
const OTHERS = new Set([
  '/etc/kubernetes/kubelet-ca.crt',
  '/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem',
  '/etc/mco/internal-registry-pull-secret.json',
]);

const PERMISSIONS = 0o7777;
const modeOf = (entry: Entry): number => (entry.kind === 'link' ? 0 : entry.mode & PERMISSIONS);

/**
 * Compares the disk with a config.
 * @returns the first mismatch with the text of the original, or undefined without a mismatch
 */
export async function findDrift(disk: NodeDisk, config: MachineConfig): Promise<string | undefined> {
  const wanted = await resolveWanted(disk, config);
  for (const [path, entry] of wanted.entries) {
    if (OTHERS.has(path)) continue;
    const problem = await mismatch(disk, path, entry);
    if (problem !== undefined) return `unexpected on-disk state validating against ${config.metadata.name}: ${problem}`;
  }
  for (const path of wanted.absent) {
    if (await disk.read(path)) {
      return `unexpected on-disk state validating against ${config.metadata.name}: unexpected link "${path}"`;
    }
  }
  return undefined;
}

/** Returns the difference between a wanted entry and the disk, or undefined if both are equal. */
export async function mismatch(disk: NodeDisk, path: string, wanted: Entry): Promise<string | undefined> {
  const found = await disk.read(path);
  const name = JSON.stringify(path);
  if (!found) return `could not stat file ${name}: no such file or directory`;
  if (wanted.kind === 'link') {
    if (wanted.hard) return found.kind === 'file' ? undefined : `not a file: ${name}`;
    const right = found.kind === 'link' && found.target === wanted.target;
    return right ? undefined : `link mismatch for ${name}: expected a link to ${JSON.stringify(wanted.target)}`;
  }
  if (found.kind !== wanted.kind) return `not a ${wanted.kind}: ${name}`;
  if (wanted.kind === 'file' && found.kind === 'file' && !Buffer.from(found.content).equals(wanted.content)) {
    return `content mismatch for file ${name}`;
  }
  const [has, wants] = [modeOf(found), modeOf(wanted)];
  const octal = (mode: number) => `0o${mode.toString(8)}`;
  if (has !== wants) return `mode mismatch for file: ${name}; expected: ${octal(wants)}; received: ${octal(has)}`;
  return (await disk.owned(found, wanted)) ? undefined : `owner mismatch for file: ${name}`;
}
