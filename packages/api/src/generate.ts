import { fileURLToPath } from 'node:url';
import { crds } from './crd/crds.ts';
import { generateCrdFiles } from './crd/generate-files.ts';

/** Writes the CRDs of this package into `deploy/crds`. */

const directory = fileURLToPath(new URL('../../../deploy/crds/', import.meta.url));

process.exitCode = generateCrdFiles({ crds, directory, source: '@mcm/api' }, process.argv.slice(2));
