import { readFile } from 'node:fs/promises';
import type { CreateDriver } from '@mcm/conformance';
import { createGcpDriver } from '@mcm/provider-gcp';

export const createDriver: CreateDriver = (context) => {
  const { GOOGLE_COMPUTE_CUSTOM_ENDPOINT: endpoint, MCM_GCP_TOKEN_ENDPOINT: tokenEndpoint } = process.env;
  return createGcpDriver({
    ...context,
    endpoint: endpoint || undefined,
    tokenEndpoint: tokenEndpoint || undefined,
    readFile: (path) => readFile(path, 'utf8').catch(() => undefined), // An unreadable file counts as missing.
  });
};
