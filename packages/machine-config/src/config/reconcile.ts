import { isDeepStrictEqual } from 'node:util';
import { FORCE_FILE_PATH } from '../constants/names.ts';
import { type IgnitionConfig, IgnitionError, type IgnitionUser } from '../ignition/index.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { ignitionOf } from './parsed.ts';

/** Sections of `storage` in which an administrator may allow differences between the old and the new config. */
export type StorageOverride = 'Disks' | 'FileSystems' | 'Raid';

/** A change that cannot be applied to a running machine. */
export interface Irreconcilable {
  readonly message: string;
  readonly concerns?: (machineConfig: MachineConfig) => boolean;
}

/**
 * Returns the reason why a running machine cannot change to a new config.
 * @returns undefined if a running machine can change to the new config
 */
export function irreconcilable(
  current: MachineConfig,
  wanted: MachineConfig,
  overrides: readonly StorageOverride[] = [],
): Irreconcilable | undefined {
  const old = read(current, 'old');
  if ('message' in old) return old;
  const next = read(wanted, 'new');
  if ('message' in next) return next;
  return (
    passwdChange(old.config, next.config) ??
    sectionChanges(old.config, next.config, overrides) ??
    fileProblem(next.config) ??
    fipsChange(current, wanted)
  );
}

function read(config: MachineConfig, which: 'old' | 'new'): { config: IgnitionConfig } | Irreconcilable {
  const prefix = `parsing ${which} Ignition config from machineconfig ${JSON.stringify(config.metadata.name)} failed: `;
  try {
    const ignition = ignitionOf(config);
    if (ignition) return { config: ignition };
  } catch (error) {
    if (error instanceof IgnitionError) return { message: prefix + error.message };
    throw error;
  }
  const reason =
    'failed to parse Ignition config: parsing Ignition config spec v3 failed with error: not a config (empty)';
  return { message: `${prefix}${reason}\nReport: ` };
}

const holding =
  (part: (config: IgnitionConfig) => unknown) =>
  (machineConfig: MachineConfig): boolean => {
    try {
      const config = ignitionOf(machineConfig);
      return config !== undefined && part(config) !== undefined;
    } catch (error) {
      if (error instanceof IgnitionError) return false;
      throw error;
    }
  };

function passwdChange(old: IgnitionConfig, next: IgnitionConfig): Irreconcilable | undefined {
  const refuse = (message: string, part: (config: IgnitionConfig) => unknown): Irreconcilable => ({
    message: `invalid passwd change(s): ${message}`,
    concerns: holding(part),
  });
  if (isDeepStrictEqual(old.passwd, next.passwd)) return undefined;
  if (!isDeepStrictEqual(old.passwd?.groups, next.passwd?.groups)) {
    return refuse('ignition Passwd Groups section contains changes', (config) => config.passwd?.groups);
  }
  const users = next.passwd?.users ?? [];
  if (users.length === 0 || isDeepStrictEqual(old.passwd?.users, next.passwd?.users)) return undefined;
  const problem = userProblem(users);
  return problem === undefined ? undefined : refuse(problem, (config) => config.passwd?.users);
}

/** The fields of a user that the daemon can change; a change of any other field needs a new machine. */
const SETTABLE = new Set(['name', 'passwordHash', 'sshAuthorizedKeys']);
const UNSUPPORTED = 'ignition passwd user section contains unsupported changes: ';

function userProblem(users: readonly IgnitionUser[]): string | undefined {
  if (users.some(({ name }) => name !== 'core')) return `${UNSUPPORTED}non-core user`;
  const user = users.at(-1);
  if (!user) return undefined;
  if (Object.keys(user).some((field) => !SETTABLE.has(field))) return 'SSH keys and password hash are not reconcilable';
  if (user.passwordHash !== undefined || (user.sshAuthorizedKeys ?? []).length > 0) return undefined;
  return `${UNSUPPORTED}user must be core and have 1 or more sshKeys`;
}

function sectionChanges(
  old: IgnitionConfig,
  next: IgnitionConfig,
  overrides: readonly StorageOverride[],
): Irreconcilable | undefined {
  const sections: readonly [name: string, part: (config: IgnitionConfig) => unknown, override?: StorageOverride][] = [
    ['kargs', (config) => config.kernelArguments],
    ['disks', (config) => config.storage?.disks, 'Disks'],
    ['filesystems', (config) => config.storage?.filesystems, 'FileSystems'],
    ['raid', (config) => config.storage?.raid, 'Raid'],
    ['directories', (config) => config.storage?.directories],
    ['links', (config) => config.storage?.links],
  ];
  const changed = sections.find(([name, part, override]) => {
    if (override !== undefined && overrides.includes(override)) return false;
    if (isDeepStrictEqual(part(old), part(next))) return false;
    // The daemon can delete links only if the new config contains no links at all.
    return name !== 'links' || (next.storage?.links ?? []).length > 0;
  });
  if (!changed) return undefined;
  return { message: `ignition ${changed[0]} section contains changes`, concerns: holding(changed[1]) };
}

function fileProblem(next: IgnitionConfig): Irreconcilable | undefined {
  for (const { path, append = [] } of next.storage?.files ?? []) {
    const has = holding((config) => config.storage?.files?.find((file) => file.path === path));
    if (path === FORCE_FILE_PATH) return { message: `cannot create ${path} via Ignition`, concerns: has };
    if (append.length > 0) return { message: `ignition file ${path} includes append`, concerns: has };
  }
  return undefined;
}

function fipsChange(current: MachineConfig, wanted: MachineConfig): Irreconcilable | undefined {
  if ((current.spec?.fips ?? false) === (wanted.spec?.fips ?? false)) return undefined;
  return {
    message: 'detected change to FIPS flag; refusing to modify FIPS on a running cluster',
    concerns: ({ spec }) => spec?.fips === true,
  };
}
