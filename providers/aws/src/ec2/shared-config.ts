import { join } from 'node:path';
import type { Environment } from './environment.ts';

/** A section of a shared file: its settings, those of a nested group as `ec2.endpoint_url`. */
type Section = Readonly<Record<string, string>>;

/** What the shared files say of the profile in use. */
export interface SharedConfig {
  /** Whether one of the files has it. */
  readonly hasProfile: boolean;
  readonly profile: Section;
  /** The section of services that the profile names; undefined where it names none. */
  readonly services: { readonly name: string; readonly section: Section | undefined } | undefined;
}

/** Reads the shared configuration and credentials files as the SDK finds them; those that cannot be read are empty. */
export async function readSharedConfig({ variables, readFile }: Environment): Promise<SharedConfig> {
  const home = join(variables.HOME ?? '/', '.aws');
  const config = sectionsOf(await readFile(variables.AWS_CONFIG_FILE ?? join(home, 'config')));
  const credentials = sectionsOf(await readFile(variables.AWS_SHARED_CREDENTIALS_FILE ?? join(home, 'credentials')));
  const name = variables.AWS_PROFILE || 'default';
  const own = config.get(`profile ${name}`) ?? (name === 'default' ? config.get(name) : undefined);
  const kept = credentials.get(name);
  const profile = { ...kept, ...own };
  const { services } = profile;
  return {
    hasProfile: own !== undefined || kept !== undefined,
    profile,
    services: services ? { name: services, section: config.get(`services ${services}`) } : undefined,
  };
}

/** `[name]`, `key = value`, and indented below a key without a value the settings of its group. */
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
