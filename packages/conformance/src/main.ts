#!/usr/bin/env node
import { readFile, writeFile } from 'node:fs/promises';
import { realClock, undiciTransport } from '@mcm/kube';
import { conformanceCommand } from './command.ts';

// Timers of the clock hold no process up; while a driver only waits, this does.
const alive = setInterval(() => undefined, 60_000);
process.exitCode = await conformanceCommand(process.argv.slice(2), {
  clock: realClock,
  stopwatch: realClock,
  write: (text) => void process.stdout.write(text),
  readFile: (path) => readFile(path, 'utf8'),
  writeFile: (path, text) => writeFile(path, text),
  connect: (server) => undiciTransport({ server, connections: 64 }),
  variables: process.env,
});
clearInterval(alive);
process.exit();
