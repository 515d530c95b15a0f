import { processContext, runMachineController } from '@mcm/core';
import { undiciTransport } from '@mcm/kube';
import { loadDriverModule } from '../driver-module.ts';
import { throughProcess } from './over-http.ts';

/** Connections to a cloud in another process. */
const CONNECTIONS = 64;

/** The machine controller of a driver. `MCM_DRIVER` is its module, and `MCM_DRIVER_CLOUD` the address of its cloud, if that is a process. */
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
