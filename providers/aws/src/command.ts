import { readFile } from 'node:fs/promises';
import { processContext, runMachineController, settingsOrExit } from '@mcm/core/driver';
import { createAwsDriver } from './driver/driver.ts';
import { loadSdk } from './ec2/client.ts';
import { awsEndpoints } from './settings.ts';

const endpoints = settingsOrExit('machine-controller-aws', () => awsEndpoints(process.env));

// Begun here, so that no machine waits for it; whoever needs the SDK is told why it cannot be loaded.
loadSdk().catch(() => undefined);

await runMachineController(
  createAwsDriver({
    ...processContext(),
    environment: {
      variables: process.env,
      readFile: (path) => readFile(path, 'utf8').catch(() => undefined), // what cannot be read is not there
    },
  }),
  { endpoints },
);
