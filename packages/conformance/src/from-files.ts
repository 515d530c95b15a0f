import { readFile, writeFile } from 'node:fs/promises';
import { realClock, undiciTransport } from '@mcm/kube';
import { playConformance } from './command.ts';
import type { ConformanceFlags } from './flags.ts';

/** Runs the scenarios with the real file system, network and clock. */
export const playFromFiles = (flags: ConformanceFlags, write: (text: string) => void): Promise<number> =>
  playConformance(flags, {
    clock: realClock,
    stopwatch: realClock,
    write,
    readFile: (path) => readFile(path, 'utf8'),
    writeFile: (path, text) => writeFile(path, text),
    connect: (server) => undiciTransport({ server, connections: 64 }),
    variables: process.env,
  });
