import { processContext, runMachineController } from '@mcm/core';
import { undiciTransport } from '@mcm/kube';
import { loadDriverModule } from '../driver-module.ts';
import { throughProcess } from './over-http.ts';

const CONNECTIONS = 64;

/**
 * `MCM_DRIVER` is the path of the driver's module. If the cloud runs in another process, `MCM_DRIVER_CLOUD` is the
 * address of the cloud.
 */
async function main(): Promise<void> {
  const { MCM_DRIVER = '', MCM_DRIVER_CLOUD = '' } = process.env;
  const { createDriver } = await loadDriverModule(MCM_DRIVER);
  const context = processContext();
  const connect =
    MCM_DRIVER_CLOUD === ''
      ? context.connect
      : throughProcess(
          MCM_DRIVER_CLOUD,
          undiciTransport({ server: new URL(MCM_DRIVER_CLOUD).origin, connections: CONNECTIONS }),
        );
  await runMachineController(createDriver({ ...context, connect }));
}

await main();
