#!/usr/bin/env node
import { readFile, writeFile } from 'node:fs/promises';
import { undiciTransport } from '@mcm/kube';
import { conformanceCommand } from './command.ts';

process.exit(
  await conformanceCommand(process.argv.slice(2), {
    write: (text) => void process.stdout.write(text),
    readFile: (path) => readFile(path, 'utf8'),
    writeFile: (path, text) => writeFile(path, text),
    connect: (server) => undiciTransport({ server, connections: 64 }),
    variables: process.env,
  }),
);
