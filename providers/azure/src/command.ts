import { readFile } from 'node:fs/promises';
import { processContext, runMachineController, settingsOrExit } from '@mcm/core/driver';
import { createAzureDriver } from './driver/driver.ts';
import { azureSettings } from './settings.ts';

const settings = settingsOrExit('machine-controller-azure', () => azureSettings(process.env));

await runMachineController(
  createAzureDriver({
    ...processContext(),
    ...settings,
    readFile: (path) => readFile(path, 'utf8').catch(() => undefined), // what cannot be read is not there
  }),
  { endpoints: { ...settings } },
);
