import { nearest } from '../base/nearest.ts';
import type { Flags } from './flag.ts';

export interface Given {
  readonly text: string;
  readonly source: string;
}

/**
 * Returns the environment variable of a flag, such as `MCM_FLAG_MACHINE_DRAIN_TIMEOUT` for `machine-drain-timeout`. The
 * prefix `MCM_` alone is not safe: for a Service with the name mcm, the kubelet sets `MCM_PORT` in every pod.
 */
export const variableOf = (flag: string): string => `MCM_FLAG_${flag.replaceAll('-', '_').toUpperCase()}`;

/** Returns the flags that environment variables set. */
export function givenByEnvironment(
  flags: Flags,
  env: Readonly<Record<string, string | undefined>>,
): ReadonlyMap<string, Given> {
  const given = new Map<string, Given>();
  for (const name of Object.keys(flags)) {
    const text = env[variableOf(name)];
    if (text !== undefined && text !== '') given.set(name, { text, source: variableOf(name) });
  }
  return given;
}

/** Returns the variables that match no flag. */
export function unknownVariables(flags: Flags, env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const known = Object.keys(flags).map(variableOf);
  return Object.keys(env)
    .filter((name) => name.startsWith(variableOf('')) && !known.includes(name))
    .map((name) => {
      const meant = nearest(name, known);
      return `${name} has no effect: unknown flag${meant === undefined ? '' : `; did you mean ${meant}?`}`;
    });
}
