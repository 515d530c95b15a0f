import { ConfigAnnotations } from '../constants/annotations.ts';
import type { KubeletConfig } from '../kinds/kubelet-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { checkSelector, SelectorError, selects } from '../selectors.ts';
import { KubeletConfigError } from './validate.ts';

/** Suffixes are one digit: names are sorted by bytes, and the newest must come last. */
const MAX_SUFFIX = 9;

/** Name of the MachineConfig of a pool's kubelets. */
const baseName = (pool: string): string => `99-${pool}-generated-kubelet`;

/** Names that older controllers gave: by the pool's UID, and by the first design. */
export const formerNames = ({ metadata }: MachineConfigPool): readonly string[] => [
  `99-${metadata.name}-${metadata.uid}-kubelet`,
  `99-${metadata.name}-kubelet-managed`,
];

const withSuffix = (pool: string, suffix: string): string => baseName(pool) + (suffix === '' ? '' : `-${suffix}`);

/** Suffixes by pool as a KubeletConfig remembers them. */
function suffixMap({ metadata }: KubeletConfig): Readonly<Record<string, string>> {
  const text = metadata.annotations?.[ConfigAnnotations.MachineConfigNameSuffixes];
  if (text === undefined) return {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null) return {};
    return Object.fromEntries(
      Object.entries(parsed).filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
    );
  } catch {
    return {}; // somebody wrote it: the plain suffix is asked then
  }
}

/**
 * The suffix that a KubeletConfig has for a pool, if it has one. The original knows one for all pools of an object, by
 * which one object may overwrite the MachineConfig of another; it counts for pools that ours does not name.
 */
export function suffixOf(config: KubeletConfig, pool: string): string | undefined {
  const suffixes = suffixMap(config);
  if (Object.hasOwn(suffixes, pool)) return suffixes[pool];
  return Object.keys(suffixes).length > 0
    ? undefined
    : config.metadata.annotations?.[ConfigAnnotations.MachineConfigNameSuffix];
}

/** The annotations that remember a suffix; others stay. */
export function withSuffixFor(config: KubeletConfig, pool: string, suffix: string): Record<string, string> {
  const { annotations = {} } = config.metadata;
  const suffixes = { ...suffixMap(config), [pool]: suffix };
  return {
    ...annotations,
    [ConfigAnnotations.MachineConfigNameSuffix]: annotations[ConfigAnnotations.MachineConfigNameSuffix] ?? suffix,
    [ConfigAnnotations.MachineConfigNameSuffixes]: JSON.stringify(suffixes),
  };
}

/** What naming reads. */
export interface NamingInput {
  readonly pool: MachineConfigPool;
  readonly config: KubeletConfig;
  /** All that are stored. */
  readonly stored: readonly KubeletConfig[];
  readonly exists: (machineConfig: string) => boolean;
}

/** A name and what it is made of. */
export interface KubeletName {
  readonly name: string;
  readonly suffix: string;
  /** A MachineConfig under a name of older controllers, to be replaced. */
  readonly former?: string;
}

/**
 * The name of the MachineConfig of a KubeletConfig for a pool. The newest one has the largest suffix, so that it wins;
 * gaps are not filled.
 * @throws KubeletConfigError when there are too many for the pool
 */
export function nameKubeletConfig(input: NamingInput): KubeletName {
  const { pool, exists } = input;
  const suffix = findSuffix(input);
  const name = withSuffix(pool.metadata.name, suffix);
  const former = suffix === '' && !exists(name) ? formerNames(pool).find(exists) : undefined;
  return { name, suffix, ...(former !== undefined && { former }) };
}

function findSuffix({ pool, config, stored, exists }: NamingInput): string {
  const { name } = config.metadata;
  const own = stored.find(({ metadata }) => metadata.name === name);
  const known = own && suffixOf(own, pool.metadata.name);
  if (known !== undefined) return known;
  const rivals = selecting(pool, stored);
  if (rivals.every(({ metadata }) => metadata.name === name)) return '';
  const recovered = isNewest(config, rivals) ? undefined : fromFinalizers(config, pool, exists);
  return recovered ?? nextSuffix(pool, rivals);
}

/** The KubeletConfigs of a pool. @throws KubeletConfigError for a selector that cannot be understood */
export function selecting(pool: MachineConfigPool, stored: readonly KubeletConfig[]): readonly KubeletConfig[] {
  try {
    for (const { spec } of stored) checkSelector(spec?.machineConfigPoolSelector ?? undefined);
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    throw new KubeletConfigError(`invalid label selector: ${error.message}`, { cause: error });
  }
  return stored.filter(({ spec }) => selects(spec?.machineConfigPoolSelector, pool));
}

function isNewest(config: KubeletConfig, rivals: readonly KubeletConfig[]): boolean {
  const born = Date.parse(config.metadata.creationTimestamp);
  return rivals.every(({ metadata }) => Date.parse(metadata.creationTimestamp) <= born);
}

/** The finalizers name the MachineConfigs that were made. */
function fromFinalizers(
  { metadata }: KubeletConfig,
  pool: MachineConfigPool,
  exists: (name: string) => boolean,
): string | undefined {
  const base = baseName(pool.metadata.name);
  const suffixes = (metadata.finalizers ?? []).flatMap((name) => {
    if (name !== base && !/^-\d$/.test(name.slice(base.length))) return [];
    return name.startsWith(base) && exists(name) ? [name.slice(base.length + 1)] : [];
  });
  return suffixes.toSorted((a, b) => Number(a) - Number(b)).at(-1);
}

function nextSuffix(pool: MachineConfigPool, rivals: readonly KubeletConfig[]): string {
  const taken = rivals.map((rival) => suffixOf(rival, pool.metadata.name) ?? '');
  const bad = taken.find((suffix) => !/^\d*$/.test(suffix));
  if (bad !== undefined) throw new KubeletConfigError(`error converting ${bad} to int: strconv.Atoi: it is no number`);
  const next = Math.max(0, ...taken.map(Number)) + 1;
  if (next <= MAX_SUFFIX) return String(next);
  throw new KubeletConfigError(
    `max number of supported kubelet config (${MAX_SUFFIX + 1}) has been reached. Please delete old kubelet configs before retrying`,
  );
}
