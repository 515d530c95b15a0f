import { stringify } from 'yaml';
import { GROUP } from '../group.ts';
import type { CustomResourceDefinition } from './custom-resource-definition.ts';

const HEADER = '# Generated from the schemas of @mcm/api by `pnpm generate`. Do not edit.\n';

/** Name of the file that holds a CRD, as controller-gen names it. */
export const crdFileName = (crd: CustomResourceDefinition): string => `${GROUP}_${crd.spec.names.plural}.yaml`;

/** The file's content: deterministic, without anchors, long texts on one line. */
export const crdYaml = (crd: CustomResourceDefinition): string =>
  `${HEADER}---\n${stringify(crd, { aliasDuplicateObjects: false, lineWidth: 0, singleQuote: true })}`;
