import { join } from 'node:path';

/** Variables of the process, and a way to read files; missing files are undefined. */
export interface Environment {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => Promise<string | undefined>;
}

const MODES = ['standard', 'adaptive', 'legacy'];

/** `AWS_MAX_ATTEMPTS`; undefined when it is not set. @throws Error that names the variable */
export function maxAttemptsOf({ variables: { AWS_MAX_ATTEMPTS: text } }: Environment): number | undefined {
  if (!text) return undefined;
  if (!/^\d+$/.test(text))
    throw new Error(`AWS_MAX_ATTEMPTS=${text} is no number; set a number from 1 or leave it out`);
  return Math.max(Number(text), 1);
}

/** Settings that the SDK would quietly ignore. @throws Error that names the variable and the cure */
export async function checkEnvironment(environment: Environment): Promise<void> {
  const { AWS_RETRY_MODE: mode, AWS_PROFILE: profile } = environment.variables;
  maxAttemptsOf(environment);
  if (mode && !MODES.includes(mode.toLowerCase()))
    throw new Error(`AWS_RETRY_MODE=${mode} is unknown; use standard or adaptive, or leave it out`);
  if (profile && profile !== 'default' && !(await hasProfile(environment, profile)))
    throw new Error(`AWS_PROFILE names profile ${profile}, which the shared configuration files do not have`);
}

async function hasProfile({ variables, readFile }: Environment, profile: string): Promise<boolean> {
  const home = join(variables.HOME ?? '/', '.aws');
  const config = await readFile(variables.AWS_CONFIG_FILE ?? join(home, 'config'));
  const credentials = await readFile(variables.AWS_SHARED_CREDENTIALS_FILE ?? join(home, 'credentials'));
  const sections = (text = ''): string[] =>
    [...text.matchAll(/^\s*\[\s*([^\]]+?)\s*\]/gm)].map(([, name = '']) => name.replaceAll(/\s+/g, ' '));
  return sections(config).includes(`profile ${profile}`) || sections(credentials).includes(profile);
}
