#!/usr/bin/env node
import { startProgram } from '@mcm/kube/start';

const V8_FLAGS = [
  // During the start, many short-lived objects enlarge the heap. Without `--semi-space-growth-factor=1`, V8 never
  // shrinks the heap again.
  '--semi-space-growth-factor=1',
  '--optimize-for-size',
  // These flags disable the optimizing compiler of WebAssembly, which would use 14 MB for the HTTP parser. Each flag
  // must be listed, because flags that are set at run time do not imply other flags.
  ...['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'],
];

startProgram('machine-controller-manager', () => import('./command.ts'), V8_FLAGS);
