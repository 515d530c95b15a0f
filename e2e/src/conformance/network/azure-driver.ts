import { readFile } from 'node:fs/promises';
import type { CreateDriver } from '@mcm/conformance';
import { createAzureDriver } from '@mcm/provider-azure';

/** The driver as its machine controller makes it: endpoints by the process's variables. */
export const createDriver: CreateDriver = (context) => {
  const { AZURE_RESOURCE_MANAGER_ENDPOINT: endpoint, AZURE_AUTHORITY_HOST: login } = process.env;
  return createAzureDriver({
    ...context,
    endpoint: endpoint || undefined,
    login: login || undefined,
    readFile: (path) => readFile(path, 'utf8').catch(() => undefined), // what cannot be read is not there
  });
};
