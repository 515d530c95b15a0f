import { type At, Trail } from '../plan/trail.ts';
import { extensionOf, pathProblem } from '../values/paths.ts';
import type { Issue } from '../values/report.ts';
import { unitProblem } from '../values/unit-contents.ts';
import { schemeOf, urlProblem } from '../values/urls.ts';
import {
  IGNITION_PLAN,
  type IgnitionConfig,
  type IgnitionFile,
  type IgnitionFilesystem,
  type IgnitionLuks,
  type IgnitionRaid,
  type IgnitionResource,
  type IgnitionUnit,
} from '../versions/schema.ts';
import { checkDuplicates } from './duplicates.ts';
import {
  type Add,
  checkDisk,
  checkFilesystem,
  checkPartition,
  checkStorage,
  collector,
  type Storage,
} from './validate-storage.ts';

/**
 * Returns the problems of a config of version 3, with the texts and the order of the original. Source: ignition,
 * config/v3_0/types to config/v3_5/types.
 */
export function validateIgnition(config: IgnitionConfig, minor = 5): readonly Issue[] {
  const { issues, add } = collector();
  checkConfig(config, add);
  const checks = CHECKS.get(minor) ?? checksOf(minor);
  CHECKS.set(minor, checks);
  walk(checks, config, new Trail(), add);
  checkDuplicates(IGNITION_PLAN, config, '$', add);
  return issues;
}

/** Checks that files, directories and links do not have the path of a unit or drop-in. */
function checkConfig({ systemd, storage }: IgnitionConfig, add: Add): void {
  const units = new Set<string>();
  for (const unit of systemd?.units ?? []) {
    const path = `/etc/systemd/system/${unit.name}`;
    if (unit.contents) units.add(path);
    for (const dropin of unit.dropins ?? []) if (dropin.contents) units.add(`${path}.d/${dropin.name}`);
  }
  if (units.size === 0) return;
  for (const list of ['files', 'directories', 'links'] as const) {
    for (const [index, { path }] of (storage?.[list] ?? []).entries()) {
      if (units.has(path)) add(`$.storage.${list}.${index}.path`, 'path conflicts with systemd unit or dropin');
    }
  }
}

type Check<T> = (value: T, at: At, add: Add) => void;

interface Checks {
  readonly own?: Check<never>;
  readonly fields?: Readonly<Record<string, Checks>>;
}

function walk(checks: Checks, value: unknown, at: Trail, add: Add): void {
  if (value === undefined) return;
  const { parts } = at;
  if (Array.isArray(value)) {
    const depth = parts.length;
    for (let index = 0; index < value.length; index += 1) {
      parts[depth] = index;
      walk(checks, value[index], at, add);
    }
    parts.length = depth;
    return;
  }
  checks.own?.(value as never, at, add);
  const { fields } = checks;
  if (fields === undefined) return;
  for (const name in fields) {
    const inner = (value as Readonly<Record<string, unknown>>)[name];
    const field = fields[name];
    if (inner === undefined || !field) continue;
    parts.push(name);
    walk(field, inner, at, add);
    parts.pop();
  }
}

const own = <T>(check: Check<T>): Checks => ({ own: check as Check<never> });

const checkMode = (mode: number | undefined, at: At, add: Add): void => {
  if (mode !== undefined && (mode < 0 || mode > 0o7777)) add(`${at}.mode`, 'illegal file mode');
};

const OWNER = own<{ id?: number; name?: string }>(({ id, name }, at, add) => {
  if (id !== undefined && name) add(at, 'cannot set both id and name');
});

const HASHES: Readonly<Record<string, number>> = { sha512: 128 };
const LATER_HASHES: Readonly<Record<string, number>> = { ...HASHES, sha256: 64 };

/** Returns the problem of a hash, or undefined for a valid hash. */
export function verificationProblem(hash: string | undefined, minor: number): string | undefined {
  if (hash === undefined) return undefined;
  const dash = hash.indexOf('-');
  if (dash < 0) return 'malformed hash specifier';
  const size = (minor < 1 ? HASHES : LATER_HASHES)[hash.slice(0, dash)];
  if (size === undefined) return 'unrecognized hash function';
  return Buffer.byteLength(hash) - dash - 1 === size ? undefined : 'incorrect size for hash sum';
}

function headerProblem({ httpHeaders, source }: IgnitionResource): string | undefined {
  if (!httpHeaders?.length) return undefined;
  const scheme = source ? schemeOf(source) : undefined;
  if (scheme === undefined) return 'unable to parse url';
  return scheme === 'http' || scheme === 'https' ? undefined : 'cannot use HTTP headers with this source scheme';
}

