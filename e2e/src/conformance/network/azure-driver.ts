import { readFile } from 'node:fs/promises';
import type { CreateDriver } from '@mcm/conformance';
import { createAzureDriver } from '@mcm/provider-azure';

export const createDriver: CreateDriver = (context) => {
  const { AZURE_RESOURCE_MANAGER_ENDPOINT: endpoint, AZURE_AUTHORITY_HOST: login } = process.env;
  return createAzureDriver({
    ...context,
    endpoint: endpoint || undefined,
    login: login || undefined,
    readFile: (path) => readFile(path, 'utf8').catch(() => undefined), // An unreadable file counts as missing.
  });
};
