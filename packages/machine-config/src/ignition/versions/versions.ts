import { type FieldPlan, objectPlan, type Plan, planOf } from '../plan/plan.ts';
import { parseGoUrl } from '../values/go-url.ts';
import { IGNITION_PLAN } from './schema.ts';
import { ignitionV1Schema } from './schema-v1.ts';
import { IGNITION_V2_PLAN } from './schema-v2.ts';

/** The supported versions, in the format of the original's error texts. */
export const SUPPORTED_VERSIONS = '2.2,3.0,3.1,3.2,3.3,3.4,3.5';

export interface ReadableVersion {
  readonly major: 2 | 3;
  readonly minor: number;
}

// Error texts do not name the versions 2.0 and 2.1, although mcm supports both.
const READABLE = /^(?:2\.[012]|3\.[0-5])\.0$/;

/**
 * Reads a version.
 * @returns `invalid` for an invalid version, `unknown` for an unsupported version
 */
export function readVersion(text: string): ReadableVersion | 'invalid' | 'unknown' {
  const parts = /^(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/.exec(text);
  if (!parts) return 'invalid';
  const [major, minor, patch] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  if (parts[4] !== undefined || parts[5] !== undefined || !READABLE.test(`${major}.${minor}.${patch}`))
    return 'unknown';
  return { major: major === 2 ? 2 : 3, minor };
}

/** Source: ignition, docs/migrating-configs.md. */
type Later = Readonly<Record<string, number>>;

const LATER: Later = {
  'ignition.proxy': 1,
  'ignition.config.merge.compression': 1,
  'ignition.config.merge.httpHeaders': 1,
  'ignition.config.replace.compression': 1,
  'ignition.config.replace.httpHeaders': 1,
  'ignition.security.tls.certificateAuthorities.compression': 1,
  'ignition.security.tls.certificateAuthorities.httpHeaders': 1,
  'storage.files.contents.httpHeaders': 1,
  'storage.files.append.httpHeaders': 1,
  'storage.filesystems.mountOptions': 1,
  'storage.luks': 2,
  'storage.disks.partitions.resize': 2,
  'passwd.users.shouldExist': 2,
  'passwd.groups.shouldExist': 2,
  kernelArguments: 3,
  'storage.luks.discard': 4,
  'storage.luks.openOptions': 4,
  'storage.luks.clevis.tang.advertisement': 4,
  'storage.luks.cex': 5,
};

/** For each field, the minor version of Ignition 2 that added the field. */
const LATER_V2: Later = {
  'ignition.timeouts': 1,
  'ignition.security': 2,
  'networkd.units.dropins': 2,
  'passwd.users.gecos': 1,
  'passwd.users.groups': 1,
  'passwd.users.homeDir': 1,
  'passwd.users.noCreateHome': 1,
  'passwd.users.noLogInit': 1,
  'passwd.users.noUserGroup': 1,
  'passwd.users.primaryGroup': 1,
  'passwd.users.shell': 1,
  'passwd.users.system': 1,
  'passwd.users.uid': 1,
  'storage.directories': 1,
  'storage.links': 1,
  'storage.disks.partitions.guid': 1,
  'storage.files.append': 2,
  'storage.files.group.name': 1,
  'storage.files.user.name': 1,
  'storage.files.overwrite': 2,
  'storage.directories.overwrite': 2,
  'storage.links.overwrite': 2,
  'storage.filesystems.mount.label': 1,
  'storage.filesystems.mount.options': 1,
  'storage.filesystems.mount.uuid': 1,
  'storage.filesystems.mount.wipeFilesystem': 1,
  'storage.raid.options': 2,
  'systemd.units.enabled': 1,
};

const url = (text: string): boolean => parseGoUrl(text) !== undefined;
const hash = (text: string): boolean => text.includes('-');
const unsigned = (number: number): boolean => number >= 0;
const unsigned32 = (number: number): boolean => number >= 0 && number <= 0xff_ff_ff_ff;

type Limits = Readonly<{
  texts: Readonly<Record<string, (text: string) => boolean>>;
  numbers: Readonly<Record<string, (number: number) => boolean>>;
}>;

const LIMITS_V2_0: Limits = {
  texts: {
    'ignition.config.append.source': url,
    'ignition.config.append.verification.hash': hash,
    'ignition.config.replace.source': url,
    'ignition.config.replace.verification.hash': hash,
    'storage.files.contents.source': url,
    'storage.files.contents.verification.hash': hash,
  },
  numbers: {
    'passwd.groups.gid': unsigned,
    'passwd.users.create.uid': unsigned,
    'storage.disks.partitions.size': unsigned,
    'storage.disks.partitions.start': unsigned,
    'storage.files.mode': unsigned32,
    'storage.filesystems.files.mode': unsigned32,
  },
};

const plans = new Map<string, Plan>();

export function planOfVersion({ major, minor }: ReadableVersion): Plan {
  const name = `${major}.${minor}`;
  const known = plans.get(name) ?? (major === 2 ? planOfV2(minor) : until(IGNITION_PLAN, minor, LATER, []));
  plans.set(name, known);
  return known;
}

/**
 * Returns the plan of version 2; only the decoder of version 2.0 checks URLs, hashes and unsigned numbers. Source:
 * config/v2_0/types.
 */
const planOfV2 = (minor: number): Plan => {
  const plan = until(IGNITION_V2_PLAN, minor, LATER_V2, []);
  return minor === 0 ? limited(plan, LIMITS_V2_0, []) : plan;
};

function until(plan: Plan, minor: number, later: Later, path: readonly string[]): Plan {
  if (plan.kind === 'list') return { ...plan, entry: until(plan.entry, minor, later, path) };
  if (plan.kind !== 'object') return plan;
  const fields = plan.fields.flatMap((field): FieldPlan[] => {
    const inner = [...path, field.name];
    const since = later[inner.join('.')] ?? 0;
    return since > minor ? [] : [{ ...field, plan: until(field.plan, minor, later, inner) }];
  });
  return objectPlan(fields);
}

function limited(plan: Plan, limits: Limits, path: readonly string[]): Plan {
  if (plan.kind === 'list') return { ...plan, entry: limited(plan.entry, limits, path) };
  if (plan.kind === 'object') {
    return objectPlan(
      plan.fields.map((field) => ({ ...field, plan: limited(field.plan, limits, [...path, field.name]) })),
    );
  }
  const name = path.join('.');
  if (plan.kind === 'string' && limits.texts[name]) return { ...plan, accepts: limits.texts[name] };
  if (plan.kind === 'integer' && limits.numbers[name]) return { ...plan, accepts: limits.numbers[name] };
  return plan;
}

export const IGNITION_V1_PLAN = limited(planOf(ignitionV1Schema), LIMITS_V2_0, []);
