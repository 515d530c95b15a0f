import type { CommonFlags } from '../flags/common-flags.ts';
import type { Flags, FlagValues } from '../flags/flag.ts';

/** Returns the flags and the features whose values differ from their defaults. */
export function reportedSettings(
  own: Flags,
  flags: FlagValues<CommonFlags> & Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const changed = Object.entries(own).filter(
    ([name, { fallback }]) => JSON.stringify(flags[name]) !== JSON.stringify(fallback),
  );
  const values = changed.map(([name]) => [name, flags[name]]);
  return { ...Object.fromEntries(values), 'feature-gates': flags['feature-gates'] };
}
