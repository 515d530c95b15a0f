#!/usr/bin/env node
import { readFile, writeFile } from 'node:fs/promises';
import { realClock, undiciTransport } from '@mcm/kube';
import { conformanceCommand } from './command.ts';

/** A reader that has seen enough, such as `head`, is no fault of the driver; what is played goes on, for its report. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

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
// Connections and timers that a driver left open must not hold the process; what a slow reader of a pipe has yet to take does.
for (const stream of [process.stdout, process.stderr])
  await new Promise<void>((resolve) => stream.write('', () => resolve()));
process.exit();
