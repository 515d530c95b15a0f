import { ConfigError } from '@mcm/kube';

/** The variables of the process, and functions that read files and run programs. */
export interface Environment {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => Promise<string | undefined>;
  /**
   * Runs a program for `credential_process` without a shell, and returns its standard output.
   * @throws Error with the error code of the operating system
   */
  readonly run?: (command: readonly [program: string, ...args: string[]], signal: AbortSignal) => Promise<string>;
}

/**
 * Returns the maximum number of attempts from the environment, or undefined if the variable is not set.
 * @throws ConfigError with the name of the variable
 */
export function maxAttemptsOf({ variables: { AWS_MAX_ATTEMPTS: text } }: Environment): number | undefined {
  if (!text) return undefined;
  if (!/^\d+$/.test(text))
    throw new ConfigError(`AWS_MAX_ATTEMPTS=${text} must be a number of at least 1; correct or remove the variable`);
  return Math.max(Number(text), 1);
}
