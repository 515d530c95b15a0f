#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

// Caches compiled modules (from source: also without types), so that later starts are faster.
enableCompileCache();
try {
  await import('./command.ts');
} catch (error) {
  // Print the cause of a failed start as the last line. Node would print its own version there.
  const { message, stack } = error instanceof Error ? error : { message: String(error), stack: '' };
  process.stderr.write(`${stack}\nmcm: a fault of this program ended it before it began: ${message}\n`);
  process.exit(1);
}
