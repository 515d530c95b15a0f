#!/usr/bin/env node
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { runMachineController } from '@mcm/core';
import { realClock, seededRandom, undiciTransport } from '@mcm/kube';
import { createAwsDriver } from './driver/driver.ts';

const CONNECTIONS = 64;

await runMachineController(
  createAwsDriver({
    clock: realClock,
    random: seededRandom(randomBytes(4).readUInt32BE()),
    connect: (server) => undiciTransport({ server, connections: CONNECTIONS }),
    environment: {
      variables: process.env,
      readFile: (path) => readFile(path, 'utf8').catch(() => undefined), // what cannot be read is not there
    },
  }),
);