/**
 * Returns the checks of a resource.
 * @param isContent true if the resource is the content of a file.
 */
const resource = (minor: number, isContent: boolean): Checks => ({
  ...own<IgnitionResource>((resource, at, add) => {
    const { compression = '', source, verification } = resource;
    if (compression !== '' && compression !== 'gzip') add(`${at}.compression`, 'invalid compression method');
    if (verification?.hash !== undefined && source === undefined && (isContent || minor >= 1)) {
      add(`${at}.verification.hash`, 'source must be specified if verification is specified');
    }
    const [unfetched, unsent] = [source ? urlProblem(source, minor) : undefined, headerProblem(resource)];
    if (unfetched) add(`${at}.source`, unfetched);
    if (unsent) add(`${at}.httpHeaders`, unsent);
  }),
  fields: {
    httpHeaders: own<{ name: string; value?: string }>(({ name, value }, at, add) => {
      if (name === '') add(`${at}.name`, "HTTP header name can't be empty");
      if (value === '') add(`${at}.value`, 'unable to parse HTTP header');
    }),
    verification: own<{ hash?: string }>(({ hash }, at, add) => add(`${at}.hash`, verificationProblem(hash, minor))),
  },
});

const requireSource: Check<readonly IgnitionResource[]> = (resources, at, add) => {
  for (const [index, { source }] of resources.entries()) if (!source) add(`${at}.${index}`, 'source is required');
};

const checkProxy: Check<{ httpProxy?: string; httpsProxy?: string }> = ({ httpProxy, httpsProxy }, at, add) => {
  for (const [name, url] of [
    ['httpProxy', httpProxy],
    ['httpsProxy', httpsProxy],
  ] as const) {
    if (url === undefined) continue;
    const scheme = schemeOf(url);
    if (scheme === undefined) add(`${at}.${name}`, 'unable to parse url');
    else if (scheme !== 'http' && scheme !== 'https') add(`${at}.${name}`, 'proxies must be http(s)');
  }
};

const checkFile: Check<IgnitionFile> = (file, at, add) => {
  const problem = pathProblem(file.path);
  if (problem) add(`${at}.path`, problem);
  checkMode(file.mode, at, add);
  if (file.overwrite && file.contents?.source === undefined) {
    add(`${at}.overwrite`, 'overwrite must be false if source is unspecified');
  }
};

const checkDirectory: Check<{ path: string; mode?: number }> = ({ path, mode }, at, add) => {
  add(`${at}.path`, pathProblem(path));
  checkMode(mode, at, add);
};

export const RAID_LEVELS = ['linear', 'raid0', '0', 'stripe', 'raid1', '1', 'mirror'].concat(
  ['raid4', '4', 'raid5', '5'].concat(['raid6', '6', 'raid10', '10']),
);

const checkRaid: Check<IgnitionRaid> = ({ level, spares, devices = [] }, at, add) => {
  if (!level) add(`${at}.level`, 'raid level is required');
  else if (!RAID_LEVELS.includes(level)) add(`${at}.level`, 'unrecognized raid level');
  else if (RAID_LEVELS.indexOf(level) < 4 && spares)
    add(`${at}.level`, 'spares unsupported for linear and raid0 arrays');
  if (devices.length === 0) add(`${at}.devices`, 'raid devices required');
  for (const [index, device] of devices.entries()) add(`${at}.devices.${index}`, pathProblem(device));
};

const isClevis = ({ clevis }: IgnitionLuks): boolean =>
  Boolean(clevis?.custom?.pin || clevis?.tang?.length || clevis?.tpm2 || clevis?.threshold);

const checkLuks = (luks: IgnitionLuks, at: At, add: Add, minor: number): void => {
  const { name, label, device, clevis, cex, keyFile } = luks;
  if (name.includes('/')) add(`${at}.name`, 'device names cannot contain slashes');
  if (label && Buffer.byteLength(label) > 47)
    add(`${at}.label`, 'luks device labels cannot be longer than 47 characters');
  add(`${at}.device`, device ? pathProblem(device) : 'disk device is required');
  const isCustom = minor < 3 ? clevis?.custom !== undefined : clevis?.custom?.pin;
  if (clevis && isCustom && (clevis.tang?.length || clevis.tpm2 || clevis.threshold)) {
    add(`${at}.clevis`, 'cannot use custom clevis config with tpm2, tang, or threshold');
  }
  if (keyFile?.source && urlProblem(keyFile.source, minor) !== undefined) add(`${at}.keys`, 'invalid key-file source');
  if (cex?.enabled && isClevis(luks)) add(`${at}.cex`, 'cannot use cex with clevis');
  if (cex?.enabled && keyFile?.source) add(`${at}.cex`, 'cannot use key file with cex');
};

