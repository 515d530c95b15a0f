import { ConfigAnnotations } from '../constants/annotations.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { checkSelector, SelectorError, selects } from '../kinds/selectors.ts';
import { NodeConfigError } from './error.ts';
import type { NodeConfig, NodeConfigNaming } from './kind.ts';

/**
 * The largest suffix of a name. A suffix has one digit, because names are sorted by bytes and the newest name must be
 * last.
 */
const MAX_SUFFIX = 9;

const baseName = ({ part }: NodeConfigNaming, { metadata }: MachineConfigPool): string =>
  `99-${metadata.name}-generated-${part}`;

function suffixMap({ metadata }: NodeConfig): Readonly<Record<string, string>> {
  const text = metadata.annotations?.[ConfigAnnotations.MachineConfigNameSuffixes];
  if (text === undefined) return {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null) return {};
    return Object.fromEntries(
      Object.entries(parsed).filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
    );
  } catch {
    return {}; // A user wrote an invalid annotation, so mcm ignores the annotation.
  }
}

/**
 * Returns the suffix of an object for a pool. If mcm has stored no suffix for any pool, the suffix of the original
 * applies to all pools.
 */
export function suffixOf(config: NodeConfig, pool: string): string | undefined {
  const suffixes = suffixMap(config);
  if (Object.hasOwn(suffixes, pool)) return suffixes[pool];
  return Object.keys(suffixes).length > 0
    ? undefined
    : config.metadata.annotations?.[ConfigAnnotations.MachineConfigNameSuffix];
}

/** Returns the annotations with the suffix for a pool. */
export function withSuffixFor(config: NodeConfig, pool: string, suffix: string): Record<string, string> {
  const { annotations = {} } = config.metadata;
  const suffixes = { ...suffixMap(config), [pool]: suffix };
  return {
    ...annotations,
    [ConfigAnnotations.MachineConfigNameSuffix]: annotations[ConfigAnnotations.MachineConfigNameSuffix] ?? suffix,
    [ConfigAnnotations.MachineConfigNameSuffixes]: JSON.stringify(suffixes),
  };
}

/** The input from which the name of a MachineConfig is computed. */
export interface NamingInput {
  readonly naming: NodeConfigNaming;
  readonly pool: MachineConfigPool;
  readonly config: NodeConfig;
  readonly stored: readonly NodeConfig[];
  readonly exists: (machineConfig: string) => boolean;
}

/** The name of a MachineConfig, and the parts of the name. */
export interface NodeConfigName {
  readonly name: string;
  readonly suffix: string;
  readonly former?: string | undefined;
}

/**
 * Returns the name of a MachineConfig.
 * @throws NodeConfigError if the pool has too many objects
 */
export function nameNodeConfig(input: NamingInput): NodeConfigName {
  const { naming, pool, exists } = input;
  const suffix = findSuffix(input);
  const name = baseName(naming, pool) + (suffix === '' ? '' : `-${suffix}`);
  const former = suffix === '' && !exists(name) ? naming.formerNames(pool).find(exists) : undefined;
  return { name, suffix, former };
}

function findSuffix(input: NamingInput): string {
  const { pool, config, stored } = input;
  const { name } = config.metadata;
  const own = stored.find(({ metadata }) => metadata.name === name);
  const known = own && suffixOf(own, pool.metadata.name);
  if (known !== undefined) return known;
  const rivals = selecting(pool, stored);
  if (rivals.every(({ metadata }) => metadata.name === name)) return '';
  const recovered = isNewest(config, rivals) ? undefined : fromFinalizers(input);
  return recovered ?? nextSuffix(input, rivals);
}

/** Returns the objects that select the pool. */
export function selecting<T extends NodeConfig>(pool: MachineConfigPool, stored: readonly T[]): readonly T[] {
  try {
    for (const { spec } of stored) checkSelector(spec?.machineConfigPoolSelector ?? undefined);
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    throw new NodeConfigError(`invalid label selector: ${error.message}`, { cause: error });
  }
  return stored.filter(({ spec }) => selects(spec?.machineConfigPoolSelector, pool));
}

function isNewest(config: NodeConfig, rivals: readonly NodeConfig[]): boolean {
  const born = Date.parse(config.metadata.creationTimestamp);
  return rivals.every(({ metadata }) => Date.parse(metadata.creationTimestamp) <= born);
}

function fromFinalizers({ naming, config, pool, exists }: NamingInput): string | undefined {
  const base = baseName(naming, pool);
  const suffixes = (config.metadata.finalizers ?? []).flatMap((name) => {
    if (name !== base && !/^-\d$/.test(name.slice(base.length))) return [];
    return name.startsWith(base) && exists(name) ? [name.slice(base.length + 1)] : [];
  });
  return suffixes.toSorted((a, b) => Number(a) - Number(b)).at(-1);
}

function nextSuffix({ naming, pool }: NamingInput, rivals: readonly NodeConfig[]): string {
  const taken = rivals.map((rival) => suffixOf(rival, pool.metadata.name) ?? '');
  const bad = taken.find((suffix) => !/^\d*$/.test(suffix));
  if (bad !== undefined) throw new NodeConfigError(`error converting ${bad} to int: strconv.Atoi: not a number`);
  const next = Math.max(0, ...taken.map(Number)) + 1;
  if (next <= MAX_SUFFIX) return String(next);
  throw new NodeConfigError(
    `max number of supported ${naming.noun} (${MAX_SUFFIX + 1}) has been reached. Please delete old ${naming.noun}s before retrying`,
  );
}
