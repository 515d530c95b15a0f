import { extensionOf, pathProblem } from './paths.ts';
import type { Issue } from './report.ts';
import type { IgnitionV2 } from './schema-v2.ts';
import { unitProblem } from './unit-contents.ts';
import { urlProblem } from './urls.ts';
import { type Add, collector } from './validate-storage.ts';

type Storage = NonNullable<IgnitionV2['storage']>;

/** What is wrong with a config of version 2.2; empty for a valid one. Duplicates are not wrong there. */
export function validateIgnitionV2(config: IgnitionV2): readonly Issue[] {
  const { issues, add } = collector();
  checkStorage(config.storage ?? {}, add);
  for (const [index, unit] of (config.systemd?.units ?? []).entries()) {
    const at = `$.systemd.units.${index}`;
    const known = /^\.(service|socket|device|mount|automount|swap|target|path|timer|snapshot|slice|scope)$/;
    if (!known.test(extensionOf(unit.name ?? ''))) add(`${at}.name`, 'invalid systemd unit extension');
    add(`${at}.contents`, unitProblem(unit.contents));
    for (const [number, { name = '', contents }] of (unit.dropins ?? []).entries()) {
      if (extensionOf(name) !== '.conf') add(`${at}.dropins.${number}.name`, 'invalid systemd drop-in extension');
      add(`${at}.dropins.${number}.contents`, unitProblem(contents));
    }
  }
  for (const [index, { contents }] of (config.networkd?.units ?? []).entries()) {
    add(`$.networkd.units.${index}.contents`, unitProblem(contents));
  }
  return issues;
}

function checkStorage(storage: Storage, add: Add): void {
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
  checkFiles(storage, add);
  for (const [index, { device = '' }] of (storage.disks ?? []).entries()) {
    const problem = device === '' ? 'disk device is required' : pathProblem(device);
    add(`$.storage.disks.${index}.device`, problem);
  }
  for (const [index, { level = '', devices = [] }] of (storage.raid ?? []).entries()) {
    const known = /^(linear|raid0|0|stripe|raid1|1|mirror|raid4|4|raid5|5|raid6|6|raid10|10)$/;
    if (!known.test(level)) add(`$.storage.raid.${index}.level`, 'unrecognized raid level');
    for (const [number, device] of devices.entries())
      add(`$.storage.raid.${index}.devices.${number}`, pathProblem(device));
  }
}

/** Version 2 asks for absolute paths only, not for the shortest ones. */
const checkPath = (path: string, at: string, add: Add): void => {
  if (!path.startsWith('/')) add(at, 'path not absolute');
};

function checkFiles({ files = [] }: Storage, add: Add): void {
  for (const [index, { contents, append, overwrite }] of files.entries()) {
    const at = `$.storage.files.${index}`;
    if (append && overwrite) add(at, 'append and overwrite are both true');
    const { compression = '', source = '' } = contents ?? {};
    if (compression !== '' && compression !== 'gzip') add(`${at}.contents.compression`, 'invalid compression method');
    if (source !== '') add(`${at}.contents.source`, urlProblem(source));
  }
}
