import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { processContext, runMachineController } from '@mcm/core/driver';
import { type AwsDriverOptions, createAwsDriver } from './driver/driver.ts';
import { checkEnvironment } from './ec2/check-environment.ts';
import { loadSdk } from './ec2/client.ts';
import type { Environment } from './ec2/environment.ts';
import { awsFlags, awsSettings } from './ec2/settings.ts';
import { readSharedConfig } from './ec2/shared-config.ts';

const environment: Environment = {
  variables: process.env,
  readFile: (path) => readFile(path, 'utf8').catch(() => undefined),
  run: async ([program, ...args], signal) => (await promisify(execFile)(program, args, { signal })).stdout,
};
const options: AwsDriverOptions = { ...processContext(), environment };

await runMachineController(createAwsDriver(options), {
  provider: {
    flags: awsFlags,
    configure: async (flags) => {
      const warnings = await checkEnvironment(environment);
      const { settings, endpoints } = awsSettings(process.env, flags, await readSharedConfig(environment));
      // The SDK is loaded when the process starts, so that the first machine does not wait for it.
      loadSdk().catch(() => undefined);
      return { driver: createAwsDriver({ ...options, settings }), endpoints, warnings };
    },
  },
});
