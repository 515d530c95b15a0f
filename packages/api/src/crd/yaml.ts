import { createRequire } from 'node:module';
import type { CustomResourceDefinition } from './custom-resource-definition.ts';

const header = (source: string): string =>
  `# Generated from the schemas of ${source} by \`pnpm generate\`. Do not edit.\n`;

/** Name of the file that holds a CRD, as controller-gen names it. */
export const crdFileName = (crd: CustomResourceDefinition): string => `${crd.spec.group}_${crd.spec.names.plural}.yaml`;

/** The file's content: deterministic, without anchors, long texts on one line. `source` is the package of its schemas. */
export function crdYaml(crd: CustomResourceDefinition, source = '@mcm/api'): string {
  // Loaded on demand, because only the generation of files needs it.
  const { stringify } = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  return `${header(source)}---\n${stringify(crd, { aliasDuplicateObjects: false, lineWidth: 0, singleQuote: true })}`;
}
