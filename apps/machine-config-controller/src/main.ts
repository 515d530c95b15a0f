#!/usr/bin/env node
import { startProgram } from '@mcm/kube/start';

const V8_FLAGS = [
  // Without this flag, short-lived objects of the start keep the heap large until the process ends.
  '--semi-space-growth-factor=1',
  '--optimize-for-size',
  // The HTTP parser is the only WebAssembly. An optimizing compilation of WebAssembly would use 14 MB of memory. A flag
  // that is set at run time does not set the flags that it implies, so each flag is listed.
  ...['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'],
];

startProgram('machine-config-controller', () => import('./command.ts'), V8_FLAGS);
