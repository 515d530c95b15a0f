/** Versions that are read, as the original's error texts list them. */
export const SUPPORTED_VERSIONS = '2.2,3.0,3.1,3.2,3.3,3.4,3.5';

/** A version that is read, by its parts. */
export type ReadableVersion = { readonly major: 2 } | { readonly major: 3; readonly minor: number };

// Versions 2.0 and 2.1 are subsets of 2.2 and are read although the texts do not name them.
const READABLE = /^(?:2\.[012]|3\.[0-5])\.0$/;

/**
 * Finds out what version a text names. Leading zeros do not count.
 * @returns `invalid` for what is no version, `unknown` for one that is not read
 */
export function readVersion(text: string): ReadableVersion | 'invalid' | 'unknown' {
  const parts = /^(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/.exec(text);
  if (!parts) return 'invalid';
  const [major, minor, patch] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  if (parts[4] !== undefined || !READABLE.test(`${major}.${minor}.${patch}`)) return 'unknown';
  return major === 2 ? { major } : { major: 3, minor };
}

/** A field that came with a later version of spec 3. */
interface Later {
  /** First minor version that has it. */
  readonly since: number;
  /** Path of the object that holds it; lists are walked. */
  readonly of: readonly string[];
  readonly field: string;
}

const later = (since: number, path: string): Later => {
  const parts = path.split('.');
  return { since, of: parts.slice(0, -1), field: parts.at(-1) ?? '' };
};

/** Fields by the version that they came with. Source: ignition, docs/migrating-configs.md. */
const LATER: readonly Later[] = [
  later(1, 'ignition.proxy'),
  later(1, 'ignition.config.merge.compression'),
  later(1, 'ignition.config.merge.httpHeaders'),
  later(1, 'ignition.config.replace.compression'),
  later(1, 'ignition.config.replace.httpHeaders'),
  later(1, 'ignition.security.tls.certificateAuthorities.compression'),
  later(1, 'ignition.security.tls.certificateAuthorities.httpHeaders'),
  later(1, 'storage.files.contents.httpHeaders'),
  later(1, 'storage.files.append.httpHeaders'),
  later(1, 'storage.filesystems.mountOptions'),
  later(2, 'storage.luks'),
  later(2, 'storage.disks.partitions.resize'),
  later(2, 'passwd.users.shouldExist'),
  later(2, 'passwd.groups.shouldExist'),
  later(3, 'kernelArguments'),
  later(4, 'storage.luks.discard'),
  later(4, 'storage.luks.openOptions'),
  later(4, 'storage.luks.clevis.tang.advertisement'),
  later(5, 'storage.luks.cex'),
];

/** Takes out, in place, what a version does not know: the original's decoder does not see it. */
export function dropLaterFields(config: object, minor: number): void {
  for (const { since, of, field } of LATER) if (minor < since) drop(config, of, field);
}

function drop(value: unknown, path: readonly string[], field: string): void {
  if (Array.isArray(value)) {
    for (const entry of value) drop(entry, path, field);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  const fields = value as Record<string, unknown>;
  const [head, ...rest] = path;
  if (head === undefined) delete fields[field];
  else drop(fields[head], rest, field);
}
