import { extensionOf } from '../values/paths.ts';
import type { Issue } from '../values/report.ts';
import { printBytes, unitProblem } from '../values/unit-contents.ts';
import { urlProblemV2 } from '../values/urls.ts';
import type { FileV2, IgnitionV2, UserV2 } from '../versions/schema-v2.ts';
import { RAID_LEVELS, UNIT_EXTENSIONS, verificationProblem } from './validate.ts';
import { type Add, collector, filesystemLabelProblem, guidProblem } from './validate-storage.ts';

type Storage = NonNullable<IgnitionV2['storage']>;
type Reference = NonNullable<NonNullable<IgnitionV2['ignition']['config']>['replace']>;

/**
 * Returns the problems of a config of version 2, or an empty list. Source: ignition 0.35, config/v2_0/types to
 * config/v2_2/types.
 * @param minor version 2.x of the rules
 */
export function validateIgnitionV2(config: IgnitionV2, minor = 2): readonly Issue[] {
  const { issues, add } = collector();
  checkReferences(config, minor, add);
  for (const [index, user] of (config.passwd?.users ?? []).entries()) checkUser(user, `$.passwd.users.${index}`, add);
  checkNodes(config.storage ?? {}, minor, add);
  checkDevices(config.storage ?? {}, minor, add);
  checkUnits(config.systemd?.units ?? [], '$.systemd.units', UNIT_EXTENSIONS, 'systemd', add);
  checkUnits(config.networkd?.units ?? [], '$.networkd.units', ['.link', '.netdev', '.network'], 'networkd', add);
  return issues;
}

function checkReferences({ ignition: { config, security } }: IgnitionV2, minor: number, add: Add): void {
  const check = ({ source = '', verification }: Reference, at: string) => {
    if (source !== '') add(`${at}.source`, urlProblemV2(source, minor));
    add(`${at}.verification.hash`, verificationProblem(verification?.hash, 0));
  };
  for (const [index, reference] of (config?.append ?? []).entries())
    check(reference, `$.ignition.config.append.${index}`);
  if (config?.replace) check(config.replace, '$.ignition.config.replace');
  for (const [index, authority] of (security?.tls?.certificateAuthorities ?? []).entries()) {
    check(authority, `$.ignition.security.tls.certificateAuthorities.${index}`);
  }
}

const CREATE_FIELDS = ['gecos', 'groups', 'homeDir', 'noCreateHome', 'noLogInit', 'noUserGroup'] as const;
const MORE_CREATE_FIELDS = ['primaryGroup', 'shell', 'system', 'uid'] as const;

function checkUser(user: UserV2, at: string, add: Add): void {
  if (!user.create) return;
  for (const name of [...CREATE_FIELDS, ...MORE_CREATE_FIELDS]) {
    const value = user[name];
    const isGiven = name === 'uid' ? value !== undefined : Array.isArray(value) ? value.length > 0 : Boolean(value);
    if (isGiven) add(at, `cannot use both the create object and the user-level ${name} field`);
  }
}

const checkPath = (path: string, at: string, add: Add): void => {
  if (!path.startsWith('/')) add(at, 'path not absolute');
};

function checkNodes(storage: Storage, minor: number, add: Add): void {
  for (const list of ['files', 'directories', 'links'] as const) {
    for (const [index, node] of (storage[list] ?? []).entries()) {
      const at = `$.storage.${list}.${index}`;
      if (!node.filesystem) add(`${at}.filesystem`, 'no filesystem specified');
      checkPath(node.path ?? '', `${at}.path`, add);
      for (const owner of ['user', 'group'] as const) {
        if (node[owner]?.id !== undefined && node[owner]?.name) add(`${at}.${owner}`, 'cannot set both id and name');
      }
      if ('mode' in node && node.mode !== undefined && (node.mode < 0 || node.mode > 0o7777)) {
        add(`${at}.mode`, 'illegal file mode');
      }
    }
  }
  for (const [index, file] of (storage.files ?? []).entries()) checkFile(file, `$.storage.files.${index}`, minor, add);
}

function checkFile({ contents, append, overwrite }: FileV2, at: string, minor: number, add: Add): void {
  if (append && overwrite) add(at, 'append and overwrite are both true');
  const { compression = '', source = '', verification } = contents ?? {};
  if (compression !== '' && compression !== 'gzip') add(`${at}.contents.compression`, 'invalid compression method');
  if (source !== '') add(`${at}.contents.source`, urlProblemV2(source, minor));
  add(`${at}.contents.verification.hash`, verificationProblem(verification?.hash, 0));
}

