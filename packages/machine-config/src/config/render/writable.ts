import { DataUrlError, decodeContents, type IgnitionConfig, type IgnitionResource } from '../../ignition/index.ts';
import type { MachineConfig } from '../../kinds/machine-config.ts';
import { DaemonPaths } from '../daemon-paths.ts';
import { RenderError } from '../error.ts';
import { ignitionOf } from '../parsed.ts';

/** Configs of caches are shared and never changed. */
const fine = new WeakSet<object>();

/**
 * Finds what Ignition's own rules let through and no daemon can write, or must not: names of units that lead out of
 * their directory, paths that are none, what the daemon itself keeps, and content that is not in the config.
 * @throws RenderError naming field and cure
 */
export function checkWritable(machineConfig: MachineConfig): void {
  const config = ignitionOf(machineConfig);
  if (!config || fine.has(config)) return;
  checkUnitNames(config);
  checkPaths(config);
  checkSources(config);
  fine.add(config);
}

function refuse(field: string, value: string, problem: string, cure: string): never {
  throw new RenderError(`spec.config.${field} ${JSON.stringify(value)} ${problem}`, { cure });
}

const isFileName = (name: string): boolean => !name.includes('/') && !name.includes('\0');

function checkUnitNames({ systemd }: IgnitionConfig): void {
  const problem = 'is not the name of a file: it would be written outside of the directory of units';
  const cure = 'write the name alone, such as "x.service" or "10-x.conf"';
  for (const [index, { name, dropins = [] }] of (systemd?.units ?? []).entries()) {
    const at = `systemd.units.${index}`;
    if (!isFileName(name)) refuse(`${at}.name`, name, problem, cure);
    for (const [which, dropin] of dropins.entries()) {
      if (!isFileName(dropin.name)) refuse(`${at}.dropins.${which}.name`, dropin.name, problem, cure);
    }
  }
}

const { Certificates, CurrentConfig, Journal, NodeAnnotations, NodeAnnotationsRead, Originals, NoOriginals } =
  DaemonPaths;
/** A config that held one of them would change what the daemon knows about it, for ever. */
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

/** Where almost no path is, so that the rest is looked at for these only. */
const KEPT_BELOW = '/etc/machine-config-daemon';

function checkPaths({ storage = {} }: IgnitionConfig): void {
  for (const list of ['files', 'directories', 'links'] as const) {
    const entries = storage[list] ?? [];
    for (let index = 0; index < entries.length; index += 1) {
      const path = entries[index]?.path ?? '';
      if (path !== '/' && !path.includes('\0') && !path.startsWith(KEPT_BELOW)) continue;
      const field = `storage.${list}.${index}.path`;
      if (path === '/') refuse(field, path, 'is the root directory', 'name what is below it');
      if (path.includes('\0'))
        refuse(field, path, 'holds a NUL character', 'take it out: no file system knows such paths');
      if (list === 'directories' ? isKept(path) || path === KEPT_BELOW : isKept(path)) {
        refuse(field, path, 'is what the machine-config-daemon keeps for itself', 'choose another path');
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
    const cure = 'write the content itself, as a data: URL: running nodes fetch nothing';
    refuse(`${at}.source`, source, 'is not in the config', cure);
  }
  if (compression === undefined || compression === '') return;
  try {
    decodeContents(source, compression);
  } catch (error) {
    if (!(error instanceof DataUrlError)) throw error;
    throw new RenderError(`spec.config.${at}.source: ${error.message}`, {
      cure: `compress the content with ${compression}, or leave ${at}.compression out`,
    });
  }
}
