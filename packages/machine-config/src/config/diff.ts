import { isDeepStrictEqual } from 'node:util';
import type { IgnitionConfig } from '../ignition/index.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { ignitionOf } from './parsed.ts';

/** The difference between two configs. */
export interface ConfigDiff {
  readonly files: readonly string[];
  readonly units: readonly string[];
  readonly passwd: boolean;
  readonly osImage: boolean;
  readonly kernelType: boolean;
  readonly extensions: boolean;
  readonly kernelArguments: boolean;
  readonly fips: boolean;
}

const NO_CONFIG: IgnitionConfig = { ignition: { version: '3.5.0' } };

export const ignitionOrEmpty = (config: Pick<MachineConfig, 'spec'> | undefined): IgnitionConfig =>
  (config && ignitionOf(config)) ?? NO_CONFIG;

/** Returns the difference between two configs. */
export function diffConfigs(old: MachineConfig | undefined, wanted: MachineConfig | undefined): ConfigDiff {
  const [before, after] = [ignitionOrEmpty(old), ignitionOrEmpty(wanted)];
  const [a, b] = [old?.spec ?? {}, wanted?.spec ?? {}];
  const kernel = (type: string | undefined) => (type === undefined || type === '' ? 'default' : type);
  return {
    files: changed(before.storage?.files, after.storage?.files, ({ path }) => path),
    units: changed(before.systemd?.units, after.systemd?.units, ({ name }) => name),
    passwd: !isDeepStrictEqual(before.passwd?.users ?? [], after.passwd?.users ?? []),
    osImage: (a.osImageURL ?? '') !== (b.osImageURL ?? ''),
    kernelType: kernel(a.kernelType) !== kernel(b.kernelType),
    extensions: !isDeepStrictEqual([...(a.extensions ?? [])].toSorted(), [...(b.extensions ?? [])].toSorted()),
    kernelArguments: !isDeepStrictEqual(a.kernelArguments ?? [], b.kernelArguments ?? []),
    fips: (a.fips ?? false) !== (b.fips ?? false),
  };
}

function changed<T>(old: readonly T[] = [], wanted: readonly T[] = [], keyOf: (one: T) => string): readonly string[] {
  const before = new Map(old.map((one) => [keyOf(one), one]));
  const after = new Map(wanted.map((one) => [keyOf(one), one]));
  const touched = [...after].filter(([key, one]) => !isDeepStrictEqual(before.get(key), one)).map(([key]) => key);
  return [...touched, ...[...before.keys()].filter((key) => !after.has(key))];
}
