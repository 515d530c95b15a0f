#!/usr/bin/env node
import { startProgram } from '@mcm/kube/start';

const V8_FLAGS = [
  // Short-lived objects of the start would otherwise keep the heap large until the process ends.
  '--semi-space-growth-factor=1',
  '--optimize-for-size',
  // TurboFan costs 3 to 6 MB. Without it, 150 machines take the same CPU time, and a list of 10,000 VMs takes 15 % more.
  '--no-turbofan',
  // Maglev costs 8 to 10 MB, mostly memory of its compiler. Without it, 150 machines take the same CPU time, and 400 take 3 % more.
  '--no-maglev',
  // The HTTP parser is the only WebAssembly. Its optimized second compilation would keep 14 MB.
  // A flag that is set at run time does not set the flags that it implies.
  ...['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'],
];

startProgram('machine-controller-local', () => import('./command.ts'), V8_FLAGS);
