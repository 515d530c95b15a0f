import { readFile } from 'node:fs/promises';
import { processContext, runMachineController } from '@mcm/core/driver';
import { loadSdk } from './arm/sdk.ts';
import { azureFlags, azureSettings } from './arm/settings.ts';
import { type AzureDriverOptions, createAzureDriver } from './driver/driver.ts';

const environment: AzureDriverOptions = {
  ...processContext(),
  readFile: (path) => readFile(path, 'utf8').catch(() => undefined),
};

await runMachineController(createAzureDriver(environment), {
  provider: {
    flags: azureFlags,
    configure: (flags) => {
      const { settings, endpoints } = azureSettings(process.env, flags);
      // The SDK is loaded when the process starts, so that the first machine does not wait for it.
      loadSdk().catch(() => undefined);
      return { driver: createAzureDriver({ ...environment, ...settings }), endpoints };
    },
  },
});