function checkDevices({ disks = [], filesystems = [], raid = [] }: Storage, minor: number, add: Add): void {
  for (const [index, disk] of disks.entries()) checkDisk(disk, `$.storage.disks.${index}`, add);
  for (const [index, filesystem] of filesystems.entries()) {
    checkFilesystem(filesystem, `$.storage.filesystems.${index}`, minor, add);
  }
  for (const [index, { level = '', spares, devices = [] }] of raid.entries()) {
    const at = `$.storage.raid.${index}`;
    if (!RAID_LEVELS.includes(level)) add(`${at}.level`, 'unrecognized raid level');
    else if (RAID_LEVELS.indexOf(level) < 4 && spares) {
      add(`${at}.level`, 'spares unsupported for arrays with a level greater than 0');
    }
    for (const [number, device] of devices.entries()) checkPath(device, `${at}.devices.${number}`, add);
  }
}

type Disk = NonNullable<Storage['disks']>[number];
type Partition = NonNullable<Disk['partitions']>[number];

const ALIGNMENT = 2_048;

function checkDisk({ device = '', partitions = [] }: Disk, at: string, add: Add): void {
  if (device === '') add(`${at}.device`, 'disk device is required');
  else checkPath(device, `${at}.device`, add);
  const numbers = partitions.flatMap(({ number }) => (number ? [number] : []));
  if (new Set(numbers).size < numbers.length) add(`${at}.partitions`, 'partition numbers collide');
  if (partitions.some((one, i) => partitions.some((other, j) => i !== j && overlap(one, other)))) {
    add(`${at}.partitions`, 'partitions overlap');
  }
  if (partitions.some(({ start = 0 }) => start % ALIGNMENT !== 0)) add(`${at}.partitions`, 'partitions misaligned');
  for (const [index, { label = '', guid, typeGuid }] of partitions.entries()) {
    const partition = `${at}.partitions.${index}`;
    if (Buffer.byteLength(label) > 36) add(`${partition}.label`, 'partition labels may not exceed 36 characters');
    add(`${partition}.guid`, guidProblem(guid));
    add(`${partition}.typeGuid`, guidProblem(typeGuid));
  }
}

function overlap(one: Partition, other: Partition): boolean {
  if (!one.start || !other.start || isSame(one, other)) return false;
  const end = ({ start = 0, size = 0 }: Partition) => (size === 0 ? start : start + size - 1);
  return one.start <= end(other) && end(one) >= other.start;
}

const isSame = (one: Partition, other: Partition): boolean =>
  (['guid', 'label', 'typeGuid'] as const).every((name) => (one[name] ?? '') === (other[name] ?? '')) &&
  (['number', 'size', 'start'] as const).every((name) => (one[name] ?? 0) === (other[name] ?? 0));

const FORMATS = ['ext4', 'btrfs', 'xfs', 'swap', 'vfat'];

function checkFilesystem(
  { mount, path }: NonNullable<Storage['filesystems']>[number],
  at: string,
  minor: number,
  add: Add,
): void {
  if (path !== undefined) checkPath(path, `${at}.path`, add);
  if (!mount) {
    if (path === undefined) add(at, 'filesystem is missing mount or path');
    return;
  }
  const { device = '', format = '', label, create, options = [], wipeFilesystem } = mount;
  if (path !== undefined) add(at, 'filesystem has both mount and path defined');
  if (create && wipeFilesystem) add(at, 'cannot use both create object and wipeFilesystem field');
  if (create && options.length > 0) add(at, 'cannot use both create object and mount-level options field');
  if (!FORMATS.slice(0, minor === 0 ? 3 : 5).includes(format)) add(`${at}.mount.format`, 'invalid filesystem format');
  checkPath(device, `${at}.mount.device`, add);
  add(`${at}.mount.label`, filesystemLabelProblem(format, label));
}

interface Unit {
  readonly name?: string;
  readonly contents?: string;
  readonly dropins?: readonly { readonly name?: string; readonly contents?: string }[];
}

function checkUnits(
  units: readonly Unit[],
  at: string,
  extensions: readonly string[],
  kind: 'systemd' | 'networkd',
  add: Add,
): void {
  for (const [index, { name = '', contents, dropins = [] }] of units.entries()) {
    if (!extensions.includes(extensionOf(name))) add(`${at}.${index}.name`, `invalid ${kind} unit extension`);
    add(`${at}.${index}.contents`, unitProblem(contents, printBytes));
    for (const [number, dropin] of dropins.entries()) {
      const inner = `${at}.${index}.dropins.${number}`;
      if (extensionOf(dropin.name ?? '') !== '.conf') add(`${inner}.name`, `invalid ${kind} drop-in extension`);
      add(`${inner}.contents`, unitProblem(dropin.contents, printBytes));
    }
  }
}
