#!/usr/bin/env node
import { startProgram } from '@mcm/kube/start';

const V8_FLAGS = [
  // During the start, many short-lived objects enlarge the heap. Without `--semi-space-growth-factor=1`, V8 never
  // shrinks the heap again.
  '--semi-space-growth-factor=1',
  '--optimize-for-size',
  // The compiler TurboFan uses 3 to 6 MB of memory. Without TurboFan, the CPU time for 150 machines is the same, and a
  // listing of 10,000 VMs needs 15 % more CPU time.
  '--no-turbofan',
  // These flags disable the optimizing compiler of WebAssembly, which would use 14 MB for the HTTP parser. Each flag
  // must be listed, because flags that are set at run time do not imply other flags.
  ...['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'],
];

startProgram('machine-controller-azure', () => import('./command.ts'), V8_FLAGS);
