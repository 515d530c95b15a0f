import { readFile } from 'node:fs/promises';
import { endpointSetting, processContext, runMachineController, settingsOrExit } from '@mcm/core';
import { createAzureDriver } from './driver/driver.ts';

const { endpoint, login } = settingsOrExit('machine-controller-azure', () => ({
  endpoint: endpointSetting('AZURE_RESOURCE_MANAGER_ENDPOINT', process.env)?.origin,
  login: endpointSetting('AZURE_AUTHORITY_HOST', process.env)?.origin,
}));

await runMachineController(
  createAzureDriver({
    ...processContext(),
    ...(endpoint ? { endpoint } : {}),
    ...(login ? { login } : {}),
    readFile: (path) => readFile(path, 'utf8').catch(() => undefined), // what cannot be read is not there
  }),
);
