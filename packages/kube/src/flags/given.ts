import { nearest } from '../base/nearest.ts';
import type { Flags } from './flag.ts';

export interface Given {
  readonly text: string;
  /**
   * The source of a value, with which an error starts, such as `--port`, `MCM_FLAG_PORT` or `/etc/mcm.yaml:3: port`.
   */
  readonly source: string;
}

/**
 * Returns the environment variable of a flag, such as `MCM_FLAG_MACHINE_DRAIN_TIMEOUT` for `machine-drain-timeout`. The
 * prefix `MCM_` alone is not safe. For a Service with the name mcm, the kubelet sets `MCM_PORT` in every pod.
 */
export const variableOf = (flag: string): string => `MCM_FLAG_${flag.replaceAll('-', '_').toUpperCase()}`;

/** Returns the flags that environment variables set. Empty variables are ignored. */
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

/**
 * Returns the variables that match no flag. Such a variable is not an error, because all containers of a pod may have
 * equal environments.
 */
export function unknownVariables(flags: Flags, env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const known = Object.keys(flags).map(variableOf);
  return Object.keys(env)
    .filter((name) => name.startsWith(variableOf('')) && !known.includes(name))
    .map((name) => {
      const meant = nearest(name, known);
      return `${name} has no effect: unknown flag${meant === undefined ? '' : `; did you mean ${meant}?`}`;
    });
}
