import { join } from 'node:path';
import type { Environment } from './environment.ts';

/** The settings of a section by name. A nested setting has a name such as `ec2.endpoint_url`. */
export type Section = Readonly<Record<string, string>>;

export interface SharedConfig {
  readonly hasProfile: boolean;
  readonly profile: Section;
  readonly services: { readonly name: string; readonly section: Section | undefined } | undefined;
}

interface SharedFiles {
  readonly config: ReadonlyMap<string, Section>;
  readonly credentials: ReadonlyMap<string, Section>;
}

async function readFiles({ variables, readFile }: Environment): Promise<SharedFiles> {
  const home = join(variables.HOME ?? '/', '.aws');
  return {
    config: sectionsOf(await readFile(variables.AWS_CONFIG_FILE ?? join(home, 'config'))),
    credentials: sectionsOf(await readFile(variables.AWS_SHARED_CREDENTIALS_FILE ?? join(home, 'credentials'))),
  };
}

/** Returns the settings of a profile. If both files contain a setting, the value in the credentials file applies. */
function profileIn({ config, credentials }: SharedFiles, name: string): Section | undefined {
  const own = config.get(`profile ${name}`) ?? (name === 'default' ? config.get(name) : undefined);
  const kept = credentials.get(name);
  return own || kept ? { ...own, ...kept } : undefined;
}

/** Reads the profiles from the shared files. */
export async function readProfiles(environment: Environment): Promise<(name: string) => Section | undefined> {
  const files = await readFiles(environment);
  return (name) => profileIn(files, name);
}

/** Reads the shared configuration from the paths that the SDK uses. */
export async function readSharedConfig(environment: Environment): Promise<SharedConfig> {
  const files = await readFiles(environment);
  const own = profileIn(files, environment.variables.AWS_PROFILE || 'default');
  const profile = own ?? {};
  const { services } = profile;
  return {
    hasProfile: own !== undefined,
    profile,
    services: services ? { name: services, section: files.config.get(`services ${services}`) } : undefined,
  };
}

/** Parses the sections of a shared file: `[name]`, `key = value`, and indented settings below a key without a value. */
function sectionsOf(text = ''): ReadonlyMap<string, Section> {
  const sections = new Map<string, Record<string, string>>();
  let section: Record<string, string> | undefined;
  let group = '';
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*([#;]|$)/.test(line)) continue;
    const header = /^\s*\[\s*([^\]]+?)\s*\]/.exec(line)?.[1];
    if (header !== undefined) {
      section = {};
      group = '';
      sections.set(header.replaceAll(/\s+/g, ' ').replaceAll(/["']/g, ''), section);
      continue;
    }
    const [, indent = '', key = '', value = ''] = /^(\s*)([^=\s]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (!section || key === '') continue;
    if (indent === '') group = value === '' ? key : '';
    section[indent !== '' && group !== '' ? `${group}.${key}` : key] = value;
  }
  return sections;
}
