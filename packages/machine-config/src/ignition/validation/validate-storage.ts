import type { At } from '../plan/trail.ts';
import { cleanPath, joinPaths, pathProblem } from '../values/paths.ts';
import type { Issue } from '../values/report.ts';
import type { IgnitionConfig, IgnitionDisk, IgnitionFilesystem, IgnitionPartition } from '../versions/schema.ts';

export type Storage = NonNullable<IgnitionConfig['storage']>;
export type Add = (path: At, problem: string | undefined) => void;

/** Checks the section storage of a config. Source: ignition, config/v3_5/types/storage.go. */
export function checkStorage(storage: Storage, at: At, add: Add, minor: number): void {
  const { directories = [], files = [], links = [] } = storage;
  // Most configs have no links, so the check skips the comparison with links for these configs.
  const below = links.map(({ path }) => `${path}/`);
  const usesLink = (path: string) => below.some((prefix) => path.startsWith(prefix));
  if (links.length > 0) {
    for (const [index, { path }] of directories.entries()) {
      if (usesLink(path)) add(`${at}.directories.${index}`, 'directory path includes link in config');
    }
    for (const [index, { path }] of files.entries()) {
      if (usesLink(path)) add(`${at}.files.${index}`, 'file path includes link in config');
    }
  }
  for (const [index, link] of links.entries()) {
    if (usesLink(link.path)) add(`${at}.links.${index}`, 'link path includes link in config');
    // Before version 3.3, a link without a target has an empty target. The check accepts this target.
    const { target: given = '' } = link;
    if (given === '' && minor >= 3) {
      add(`${at}.links.${index}.target`, 'link target is required');
      continue;
    }
    if (!link.hard) continue;
    const clean = cleanPath(given);
    const target = clean.startsWith('/') ? clean : joinPaths(link.path, given);
    if (directories.some(({ path }) => path === target)) add(`${at}.links.${index}`, 'hard link target is a directory');
  }
}

/** Source: disk.go. */
export function checkDisk(disk: IgnitionDisk, at: At, add: Add): void {
  if (disk.device === '') {
    add(`${at}.device`, 'disk device is required');
    return;
  }
  add(`${at}.device`, pathProblem(disk.device));
  const partitions = disk.partitions ?? [];
  const twice = (key: (partition: IgnitionPartition) => unknown): number | undefined => {
    const seen = new Set<unknown>();
    for (const [index, partition] of partitions.entries()) {
      const value = key(partition);
      if (value === undefined) continue;
      if (seen.has(value)) return index;
      seen.add(value);
    }
    return undefined;
  };
  const number = twice((partition) => partition.number || undefined);
  if (number !== undefined) add(`${at}.partitions.${number}`, 'partition numbers collide');
  const overlap = overlapping(partitions);
  if (overlap !== undefined) add(`${at}.partitions.${overlap}`, 'partitions overlap');
  if (partitions.some((p) => p.shouldExist === false) && partitions.some((p) => !p.number)) {
    const message = 'shouldExist is false for a partition and other partition(s) has start or size 0';
    add(`${at}.partitions`, message);
  }
  const label = twice((partition) => partition.label);
  if (label !== undefined) add(`${at}.partitions.${label}`, 'cannot use the same partition label twice');
}

interface Extent {
  readonly index: number;
  readonly start: number;
  readonly end: number;
}

function overlapping(partitions: readonly IgnitionPartition[]): number | undefined {
  const extents = partitions.flatMap(({ startMiB, sizeMiB }, index): Extent[] =>
    !startMiB || sizeMiB === undefined
      ? []
      : [{ index, start: startMiB, end: sizeMiB === 0 ? startMiB : startMiB + sizeMiB - 1 }],
  );
  for (const one of extents) {
    for (const other of extents) {
      if (one !== other && one.start <= other.end && one.end >= other.start) return other.index;
    }
  }
  return undefined;
}

const GUID = /^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$/;
export const guidProblem = (guid: string | undefined): string | undefined =>
  guid === undefined || guid === '' || GUID.test(guid)
    ? undefined
    : 'doesn\'t match the form "01234567-89AB-CDEF-EDCB-A98765432101"';

/** Checks a partition. Source: partition.go. */
export function checkPartition(partition: IgnitionPartition, at: At, add: Add): void {
  const { shouldExist, label, typeGuid, guid, startMiB, sizeMiB, number } = partition;
  if (
    shouldExist === false &&
    (label !== undefined || typeGuid || guid || startMiB !== undefined || sizeMiB !== undefined)
  ) {
    add(at, 'shouldExist specified false with other options also specified');
  }
  if (!number && label === undefined) add(at, 'a partition number >= 1 or a label must be specified');
  if (label !== undefined) {
    if (Buffer.byteLength(label) > 36) add(`${at}.label`, 'partition labels may not exceed 36 characters');
    else if (label.includes(':')) add(`${at}.label`, 'partition label will be truncated to text before the colon');
  }
  add(`${at}.guid`, guidProblem(guid));
  add(`${at}.typeGuid`, guidProblem(typeGuid));
}

const FORMATS = ['ext4', 'btrfs', 'xfs', 'swap', 'vfat', 'none'];
const LABELS: Readonly<Record<string, number>> = { ext4: 16, btrfs: 256, xfs: 12, swap: 15, vfat: 11 };

/** Checks a filesystem. Source: filesystem.go. */
export function checkFilesystem(filesystem: IgnitionFilesystem, at: At, add: Add, minor: number): void {
  const { device, format, label, path, uuid, wipeFilesystem, mountOptions = [], options = [] } = filesystem;
  if (path) add(`${at}.path`, pathProblem(path));
  add(`${at}.device`, pathProblem(device));
  if (!format) {
    if (path || label || uuid || wipeFilesystem || mountOptions.length > 0 || options.length > 0) {
      const others = 'path, label, uuid, wipeFilesystem, options, or mountOptions';
      add(`${at}.format`, `format cannot be empty when ${others} is specified`);
    }
    if (label) add(`${at}.label`, 'filesystem must specify format if label is specified');
    return;
  }
  if (!FORMATS.includes(format) || (format === 'none' && minor < 3)) add(`${at}.format`, 'invalid filesystem format');
  add(`${at}.label`, filesystemLabelProblem(format, label));
}

export function filesystemLabelProblem(format: string, label = ''): string | undefined {
  const longest = LABELS[format];
  if (longest === undefined || Buffer.byteLength(label) <= longest) return undefined;
  return `filesystem labels cannot be longer than ${longest} characters when using ${format}`;
}

export function collector(): { readonly issues: Issue[]; readonly add: Add } {
  const issues: Issue[] = [];
  return {
    issues,
    add: (path, problem) => problem !== undefined && issues.push({ path: String(path), message: problem }),
  };
}
