import type { Flags } from './flag.ts';

/** A flag's value as somebody wrote it. */
export interface Given {
  readonly text: string;
  /** Where it stands, as a complaint begins: `--port`, `MCM_FLAG_PORT`, `/etc/mcm.yaml:3: port`. */
  readonly source: string;
}

/**
 * The environment variable of a flag: `MCM_FLAG_MACHINE_DRAIN_TIMEOUT` for `machine-drain-timeout`. A bare `MCM_` would not do:
 * the kubelet sets `MCM_PORT` in every pod beside a Service called mcm.
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
