import { readFile } from 'node:fs/promises';
import { endpointSetting, processContext, runMachineController, settingsOrExit } from '@mcm/core';
import { createGcpDriver } from './driver/driver.ts';

const { endpoint, tokenEndpoint } = settingsOrExit('machine-controller-gcp', () => ({
  endpoint: endpointSetting('GOOGLE_COMPUTE_CUSTOM_ENDPOINT', process.env)?.href.replace(/\/+$/, ''),
  tokenEndpoint: endpointSetting('MCM_GCP_TOKEN_ENDPOINT', process.env)?.href,
}));

await runMachineController(
  createGcpDriver({
    ...processContext(),
    ...(endpoint ? { endpoint } : {}),
    ...(tokenEndpoint ? { tokenEndpoint } : {}),
    readFile: (path) => readFile(path, 'utf8').catch(() => undefined), // what cannot be read is not there
  }),
);
