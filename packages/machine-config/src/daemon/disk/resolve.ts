import { DaemonPaths } from '../../config/daemon-paths.ts';
import { ignitionOrEmpty } from '../../config/diff.ts';
import type { MachineConfig } from '../../kinds/machine-config.ts';
import { storedCertificates, wantedCertificates } from './certificate-record.ts';
import { type Entry, type NodeDisk, readText } from './disk.ts';
import { Originals } from './originals.ts';
import { wantedDisk } from './wanted.ts';

/**
 * Returns the entries of a config and the entries that depend on the disk, such as units of the operating system.
 * - The certificates on the disk may be newer than the config, so the daemon keeps the certificates.
 */
export async function resolveWanted(
  disk: NodeDisk,
  config: MachineConfig | undefined,
): Promise<{ readonly entries: ReadonlyMap<string, Entry>; readonly absent: ReadonlySet<string> }> {
  const vendor = new Map<string, string>();
  for (const { name, contents, enabled } of ignitionOrEmpty(config).systemd?.units ?? []) {
    if (contents || enabled === undefined) continue;
    const text = await readText(disk, `${DaemonPaths.VendorUnits}/${name}`);
    if (text !== undefined) vendor.set(name, text);
  }
  const { entries, appended, absent } = wantedDisk(config, (name) => vendor.get(name));
  const certificates = config && wantedCertificates(await storedCertificates(disk));
  if (appended.size === 0 && !certificates?.size) return { entries, absent };
  const originals = new Originals(disk);
  const all = new Map(entries);
  for (const [path, { base, append, ...rest }] of appended) {
    const content = Buffer.concat([base ?? (await originals.content(path)), append]);
    all.set(path, { ...rest, content });
  }
  for (const [path, entry] of certificates ?? []) all.set(path, entry);
  return { entries: all, absent };
}
