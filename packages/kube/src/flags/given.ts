import { nearest } from '../base/nearest.ts';
import type { Flags } from './flag.ts';

/** A flag's value as somebody wrote it. */
export interface Given {
  readonly text: string;
  /** Where it stands, as a warning begins: `--port`, `MCM_FLAG_PORT`, `/etc/mcm.yaml:3: port`. */
  readonly source: string;
}

/**
 * The environment variable of a flag: `MCM_FLAG_MACHINE_DRAIN_TIMEOUT` for `machine-drain-timeout`. A bare `MCM_` would not do:
 * the kubelet sets `MCM_PORT` in every pod next to a Service called mcm.
 */
export const variableOf = (flag: string): string => `MCM_FLAG_${flag.replaceAll('-', '_').toUpperCase()}`;

/** What the environment says; an empty variable says nothing. */
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
 * Variables that look like those of flags and are none, one sentence each. They are no reason to end: the containers of a
 * pod may have the same environment.
 */
export function unknownVariables(flags: Flags, env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const known = Object.keys(flags).map(variableOf);
  return Object.keys(env)
    .filter((name) => name.startsWith(variableOf('')) && !known.includes(name))
    .map((name) => {
      const meant = nearest(name, known);
      return `${name} has no effect: this binary has no such flag${meant === undefined ? '' : `; did you mean ${meant}?`}`;
    });
}
