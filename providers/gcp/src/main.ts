#!/usr/bin/env node
import { startProgram } from '@mcm/kube/start';

const V8_FLAGS = [
  // Without the flag, short-lived objects of the start keep the heap large until the process ends.
  '--semi-space-growth-factor=1',
  '--optimize-for-size',
  // TurboFan uses 3 to 6 MB of memory. Without TurboFan, 150 machines need the same CPU time, and a listing of 10,000
  // VMs needs 15 % more.
  '--no-turbofan',
  // The flags disable the optimizing compilation of WebAssembly, which would use 14 MB for the HTTP parser. Flags at
  // run time imply no other flags, so each flag is listed.
  ...['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'],
];

startProgram('machine-controller-gcp', () => import('./command.ts'), V8_FLAGS);
