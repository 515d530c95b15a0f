import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../root.ts';
import { BINARIES, binaryNamed } from './binaries.ts';
import { bundle } from './bundle.ts';

// usage: pnpm bundle [--into DIR] [NAME…]: bundles each program into <dist/bundles or DIR>/<name>/dist, where main.js
// starts the program.
const { values, positionals: names } = parseArgs({ allowPositionals: true, options: { into: { type: 'string' } } });
const into = values.into === undefined ? join(ROOT, 'dist/bundles') : resolve(values.into);
for (const binary of names.length > 0 ? names.map(binaryNamed) : BINARIES) {
  const { file, bytes, packages } = await bundle(binary, into);
  process.stdout.write(`${file} ${(bytes / 1024).toFixed(0)} KiB, ${packages.length} third-party packages\n`);
}
