import { createRequire } from 'node:module';
import type { CustomResourceDefinition } from './custom-resource-definition.ts';

const header = (source: string): string =>
  `# Generated from the schemas of ${source} by \`pnpm generate\`. Do not edit.\n`;

/** Returns the file name of a CRD, as controller-gen names the file. */
export const crdFileName = (crd: CustomResourceDefinition): string => `${crd.spec.group}_${crd.spec.names.plural}.yaml`;

/**
 * Returns the content of a file. The content is always the same for the same CRD, without anchors, and with long texts on
 * one line.
 * @param source The package with the schemas.
 */
export function crdYaml(crd: CustomResourceDefinition, source = '@mcm/api'): string {
  // The library is loaded on demand, because only the generation of files needs it.
  const { stringify } = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  return `${header(source)}---\n${stringify(crd, { aliasDuplicateObjects: false, lineWidth: 0, singleQuote: true })}`;
}
