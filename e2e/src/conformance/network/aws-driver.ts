import { readFile } from 'node:fs/promises';
import type { CreateDriver } from '@mcm/conformance';
import { createAwsDriver } from '@mcm/provider-aws';

/**
 * The driver with the options of its machine controller. The environment variables of the process contain the endpoint
 * and the region.
 */
export const createDriver: CreateDriver = (context) =>
  createAwsDriver({
    ...context,
    environment: {
      variables: process.env,
      readFile: (path) => readFile(path, 'utf8').catch(() => undefined), // An unreadable file counts as missing.
    },
  });
