import type { CertificatesNote } from '../../certificates/bundle.ts';
import { DaemonPaths } from '../../config/daemon-paths.ts';
import { emptyIgnition } from '../../ignition/index.ts';
import { type Entry, type NodeDisk, readText, textEntry } from './disk.ts';
import { wantedDisk } from './wanted.ts';

export async function storedCertificates(disk: NodeDisk): Promise<CertificatesNote | undefined> {
  const text = await readText(disk, DaemonPaths.Certificates);
  return text === undefined ? undefined : (JSON.parse(text) as CertificatesNote);
}

export const storeNote = (disk: NodeDisk, note: CertificatesNote): Promise<void> =>
  disk.put(DaemonPaths.Certificates, textEntry(JSON.stringify(note)));

export function wantedCertificates(note: CertificatesNote | undefined): ReadonlyMap<string, Entry> {
  if (!note) return new Map();
  const config = { ...emptyIgnition(), storage: { files: note.files } };
  return wantedDisk({ spec: { config } }).entries;
}
