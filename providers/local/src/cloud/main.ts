#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

// The modules are compiled (and from source: stripped of their types) once, not every time.
enableCompileCache();
try {
  await import('./command.ts');
} catch (error) {
  // Why it does not even start is the last line of the log: Node would put its own version there.
  const { message, stack } = error instanceof Error ? error : { message: String(error), stack: '' };
  process.stderr.write(`${stack}\nlocal-cloud: a fault of this program ended it before it began: ${message}\n`);
  process.exit(1);
}
