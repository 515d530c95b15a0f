import { readFile } from 'node:fs/promises';
import { processContext, runMachineController } from '@mcm/core';
import { createAzureDriver } from './driver/driver.ts';

const { AZURE_RESOURCE_MANAGER_ENDPOINT: endpoint, AZURE_AUTHORITY_HOST: login } = process.env;
const origin = (url: string): string => new URL(url).origin;

await runMachineController(
  createAzureDriver({
    ...processContext(),
    ...(endpoint ? { endpoint: origin(endpoint) } : {}),
    ...(login ? { login: origin(login) } : {}),
    readFile: (path) => readFile(path, 'utf8').catch(() => undefined), // what cannot be read is not there
  }),
);
