#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';

// Said before anything is loaded: the burst of short-lived objects at the start would swell the heap for good.
setFlagsFromString('--semi-space-growth-factor=1');
setFlagsFromString('--optimize-for-size');
// TurboFan costs 3 to 6 MB. Without it 150 machines take as much CPU, and a listing of 10,000 VMs takes 15 % more.
setFlagsFromString('--no-turbofan');
// The HTTP parser is the only WebAssembly: compiling it a second time, optimized, costs 14 MB for good. Said at run time, a flag
// does not bring those that it implies.
for (const flag of ['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering']) setFlagsFromString(flag);
// The modules are compiled (and from source: stripped of their types) once, not every time.
enableCompileCache();
try {
  await import('./command.ts');
} catch (error) {
  // Why it does not even start is the last line of the log: Node would put its own version there.
  const { message, stack } = error instanceof Error ? error : { message: String(error), stack: '' };
  process.stderr.write(
    `${stack}\nmachine-controller-gcp: a fault of this program ended it before it began: ${message}\n`,
  );
  process.exit(1);
}
