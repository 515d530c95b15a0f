#!/usr/bin/env node
import { runMachineController } from '@mcm/core';
import { realClock, undiciTransport } from '@mcm/kube';
import { createLocalDriver } from './driver/driver.ts';

/** Long polls hold a connection each; there is no reason to make them wait for one another. */
const CONNECTIONS = 512;

const { MCM_LOCAL_CLOUD_ENDPOINT: endpoint, MCM_LOCAL_CLOUD_TOKEN: token } = process.env;

await runMachineController(
  createLocalDriver({
    clock: realClock,
    connect: (server) => undiciTransport({ server, connections: CONNECTIONS }),
    defaults: { ...(endpoint ? { endpoint } : {}), ...(token ? { token } : {}) },
  }),
);
