import { createRequire } from 'node:module';
import type { CustomResourceDefinition } from './custom-resource-definition.ts';

const header = (source: string): string =>
  `# Generated from the schemas of ${source} by \`pnpm generate\`. Do not edit.\n`;

/** As controller-gen names the file. */
export const crdFileName = (crd: CustomResourceDefinition): string => `${crd.spec.group}_${crd.spec.names.plural}.yaml`;

/**
 * Formats a CRD. The content is always the same for the same CRD, without anchors, and with long texts on one line.
 * @param source The package with the schemas.
 */
export function crdYaml(crd: CustomResourceDefinition, source = '@mcm/api'): string {
  // Only the generation of files needs this library.
  const { stringify } = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  return `${header(source)}---\n${stringify(crd, { aliasDuplicateObjects: false, lineWidth: 0, singleQuote: true })}`;
}
