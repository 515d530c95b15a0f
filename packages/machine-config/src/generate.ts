import { fileURLToPath } from 'node:url';
import { generateCrdFiles } from '@mcm/api/crd';
import { machineConfigCrds } from './crd/crds.ts';

/** With `--check`, the program prints the outdated files and exits with 1. */

const directory = fileURLToPath(new URL('../../../deploy/crds/', import.meta.url));

process.exitCode = generateCrdFiles(
  { crds: machineConfigCrds, directory, source: '@mcm/machine-config' },
  process.argv.slice(2),
);
