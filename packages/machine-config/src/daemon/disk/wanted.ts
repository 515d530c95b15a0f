import { DaemonPaths } from '../../config/daemon-paths.ts';
import { ignitionOrEmpty } from '../../config/diff.ts';
import { decodeContents, encodeDataUrl, type IgnitionFile, type IgnitionUnit } from '../../ignition/index.ts';
import type { MachineConfig } from '../../kinds/machine-config.ts';
import type { Entry, WantedFile } from './disk.ts';
import { installLinks } from './unit-links.ts';

interface AppendedFile extends Omit<WantedFile, 'content'> {
  /** The content in the config, or undefined if the config only appends to the file of the operating system. */
  readonly base: Uint8Array | undefined;
  readonly append: Uint8Array;
}

/** The entries that a config writes to a disk, by path. */
export interface WantedDisk {
  readonly entries: ReadonlyMap<string, Entry>;
  /** Files whose content starts with the original content of the operating system. */
  readonly appended: ReadonlyMap<string, AppendedFile>;
  readonly absent: ReadonlySet<string>;
}

const FILE_MODE = 0o644;
const DIRECTORY_MODE = 0o755;

const ownerOf = ({ id, name }: { id?: number; name?: string } = {}): string | number | undefined => name ?? id;

/** Returns all entries that a config writes to a disk. */
export function wantedDisk(
  config: Pick<MachineConfig, 'spec'> | undefined,
  vendorUnit: (name: string) => string | undefined = () => undefined,
): WantedDisk {
  const { storage = {}, systemd = {}, passwd } = ignitionOrEmpty(config);
  const entries = new Map<string, Entry>();
  const appended = new Map<string, AppendedFile>();
  const absent = new Set<string>();
  for (const { path, mode = DIRECTORY_MODE, user, group } of storage.directories ?? []) {
    entries.set(path, { kind: 'directory', mode, ...owners(user, group) });
  }
  for (const file of storage.files ?? []) addFile(file, entries, appended);
  for (const { path, target, hard } of storage.links ?? []) {
    entries.set(path, { kind: 'link', target: target ?? '', hard: hard || undefined });
  }
  for (const unit of systemd.units ?? []) addUnit(unit, vendorUnit, entries, absent);
  const keys = passwd?.users?.findLast(({ name }) => name === 'core')?.sshAuthorizedKeys ?? [];
  if (keys.length > 0) {
    const content = new TextEncoder().encode(`${keys.join('\n')}\n`);
    entries.set(DaemonPaths.SshKeys, { kind: 'file', content, mode: 0o600, user: 'core', group: 'core' });
  }
  return { entries, appended, absent };
}

function owners(user?: { id?: number; name?: string }, group?: { id?: number; name?: string }) {
  const [owner, owning] = [ownerOf(user), ownerOf(group)];
  return { user: owner, group: owning };
}

function addFile(file: IgnitionFile, entries: Map<string, Entry>, appended: Map<string, AppendedFile>): void {
  const { path, contents, append = [], user, group } = file;
  const asked = file.mode ?? FILE_MODE;
  const mode = path === DaemonPaths.Kubeconfig ? asked & 0o600 : asked;
  const common = { kind: 'file' as const, mode, ...owners(user, group) };
  const read = () => decodeContents(contents?.source, contents?.compression);
  if (append.length === 0 && contents?.source !== undefined) {
    entries.set(path, { ...common, content: read() });
    return;
  }
  const pieces = append.map(({ source, compression }) => decodeContents(source, compression));
  const base = contents?.source === undefined ? undefined : read();
  appended.set(path, { ...common, base, append: Buffer.concat(pieces) });
}

function addUnit(
  unit: IgnitionUnit,
  vendorUnit: (name: string) => string | undefined,
  entries: Map<string, Entry>,
  absent: Set<string>,
): void {
  const { name, contents, dropins = [], mask, enabled } = unit;
  const path = `${DaemonPaths.Units}/${name}`;
  const text = (content: string): Entry => ({ kind: 'file', content: Buffer.from(content), mode: FILE_MODE });
  for (const dropin of dropins) {
    // An empty drop-in has no effect, so a template can remove a drop-in.
    if (dropin.contents) entries.set(`${path}.d/${dropin.name}`, text(dropin.contents));
  }
  if (mask) {
    entries.set(path, { kind: 'link', target: '/dev/null' });
    return;
  }
  if (contents) entries.set(path, text(contents));
  if (enabled === undefined) return;
  const known = contents || vendorUnit(name) || '';
  const target = contents ? path : `${DaemonPaths.VendorUnits}/${name}`;
  for (const link of installLinks(name, known)) {
    if (enabled) entries.set(link, { kind: 'link', target });
    else absent.add(link);
  }
}

/**
 * Returns the paths that a config writes. The links of units of the operating system are missing, because `wantedPaths`
 * does not read these units.
 */
export function wantedPaths(config: MachineConfig): readonly string[] {
  const { entries, appended } = wantedDisk(config);
  return [...entries.keys(), ...appended.keys()];
}

/** Returns an Ignition file with the given text, for tests and tools. */
export const fileOf = (path: string, text: string, mode = FILE_MODE) => ({
  path,
  mode,
  overwrite: true,
  contents: { source: encodeDataUrl(text) },
});
