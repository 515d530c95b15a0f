import { ConfigError } from '@mcm/kube';

/** Variables of the process, and its ways to read files and to run programs; missing files are undefined. */
export interface Environment {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => Promise<string | undefined>;
  /** Runs a program without a shell and returns its standard output, for `credential_process`. Absent: no program is run. @throws Error with `code` */
  readonly run?: (command: readonly [program: string, ...args: string[]], signal: AbortSignal) => Promise<string>;
}

/** `AWS_MAX_ATTEMPTS`; undefined when it is not set. @throws ConfigError that names the variable */
export function maxAttemptsOf({ variables: { AWS_MAX_ATTEMPTS: text } }: Environment): number | undefined {
  if (!text) return undefined;
  if (!/^\d+$/.test(text))
    throw new ConfigError(`AWS_MAX_ATTEMPTS=${text} must be a number of at least 1; correct it or remove it`);
  return Math.max(Number(text), 1);
}
