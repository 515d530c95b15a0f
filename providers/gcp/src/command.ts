import { readFile } from 'node:fs/promises';
import { processContext, runMachineController } from '@mcm/core/driver';
import { createGcpDriver, type GcpDriverOptions } from './driver/driver.ts';
import { gcpFlags, gcpSettings } from './driver/settings.ts';
import { loadSdk } from './gce/sdk.ts';

const environment: GcpDriverOptions = {
  ...processContext(),
  readFile: (path) => readFile(path, 'utf8').catch(() => undefined),
};

await runMachineController(createGcpDriver(environment), {
  provider: {
    flags: gcpFlags,
    configure: (flags) => {
      const { settings, endpoints } = gcpSettings(process.env, flags);
      // The SDK is loaded when the process starts, so that the first machine does not wait for it.
      loadSdk().catch(() => undefined);
      return { driver: createGcpDriver({ ...environment, ...settings }), endpoints };
    },
  },
});