interface Custom {
  config?: string;
  needsNetwork?: boolean;
  pin?: string;
}

const checkCustom = ({ config, needsNetwork, pin }: Custom, at: At, add: Add, minor: number): void => {
  if (!pin && !config && !(needsNetwork && minor >= 3)) return;
  if (!pin) add(`${at}.pin`, 'missing required custom clevis pin');
  else if (!['tpm2', 'tang', 'sss'].includes(pin)) add(`${at}.pin`, 'unsupported clevis pin');
  if (!config) add(`${at}.config`, 'missing required custom clevis config');
};

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // An invalid URL must not throw an error, so the check returns false.
  }
};

const TANG = own<{ url?: string; thumbprint?: string; advertisement?: string }>((tang, at, add) => {
  const scheme = schemeOf(tang.url ?? '');
  if (scheme === undefined) add(`${at}.url`, 'unable to parse url');
  else if (scheme !== 'http' && scheme !== 'https') add(`${at}.url`, 'invalid url scheme');
  if (!tang.thumbprint) add(`${at}.thumbprint`, 'thumbprint is required');
  if (tang.advertisement && !isJson(tang.advertisement)) add(`${at}.advertisement`, 'advertisement is not valid JSON');
});

export const UNIT_EXTENSIONS = ['.service', '.socket', '.device', '.mount', '.automount', '.swap', '.target'].concat([
  '.path',
  '.timer',
  '.snapshot',
  '.slice',
  '.scope',
]);

const checkUnit: Check<IgnitionUnit> = ({ name, contents }, at, add) => {
  if (!UNIT_EXTENSIONS.includes(extensionOf(name))) add(`${at}.name`, 'invalid systemd unit extension');
  add(`${at}.contents`, unitProblem(contents));
};

const DROPIN = own<{ name: string; contents?: string }>(({ name, contents }, at, add) => {
  add(`${at}.contents`, unitProblem(contents));
  if (extensionOf(name) !== '.conf') add(`${at}.name`, 'invalid systemd drop-in extension');
});

const owners = { group: OWNER, user: OWNER };

const CHECKS = new Map<number, Checks>();

const checksOf = (minor: number): Checks => ({
  fields: {
    ignition: {
      fields: {
        config: {
          ...own<{ merge?: IgnitionResource[] }>(({ merge = [] }, at, add) => {
            if (minor >= 1) requireSource(merge, `${at}.merge`, add);
          }),
          fields: { merge: resource(minor, false), replace: resource(minor, false) },
        },
        proxy: own(checkProxy),
        security: {
          fields: {
            tls: {
              ...own<{ certificateAuthorities?: IgnitionResource[] }>(({ certificateAuthorities = [] }, at, add) =>
                requireSource(certificateAuthorities, `${at}.certificateAuthorities`, add),
              ),
              fields: { certificateAuthorities: resource(minor, false) },
            },
          },
        },
      },
    },
    storage: {
      ...own<Storage>((storage, at, add) => checkStorage(storage, at, add, minor)),
      fields: {
        directories: { ...own(checkDirectory), fields: owners },
        disks: { ...own(checkDisk), fields: { partitions: own(checkPartition) } },
        files: {
          ...own(checkFile),
          fields: { ...owners, append: resource(minor, true), contents: resource(minor, true) },
        },
        filesystems: own<IgnitionFilesystem>((filesystem, at, add) => checkFilesystem(filesystem, at, add, minor)),
        links: {
          ...own<{ path: string }>(({ path }, at, add) => add(`${at}.path`, pathProblem(path))),
          fields: owners,
        },
        luks: {
          ...own<IgnitionLuks>((luks, at, add) => checkLuks(luks, at, add, minor)),
          fields: {
            clevis: {
              fields: { custom: own<Custom>((custom, at, add) => checkCustom(custom, at, add, minor)), tang: TANG },
            },
            keyFile: resource(minor, true),
          },
        },
        raid: own(checkRaid),
      },
    },
    systemd: { fields: { units: { ...own(checkUnit), fields: { dropins: DROPIN } } } },
  },
});
