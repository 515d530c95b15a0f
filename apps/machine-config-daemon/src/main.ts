#!/usr/bin/env node
import { startProgram } from '@mcm/kube/start';

const V8_FLAGS = [
  // Short-lived objects enlarge the heap during the start. Without `--semi-space-growth-factor=1`, the heap never
  // shrinks again.
  '--semi-space-growth-factor=1',
  '--optimize-for-size',
  // The only WebAssembly is the HTTP parser, and its optimization would use 14 MB of memory. V8 applies implied flags
  // only at its start, so each flag is listed.
  ...['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'],
];

startProgram('machine-config-daemon', () => import('./command.ts'), V8_FLAGS);
