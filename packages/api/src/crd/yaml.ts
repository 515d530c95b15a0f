import { createRequire } from 'node:module';
import type { CustomResourceDefinition } from './custom-resource-definition.ts';

const header = (source: string): string =>
  `# Generated from the schemas of ${source} by \`pnpm generate\`. Do not edit.\n`;

/** Returns the file name of a CRD, as the generator of Kubernetes (controller-gen) names it. */
export const crdFileName = (crd: CustomResourceDefinition): string => `${crd.spec.group}_${crd.spec.names.plural}.yaml`;

/**
 * Formats a CRD as YAML without anchors, with long texts on one line.
 * @param source the package with the schemas.
 */
export function crdYaml(crd: CustomResourceDefinition, source = '@mcm/api'): string {
  // Only the generator of files needs the YAML library, so this function loads the library on demand.
  const { stringify } = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  return `${header(source)}---\n${stringify(crd, { aliasDuplicateObjects: false, lineWidth: 0, singleQuote: true })}`;
}
