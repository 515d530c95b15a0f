import { readFile } from 'node:fs/promises';
import type { CreateDriver } from '@mcm/conformance';
import { createAwsDriver } from '@mcm/provider-aws';

/** The driver as its machine controller makes it: endpoint and region by the process's variables. */
export const createDriver: CreateDriver = (context) =>
  createAwsDriver({
    ...context,
    environment: {
      variables: process.env,
      readFile: (path) => readFile(path, 'utf8').catch(() => undefined), // what cannot be read is not there
    },
  });
