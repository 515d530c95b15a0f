#!/usr/bin/env node
import { startProgram } from '@mcm/kube/start';

const V8_FLAGS = [
  // Without the flag, the heap stays as large as during the start, because short-lived objects enlarge it.
  '--semi-space-growth-factor=1',
  '--optimize-for-size',
  // With the flags, WebAssembly is not optimized. The only WebAssembly is the HTTP parser, and its optimization would
  // use 14 MB of memory. V8 applies implied flags only at its start, so each flag is listed.
  ...['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'],
];

startProgram('machine-config-controller', () => import('./command.ts'), V8_FLAGS);
