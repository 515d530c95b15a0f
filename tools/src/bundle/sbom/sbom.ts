import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PackageIn } from './package-in.ts';

interface PackageJson {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

export interface Component {
  readonly type: 'library' | 'application';
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: readonly { readonly expression: string }[] | undefined;
}

/** Returns the package URL of an npm package (purl-spec, type npm). In the URL, the @ of an npm scope is encoded. */
const purl = (name: string, version: string): string => `pkg:npm/${name.replace('@', '%40')}@${version}`;

const component = (type: Component['type'], { name, version, license }: PackageJson): Component => ({
  type,
  'bom-ref': purl(name, version),
  name,
  version,
  purl: purl(name, version),
  licenses: license === undefined ? undefined : [{ expression: license }],
});

/** Returns the sorted components of a bill of materials, one for each name and version of a package. */
export async function componentsOf(packages: readonly PackageIn[]): Promise<readonly Component[]> {
  const all = new Map<string, Component>();
  for (const { folder } of packages) {
    const made = component('library', JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as PackageJson);
    all.set(made.purl, made);
  }
  return [...all.values()].toSorted((a, b) => (a.purl < b.purl ? -1 : 1));
}

/**
 * Returns the bill of materials of a program in CycloneDX 1.6. The bill contains no time and no random number, so that
 * two equal builds have equal bills.
 */
export const billOfMaterials = (program: PackageJson, components: readonly Component[]): object => ({
  $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: { component: component('application', program) },
  components,
  dependencies: [{ ref: purl(program.name, program.version), dependsOn: components.map(({ purl: ref }) => ref) }],
});
