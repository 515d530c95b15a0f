import { DataUrlError, decodeContents, type IgnitionConfig, type IgnitionResource } from '../../ignition/index.ts';
import type { MachineConfig } from '../../kinds/machine-config.ts';
import { DaemonPaths } from '../daemon-paths.ts';
import { RenderError } from '../error.ts';
import { ignitionOf } from '../parsed.ts';

const fine = new WeakSet<object>();

/**
 * Refuses entries that Ignition accepts, but that a daemon cannot or must not write.
 * -
 * @throws RenderError with the field and a hint
 */
export function checkWritable(machineConfig: MachineConfig): void {
  const config = ignitionOf(machineConfig);
  if (!config || fine.has(config)) return;
  checkUnitNames(config);
  checkPaths(config);
  checkSources(config);
  fine.add(config);
}

function refuse(field: string, value: string, problem: string, hint: string): never {
  throw new RenderError(`spec.config.${field} ${JSON.stringify(value)} ${problem}`, { hint });
}

const isFileName = (name: string): boolean => !name.includes('/') && !name.includes('\0');

function checkUnitNames({ systemd }: IgnitionConfig): void {
  const problem = 'is not a file name, because the path would leave the directory of units';
  const hint = 'write only the file name, such as "x.service" or "10-x.conf"';
  for (const [index, { name, dropins = [] }] of (systemd?.units ?? []).entries()) {
    const at = `systemd.units.${index}`;
    if (!isFileName(name)) refuse(`${at}.name`, name, problem, hint);
    for (const [which, dropin] of dropins.entries()) {
      if (!isFileName(dropin.name)) refuse(`${at}.dropins.${which}.name`, dropin.name, problem, hint);
    }
  }
}

const { Certificates, CurrentConfig, Journal, NodeAnnotations, NodeAnnotationsRead, Originals, NoOriginals } =
  DaemonPaths;
/** A config with one of these files would overwrite data of the daemon. */
const KEPT_FILES: ReadonlySet<string> = new Set([
  Certificates,
  CurrentConfig,
  Journal,
  NodeAnnotations,
  NodeAnnotationsRead,
]);
const KEPT_DIRECTORIES = [Originals, NoOriginals];

const isKept = (path: string): boolean =>
  KEPT_FILES.has(path) ||
  KEPT_DIRECTORIES.some((directory) => path === directory || path.startsWith(`${directory}/`)) ||
  [...KEPT_FILES].some((file) => path.startsWith(`${file}/`));

const KEPT_BELOW = '/etc/machine-config-daemon';

function checkPaths({ storage = {} }: IgnitionConfig): void {
  for (const list of ['files', 'directories', 'links'] as const) {
    const entries = storage[list] ?? [];
    for (let index = 0; index < entries.length; index += 1) {
      const path = entries[index]?.path ?? '';
      if (path !== '/' && !path.includes('\0') && !path.startsWith(KEPT_BELOW)) continue;
      const field = `storage.${list}.${index}.path`;
      if (path === '/') refuse(field, path, 'is the root directory', 'use a path below the root directory');
      if (path.includes('\0'))
        refuse(
          field,
          path,
          'contains a NUL character',
          'remove the NUL character, because no file system supports NUL in a path',
        );
      if (list === 'directories' ? isKept(path) || path === KEPT_BELOW : isKept(path)) {
        refuse(field, path, 'is a file of the machine-config-daemon', 'choose another path');
      }
    }
  }
}

function checkSources({ storage = {} }: IgnitionConfig): void {
  const files = storage.files ?? [];
  for (let index = 0; index < files.length; index += 1) {
    const { contents, append } = files[index] ?? {};
    if (contents) checkSource(contents, `storage.files.${index}.contents`);
    if (append) for (const [which, one] of append.entries()) checkSource(one, `storage.files.${index}.append.${which}`);
  }
}

function checkSource({ source, compression }: IgnitionResource, at: string): void {
  if (source === undefined) return;
  if (!source.startsWith('data:')) {
    const hint = 'write the content as a data: URL, because running nodes download no files';
    refuse(`${at}.source`, source, 'is not in the config', hint);
  }
  if (compression === undefined || compression === '') return;
  try {
    decodeContents(source, compression);
  } catch (error) {
    if (!(error instanceof DataUrlError)) throw error;
    throw new RenderError(`spec.config.${at}.source: ${error.message}`, {
      hint: `compress the content with ${compression}, or remove ${at}.compression`,
    });
  }
}
