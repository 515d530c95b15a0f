import { readFile } from 'node:fs/promises';
import { processContext, runMachineController } from '@mcm/core';
import { createGcpDriver } from './driver/driver.ts';

const { GOOGLE_COMPUTE_CUSTOM_ENDPOINT: endpoint, MCM_GCP_TOKEN_ENDPOINT: tokenEndpoint } = process.env;

await runMachineController(
  createGcpDriver({
    ...processContext(),
    ...(endpoint ? { endpoint: endpoint.replace(/\/+$/, '') } : {}),
    ...(tokenEndpoint ? { tokenEndpoint } : {}),
    readFile: (path) => readFile(path, 'utf8').catch(() => undefined), // what cannot be read is not there
  }),
);
