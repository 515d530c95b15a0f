import { readFile } from 'node:fs/promises';
import { processContext, runMachineController, settingsOrExit } from '@mcm/core/driver';
import { createGcpDriver } from './driver/driver.ts';
import { gcpSettings } from './settings.ts';

const settings = settingsOrExit('machine-controller-gcp', () => gcpSettings(process.env));

await runMachineController(
  createGcpDriver({
    ...processContext(),
    ...settings,
    readFile: (path) => readFile(path, 'utf8').catch(() => undefined), // what cannot be read is not there
  }),
  { endpoints: { ...settings } },
);
