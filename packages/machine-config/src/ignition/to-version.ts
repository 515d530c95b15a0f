import { parseIgnition } from './read.ts';
import { validateIgnition } from './validation/validate.ts';
import { IgnitionError, printIssues } from './values/report.ts';
import { IGNITION_VERSION, type IgnitionConfig } from './versions/schema.ts';
import { toV2 } from './versions/to-v2.ts';

/** Versions of Ignition in which the config server can serve a config. */
export const SERVED_VERSIONS = ['2.2.0', '3.1.0', '3.2.0', '3.3.0', '3.4.0', IGNITION_VERSION] as const;

/** A version in which the config server can serve a config. */
export type ServedVersion = (typeof SERVED_VERSIONS)[number];

interface Missing {
  readonly since: number;
  readonly used: (config: IgnitionConfig) => boolean;
  readonly message: string;
}

const luksOf = (config: IgnitionConfig) => config.storage?.luks ?? [];
const isSpecial = ({ mode = 0 }: { mode?: number }): boolean => mode > 0o777;

// Source: coreos/ign-converter, translate/v34tov33 and below.
const MISSING: readonly Missing[] = [
  {
    since: 5,
    used: (config) => luksOf(config).some(({ cex }) => cex?.enabled !== undefined),
    message: 'Invalid input config: luks cex is not supported in spec v3.4',
  },
  {
    since: 4,
    used: (config) => luksOf(config).some(({ clevis }) => clevis?.tang?.some(({ advertisement }) => advertisement)),
    message: 'Invalid input config: tang offline provisioning is not supported in spec v3.3',
  },
  {
    since: 4,
    used: (config) => luksOf(config).some(({ discard }) => discard),
    message: 'Invalid input config: luks discard is not supported in spec v3.3',
  },
  {
    since: 4,
    used: (config) => luksOf(config).some(({ openOptions }) => openOptions?.length),
    message: 'Invalid input config: luks openOptions is not supported in spec v3.3',
  },
  {
    since: 4,
    used: ({ storage }) => [...(storage?.directories ?? []), ...(storage?.files ?? [])].some(isSpecial),
    message: 'Invalid input config: special mode bits are not supported in spec v3.3',
  },
  {
    since: 3,
    used: ({ kernelArguments }) =>
      Boolean(kernelArguments?.shouldExist?.length || kernelArguments?.shouldNotExist?.length),
    message: 'KernelArguments is not supported on 3.2',
  },
  { since: 2, used: (config) => luksOf(config).length > 0, message: 'LUKS is not supported on 3.1' },
  {
    since: 2,
    used: ({ passwd }) => (passwd?.users ?? []).some(({ shouldExist }) => shouldExist === false),
    message: 'ShouldExist in Passwd.Users is not supported on 3.1',
  },
  {
    since: 2,
    used: ({ passwd }) => (passwd?.groups ?? []).some(({ shouldExist }) => shouldExist === false),
    message: 'ShouldExist in Passwd.Groups is not supported on 3.1',
  },
  {
    since: 2,
    used: ({ storage }) => (storage?.disks ?? []).some((disk) => disk.partitions?.some(({ resize }) => resize)),
    message: 'Resize in Storage.Disks.Partitions is not supported on 3.1',
  },
];

/**
 * Writes a config in the requested version.
 * @param raw a config of spec 3
 * @throws IgnitionError naming the feature that the version does not have
 */
export function toIgnitionVersion(raw: unknown, version: string): object {
  const parsed = parseIgnition(raw);
  if (parsed.version !== 3) {
    throw new IgnitionError('parsing Ignition config failed with error: unsupported config version\nReport: ');
  }
  if (!(SERVED_VERSIONS as readonly string[]).includes(version)) {
    throw new IgnitionError(
      `conversion for source version ${IGNITION_VERSION} to target version ${version} is not supported ` +
        'the requested conversion is not supported',
    );
  }
  const { config } = parsed;
  const minor = version === '2.2.0' ? 2 : Number(version.split('.')[1]);
  const missing = MISSING.find(({ since, used }) => minor < since && used(config));
  if (missing) throw new IgnitionError(missing.message);
  // The validation finds values that the version does not support, such as the scheme of a URL.
  const issues = validateIgnition(config, minor);
  if (issues.length > 0) {
    throw new IgnitionError(`Converted spec has unexpected fatal error:\n${printIssues(issues)}`, issues);
  }
  return version === '2.2.0' ? toV2(config) : { ...config, ignition: { ...config.ignition, version } };
}
